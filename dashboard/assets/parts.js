// What several pages are made of.
import { h, keep } from './dom.js';
import { get, path_of } from './api.js';
import { away, full, number } from './format.js';

export const states = [
  'enqueued',
  'scheduled',
  'awaiting',
  'throttled',
  'processing',
  'succeeded',
  'failed',
  'deleted',
];

// A browser takes these for steps in the path, also where they are escaped.
const is_step = (segment) => segment === '.' || segment === '..';

export function link(segments, words, ...content) {
  if (segments.some(is_step)) return h('span', null, content);
  return h('a', { href: path_of(segments, words) }, content);
}
// Where one goes to do something; `key` as of a button.
export const way = (segments, words, text, key) => h('a', { href: path_of(segments, words), 'data-key': key }, text);
export const job_link = (id) => link(['jobs', id], {}, id);
export const queue_link = (name) => link(['queues', name], {}, name);
// Of "semaphore:provider-api".
export function throttler_link(resource) {
  const colon = resource.indexOf(':');
  return colon < 0 ? resource : link(['throttlers', resource.slice(0, colon), resource.slice(colon + 1)], {}, resource);
}

export const state_badge = (state) => h('span', { class: `badge state-${state}` }, state);
export const instant = (at) => (at ? h('time', { datetime: at, title: full(at), 'data-at': at }, away(at)) : '–');
export const count_link = (n, words) => (n > 0 ? link(['jobs'], words, number(n)) : h('span', { class: 'quiet' }, '0'));

export function heading(text, ...beside) {
  return h(
    'div',
    { class: 'heading' },
    h('h1', { tabindex: '-1' }, text),
    beside.length > 0 && h('div', { class: 'actions' }, beside),
  );
}

export function section(title, ...content) {
  return h('section', { key: title }, h('h2', null, title), content);
}

export function facts(pairs) {
  return h(
    'dl',
    { class: 'facts' },
    pairs.filter(Boolean).map(([name, ...value]) => h('div', { key: name }, h('dt', null, name), h('dd', null, value))),
  );
}

const kind_of = (how) => (how ? Object.keys(how).join(' ') : null);

// columns: [[words, row => content, {n: is a number, own: has words of ours alone, which never break}]]; `row_key` tells
// rows apart; `row_href` is where Enter leads.
export function table({ label, columns, rows, empty, row_key, row_href }) {
  if (rows.length === 0) return h('p', { class: 'empty' }, empty);
  return h(
    'table',
    { class: 'list', 'aria-label': label },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        columns.map(([words, , how]) => h('th', { scope: 'col', class: kind_of(how) }, words)),
      ),
    ),
    h(
      'tbody',
      null,
      rows.map((row) =>
        h(
          'tr',
          { key: row_key(row), 'data-row': row_key(row), 'data-href': row_href?.(row) },
          columns.map(([words, cell, how]) =>
            h('td', { class: kind_of(how), 'data-label': typeof words === 'string' ? words : '' }, cell(row)),
          ),
        ),
      ),
    ),
  );
}

// To the page behind and back to the first; `at` is the visit.
export function pager(at, next) {
  const words = { ...at.words };
  delete words.after;
  return h(
    'nav',
    { class: 'pager', 'aria-label': 'Pages of this list' },
    at.words.after && h('a', { href: path_of(at.segments, words) }, 'First page'),
    next && h('a', { href: path_of(at.segments, { ...words, after: next }), 'data-next': true }, 'Next page'),
  );
}

// A button that changes something. Not there for who may not, and off while the store cannot be asked.
export function button(at, right, words, onclick, { danger, key } = {}) {
  if (!at.may(right)) return null;
  return h(
    'button',
    // It never becomes its neighbour under somebody's finger when the page is drawn anew.
    { key: words, type: 'button', class: danger ? 'danger' : null, disabled: at.is_away, onclick, 'data-key': key },
    words,
  );
}

