// The keyboard: everything that a mouse can do.
import { h } from './dom.js';

const places = {
  o: '/',
  q: '/queues',
  j: '/jobs',
  f: '/jobs?state=failed',
  e: '/errors',
  t: '/throttlers',
  r: '/recurring',
  g: '/groups',
  s: '/servers',
  l: '/locks',
  u: '/quarantine',
  a: '/log',
};

const told = [
  ['j, k or arrow keys', 'the next row, the row before'],
  ['Enter', 'open the row'],
  ['x', 'tick the row'],
  ['r', 'requeue: the job shown, or those that are ticked; enqueue what is in quarantine'],
  ['d', 'delete: the job shown, or those that are ticked; drop what is in quarantine'],
  ['c', 'cancel: the running job or the group shown, or those that are ticked'],
  ['p', 'pause or resume the queue or schedule of the row, or the one shown'],
  ['t', 'run the schedule of the row, or the one shown, once now'],
  ['e', 'edit the limit of the throttler shown, or when the schedule shown runs'],
  ['i', 'enqueue a job: one like the job shown, or a new one'],
  ['n', 'the next page of the list'],
  ['/', 'find a job by its id'],
  ['.', 'stop and go on showing what is new'],
  [
    'g and then o q j f e t r g s l u a',
    'go to overview, queues, jobs, failed jobs, errors, throttlers, recurring, groups, servers, locks, quarantine, log',
  ],
  ['Escape', 'leave a dialog or a field; untick all'],
  ['?', 'this list'],
];

let goes = false;

export function show_keys() {
  const box = h(
    'dialog',
    { 'aria-labelledby': 'keys-title', onclose: () => box.remove(), oncancel: () => box.close() },
    h('h2', { id: 'keys-title' }, 'Keys'),
    h(
      'dl',
      { class: 'facts keys' },
      told.map(([keys, what]) => h('div', null, h('dt', null, keys), h('dd', null, what))),
    ),
    h(
      'div',
      { class: 'actions' },
      h('button', { type: 'button', class: 'primary', onclick: () => box.close() }, 'Close'),
    ),
  );
  document.body.append(box);
  box.showModal();
}

const rows = () => [...document.querySelectorAll('main tr[data-row]')];
const chosen = () => document.querySelector('main tr[data-chosen]');

export function choose(row) {
  for (const one of document.querySelectorAll('main tr[data-chosen]')) {
    one.removeAttribute('data-chosen');
    one.removeAttribute('tabindex');
  }
  if (!row) return;
  row.setAttribute('data-chosen', '');
  row.setAttribute('tabindex', '-1');
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: 'nearest' });
}

function step(by) {
  const all = rows();
  if (all.length === 0) return;
  const at = all.indexOf(chosen());
  choose(all[Math.max(0, Math.min(all.length - 1, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))]);
}

// The button of this key in the row that is chosen, else outside of rows.
function press(key) {
  const selector = `[data-key="${key}"]`;
  const one =
    chosen()?.querySelector(selector) ??
    [...document.querySelectorAll(`main ${selector}`)].find((b) => !b.closest('tr[data-row]'));
  if (!one || one.disabled) return;
  if (one.nodeName === 'INPUT') one.select();
  else one.click();
}

function is_typing(target) {
  return target.closest?.('input:not([type=checkbox]), select, textarea, dialog') !== null;
}

// visit(): of the page that is shown.
export function listen(visit) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector('dialog[open]')) return;
    if (is_typing(event.target)) {
      if (event.key === 'Escape') event.target.blur();
      return;
    }
    const at = visit();
    const { key } = event;
    const is_arrow = key.startsWith('Arrow');
    if (is_arrow && (rows().length === 0 || event.target.closest?.('pre'))) return; // it scrolls
    if (event.repeat && !is_arrow && !'jk'.includes(key)) return;
    if (goes) {
      goes = false;
      if (places[key]) at.go(places[key]);
      return;
    }
    const does =
      {
        j: () => step(1),
        ArrowDown: () => step(1),
        k: () => step(-1),
        ArrowUp: () => step(-1),
        Enter: () => chosen() && event.target === chosen() && chosen().dataset.href && at.go(chosen().dataset.href),
        x: () => chosen()?.querySelector('input[type=checkbox]')?.click(),
        n: () => document.querySelector('main a[data-next]')?.click(),
        '/': () => document.getElementById('find').focus(),
        '.': () => document.getElementById('live').click(),
        g: () => {
          goes = true;
        },
        Escape: () => {
          at.ticked.clear();
          choose(null);
          at.redraw();
        },
        '?': show_keys,
      }[key] ??
      (document.querySelector(`main [data-key="${CSS.escape(key)}"]`) && (() => press(key)));
    if (!does) return;
    if (key === 'Enter' && event.target !== chosen()) return;
    event.preventDefault();
    does();
  });
}
