// Which page is shown, what stands around it, and when it is asked for anew. The address is all that a page is made of.
import { h, keep } from './dom.js';
import { get, now, path_of } from './api.js';
import { span } from './format.js';
import { Live, turn_pause } from './live.js';
import { listen, show_keys } from './keys.js';
import { tell_time } from './parts.js';
import { overview } from './overview.js';
import { queue, queues } from './queues.js';
import { jobs } from './jobs.js';
import { job } from './job.js';
import { enqueue } from './enqueue.js';
import { errors } from './errors.js';
import { throttler, throttlers } from './throttlers.js';
import { recurring, schedule } from './recurring.js';
import { group, groups } from './groups.js';
import { locks, log, quarantine, quarantined, servers } from './records.js';

const pages = [
  [[], overview, 'Overview'],
  [['queues'], queues, 'Queues'],
  [['queues', null], queue],
  [['jobs'], jobs, 'Jobs'],
  [['jobs', null], job],
  [['enqueue'], enqueue],
  [['errors'], errors, 'Errors'],
  [['throttlers'], throttlers, 'Throttlers'],
  [['throttlers', null, null], throttler],
  [['recurring'], recurring, 'Recurring'],
  [['recurring', null], schedule],
  [['groups'], groups, 'Groups'],
  [['groups', null], group],
  [['servers'], servers, 'Servers'],
  [['locks'], locks, 'Locks'],
  [['quarantine'], quarantine, 'Quarantine'],
  [['quarantine', null], quarantined],
  [['log'], log, 'Log'],
];

const rights = { viewer: 0, operator: 1, admin: 2 };
const needs = { operate: 1, administer: 2 };

const old_after = 10000;

const root = document.documentElement;
let about = null; // what GET /api/v1 told
let visit = null;
let live = null;

function segments_of(pathname) {
  return pathname
    .split('/')
    .slice(1)
    .filter((s) => s !== '')
    .map((s) => {
      try {
        return decodeURIComponent(s);
      } catch {
        return s;
      }
    });
}

function words_of(search) {
  const words = {};
  for (const [name, value] of new URLSearchParams(search))
    words[name] = name in words ? [words[name], value].flat() : value;
  return words;
}

function find_page(segments) {
  return pages.find(
    ([pattern]) => pattern.length === segments.length && pattern.every((s, i) => s === null || s === segments[i]),
  );
}

// What a page may know and do: made anew with each address.
class Visit {
  constructor(page, segments, words) {
    Object.assign(this, {
      page,
      segments,
      words,
      kept: {},
      answers: {},
      answered_at: {},
      ticked: new Set(),
      data: null,
      answered: 0,
      fault: null,
    });
    this.names = segments.slice(1);
  }
  get is_away() {
    return this.fault !== null || (this.data !== null && (this.page.is_away?.(this.data) ?? false));
  }
  get hides_args() {
    return about?.hides_args ?? false;
  }
  may(right) {
    return about !== null && about.changes_allowed && rights[about.role] >= needs[right];
  }
  path(words) {
    return path_of(this.segments, { ...this.words, ...words });
  }
  go(path) {
    if (this === visit) open(path);
  }
  redraw() {
    if (this === visit) draw();
  }
  reload() {
    this.answers = {};
    this.answered_at = {};
    if (this === visit) live?.again();
  }
  hold(is_held) {
    return this === visit && live.hold(is_held);
  }
  // A page's questions to the store: all at first, and then one a round, by the clock. So all who look at the same ask
  // the same within a second, and the store is read once. order: [[NAME, () => answer]], a name as often as it is due.
  // One that has not had its turn for long, since answers are slow, goes first. While `is_away` says so, only the first
  // of them is asked.
  async turns(order, is_away = () => false) {
    const names = order.map(([name]) => name);
    const left_out = names.find((name) => now() - this.answered_at[name] > 3 * order.length * turn_pause);
    const due = is_away() ? names[0] : (left_out ?? names[Math.floor(now() / turn_pause) % names.length]);
    for (const [name, ask] of new Map(order)) {
      if (name in this.answers && name !== due) continue;
      if (name !== names[0] && is_away()) break;
      this.answers = { ...this.answers, [name]: await ask() };
      this.answered_at[name] = now();
    }
    return this.answers;
  }
  // What is known so far, while the rest is on its way.
  show(data) {
    if (this !== visit) return;
    this.data = data;
    draw();
  }
}

function theme_button() {
  const order = ['auto', 'light', 'dark'];
  const is = root.dataset.theme ?? 'auto';
  const turn = () => {
    const next = order[(order.indexOf(is) + 1) % order.length];
    if (next === 'auto') delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      localStorage.setItem('sluice-theme', next);
    } catch {
      /* it is forgotten with the page */
    }
    draw();
  };
  return h('button', { type: 'button', onclick: turn }, `Theme: ${is}`);
}

// The job of this id, or all whose ids begin so.
async function find(event) {
  event.preventDefault();
  const box = event.target.elements.find;
  const id = box.value.trim();
  if (!id) return;
  delete box.dataset.changed;
  const from = visit;
  const is_there = await get(['jobs', id]).then(
    () => true,
    () => false,
  );
  from.go(is_there ? path_of(['jobs', id]) : path_of(['jobs'], { id_begins: id }));
}