// A form's fields as words of the page's address. fields: [[name, label, options or nothing]].
export function filters(at, fields) {
  const submit = (event) => {
    event.preventDefault();
    const words = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value !== ''));
    for (const field of event.target.elements) delete field.dataset.changed;
    at.go(path_of(at.segments, words));
  };
  const changed = (event) => {
    event.target.dataset.changed = 'yes';
  };
  return h(
    'form',
    { class: 'filters', role: 'search', 'aria-label': 'Filters of this list', onsubmit: submit, oninput: changed },
    fields.map(([name, label, options]) =>
      h(
        'label',
        { key: name },
        h('span', null, label),
        options
          ? h(
              'select',
              { name },
              h('option', { value: '' }, 'any'),
              options.map((o) => h('option', { value: o, selected: at.words[name] === o }, o)),
            )
          : h('input', { name, value: [at.words[name] ?? ''].flat()[0], autocomplete: 'off', spellcheck: 'false' }),
      ),
    ),
    h(
      'div',
      { class: 'actions' },
      h('button', { type: 'submit' }, 'Find'),
      fields.some(([name]) => at.words[name]) && h('a', { href: path_of(at.segments) }, 'Clear'),
    ),
  );
}

// Asks a person in a dialog. Answers true, or false when it was left in any way.
export function confirm({ title, text, yes, no = 'Cancel', danger }) {
  return new Promise((answer) => {
    const end = (said) => {
      box.close();
      box.remove();
      answer(said);
    };
    const box = h(
      'dialog',
      {
        'aria-labelledby': 'confirm-title',
        oncancel: (e) => {
          e.preventDefault();
          end(false);
        },
      },
      h('h2', { id: 'confirm-title' }, title),
      [text].flat().map((line) => h('p', null, line)),
      h(
        'div',
        { class: 'actions' },
        h('button', { type: 'button', class: danger ? 'danger' : 'primary', onclick: () => end(true) }, yes),
        h('button', { type: 'button', autofocus: danger, onclick: () => end(false) }, no),
      ),
    );
    document.body.append(box);
    box.showModal();
  });
}

// Says what came of something, for some seconds or until it is closed; `undo`: [words, what it does].
export function say(text, { is_bad, undo } = {}) {
  const place = document.getElementById('said');
  // What went wrong before is over once something went well.
  if (!is_bad) for (const old of place.querySelectorAll('.bad')) old.remove();
  const close = () => note.remove();
  const note = h(
    'div',
    { class: is_bad ? 'note bad' : 'note', role: is_bad ? 'alert' : 'status' },
    h('span', null, text),
    undo &&
      h(
        'button',
        {
          type: 'button',
          onclick: () => {
            close();
            undo[1]();
          },
        },
        undo[0],
      ),
    h('button', { type: 'button', 'aria-label': 'Close this note', onclick: close }, '×'),
  );
  place.append(note);
  while (place.children.length > 4) place.firstChild.remove();
  if (!is_bad && !undo) setTimeout(close, 8000);
  return note;
}

// Does something for a person and says what came of it. `to(answer)`: where one goes then, as from what is gone.
export async function carry_out(at, what, done, { to, ...more } = {}) {
  try {
    const answer = await what();
    say(typeof done === 'function' ? done(answer) : done, more);
    if (to) at.go(to(answer));
    else at.reload();
    return answer;
  } catch (error) {
    say(error.message, { is_bad: true });
    at.reload();
    return null;
  }
}

// Instants go on between two answers.
export function tell_time() {
  for (const one of document.querySelectorAll('time[data-at]')) {
    const words = away(one.dataset.at);
    if (one.textContent !== words) one.textContent = words;
  }
}

// Windows shown anew in place.
export function redraw_into(element, ...children) {
  keep(element, children.flat(Infinity).filter(Boolean));
}

// Queues and servers are told from what the dashboard knows, also while the store is away; the overview tells how old
// that is. `as_of`, `is_away`: of a page whose data have it.
export async function with_age(signal, ask) {
  const { at, reachable } = await get(['overview'], {}, signal);
  const known = { at, reachable };
  return { known, ...(await ask(known)) };
}
export const age = { as_of: (data) => data.known.at, is_away: (data) => !data.known.reachable };

export const is_silent = (server, known) => Date.parse(known.at) - Date.parse(server.heartbeat_at) > 60000;

// "default:8" of a server as ['default', 8].
export function workers_of(server) {
  return server.queues.map((text) => {
    const colon = text.lastIndexOf(':');
    return [text.slice(0, colon), Number(text.slice(colon + 1))];
  });
}