function shell_of(at) {
  const [first] = at.segments;
  return [
    h(
      'a',
      {
        class: 'skip',
        href: '#page',
        key: 'skip',
        onclick: (e) => {
          e.preventDefault();
          document.querySelector('main h1')?.focus();
        },
      },
      'Skip to the page',
    ),
    h(
      'header',
      { key: 'head' },
      h(
        'div',
        { class: 'top' },
        h('a', { class: 'brand', href: '/' }, 'Sluice'),
        h(
          'nav',
          { 'aria-label': 'Pages' },
          pages
            .filter(([, , words]) => words)
            .map(([pattern, , words]) =>
              h('a', { href: path_of(pattern), 'aria-current': pattern[0] === first ? 'page' : null }, words),
            ),
        ),
        h(
          'form',
          { role: 'search', 'aria-label': 'Find a job', class: 'find', onsubmit: find },
          h('input', {
            id: 'find',
            name: 'find',
            'aria-label': 'Find a job by its id',
            placeholder: 'Job id',
            autocomplete: 'off',
            spellcheck: 'false',
            oninput: (e) => {
              e.target.dataset.changed = 'yes';
            },
          }),
        ),
      ),
      h(
        'div',
        { class: 'state' },
        h('span', { id: 'age' }, age_of(at)),
        h(
          'button',
          {
            type: 'button',
            id: 'live',
            'aria-pressed': live?.is_held ? 'true' : 'false',
            onclick: () => {
              live?.hold(!live.is_held);
              draw();
            },
          },
          live?.is_held ? 'Go on' : 'Hold',
        ),
        about && !about.changes_allowed && h('span', { class: 'badge' }, 'read-only'),
        about &&
          h(
            'span',
            { class: 'quiet' },
            [about.user, about.role].filter(Boolean).join(', '),
            ` · ${about.backend}, ${about.durability.replace('_', ' ')} · ${about.version}`,
          ),
        h('button', { type: 'button', onclick: show_keys }, 'Keys'),
        theme_button(),
      ),
    ),
    h(
      'main',
      { key: at.path({}), id: 'page' },
      fault_of(at),
      at.data === null ? (at.fault ? null : h('p', { class: 'quiet' }, 'Asking …')) : at.page.view(at.data, at),
    ),
  ];
}

function age_of(at) {
  if (at.answered === 0) return '';
  const told = at.data && at.page.as_of?.(at.data);
  const age = now() - (told ? Date.parse(told) : at.answered);
  return age < old_after && !at.is_away ? 'live' : `as of ${span(Math.max(0, age))} ago`;
}

function words_of_fault(fault) {
  if (fault?.status === 0) return 'The dashboard does not answer';
  return fault?.status === 429 ? 'The store is asked often enough' : 'The store does not answer';
}

function fault_of(at) {
  if (!at.is_away && at.fault === null) return null;
  if (at.is_away && (at.fault?.is_away ?? true))
    return h(
      'p',
      { class: 'banner bad', role: 'alert' },
      `${words_of_fault(at.fault)}. `,
      at.data === null ? 'It is asked again.' : 'What is shown is the last that is known; it is asked again.',
    );
  return h(
    'div',
    { class: 'banner bad', role: 'alert' },
    h('h1', { tabindex: '-1' }, at.fault.status === 404 ? 'There is no such thing' : 'This cannot be shown'),
    h('p', null, at.fault.message),
  );
}

function draw() {
  document.title = `${visit.page.title(visit)} · Sluice`;
  keep(document.getElementById('app'), shell_of(visit));
}

function told(at, data) {
  at.data = data;
  at.fault = null;
  at.answered = now();
  draw();
  if (root.dataset.ready !== 'yes' && document.activeElement === document.body)
    document.querySelector('main h1')?.focus();
  root.dataset.ready = 'yes';
}

function failed(at, error) {
  at.fault = error.status === undefined ? Object.assign(error, { is_away: false, status: 500 }) : error;
  if (!at.fault.is_away) at.data = null;
  if (error.status === undefined) console.error(error);
  draw();
  root.dataset.ready = 'yes';
}

async function ask(at, signal) {
  const [page] = await Promise.all([
    at.page.load(at, signal),
    about === null && get([], {}, signal).then((told) => (about = told)),
  ]);
  return page;
}

function enter() {
  live?.stop();
  delete root.dataset.ready;
  // What was asked on the page before is left, and what goes on there is stopped.
  for (const box of document.querySelectorAll('body > dialog'))
    box.dispatchEvent(new Event('cancel', { cancelable: true }));
  const segments = segments_of(location.pathname);
  const found = find_page(segments);
  const at = (visit = new Visit(found?.[1] ?? overview, segments, words_of(location.search)));
  const pause = at.page.pause?.(at);
  live = new Live(
    (signal) => ask(at, signal),
    (data) => at === visit && told(at, data),
    (error) => at === visit && failed(at, error),
    pause,
  );
  draw();
}

function open(path) {
  history.pushState(null, '', path);
  enter();
  window.scrollTo(0, 0);
}

document.addEventListener('click', (event) => {
  const a = event.target.closest?.('a[href]');
  if (
    !a ||
    event.defaultPrevented ||
    event.button !== 0 ||
    event.ctrlKey ||
    event.metaKey ||
    event.shiftKey ||
    a.hasAttribute('download') ||
    a.target
  )
    return;
  const to = new URL(a.href);
  if (to.origin !== location.origin || !find_page(segments_of(to.pathname))) return;
  event.preventDefault();
  open(to.pathname + to.search);
});

window.addEventListener('popstate', enter);
setInterval(() => {
  if (document.hidden) return;
  tell_time();
  const age = document.getElementById('age');
  if (age && visit) age.textContent = age_of(visit);
}, 1000);

try {
  const theme = localStorage.getItem('sluice-theme');
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
} catch {
  /* the browser keeps nothing */
}

listen(() => visit);
enter();
