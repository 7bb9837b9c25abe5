import { h } from './dom.js';
import { get, path_of } from './api.js';
import { first, number, pretty } from './format.js';
import { change_all, change_ids } from './bulk.js';
import { button, filters, heading, instant, job_link, pager, queue_link, state_badge, states, table, way } from './parts.js';

const fields = [
  ['queue', 'queue'],
  ['type', 'type'],
  ['id_begins', 'id begins with'],
  ['match', 'in the arguments, as customer.id=42'],
  ['error', 'words of the error'],
  ['server', 'server'],
  ['header', 'header, as NAME=VALUE'],
  ['since', 'since, as 2h or an instant'],
  ['until', 'until'],
];
const searched = ['type', 'id_begins', 'match', 'error', 'server', 'header', 'since', 'until'];

const page_size = 50;
const shown_of_args = 80;
const longest_search = 8000;

const is_search = (words) => searched.some((name) => words[name]);

// The words of the page as a filter of the API.
function filter_of(words) {
  const { header } = words;
  const named = ['state', 'queue', ...searched].filter((name) => words[name] && name !== 'header');
  const filter = Object.fromEntries(named.map((name) => [name, words[name]]));
  if (header)
    filter.headers = Object.fromEntries(
      [header].flat().map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
    );
  return filter;
}

function words_of_filter(words) {
  const named = ['state', 'queue', ...searched].filter((name) => words[name]);
  return `All of which holds: ${named.map((name) => `${name.replace('_', ' ')} ${words[name]}`).join(', ')}.`;
}

// Looks on until a page is full, for some seconds: each answer is a slice of the store.
async function search(at, signal) {
  const words = {
    ...Object.fromEntries(['state', 'queue', ...searched].map((name) => [name, at.words[name]])),
    with_args: 'first',
  };
  const until = performance.now() + longest_search;
  const found = { jobs: [], next: at.words.after ?? '', records_read: 0 };
  do {
    const page = await get(['jobs'], { ...words, limit: page_size - found.jobs.length, after: found.next }, signal);
    found.jobs.push(...page.jobs);
    found.records_read += page.records_read;
    found.next = page.next;
  } while (found.next && found.jobs.length < page_size && performance.now() < until);
  return found;
}

// The first of its arguments, on one line; of those that go on only the text is told.
function brief({ args, args_text }) {
  const text = first(pretty(args_text).replace(/\n\s*/g, ' '), shown_of_args);
  return args === null && args_text && !text.endsWith('…') ? `${text}…` : text;
}

const last_error = (job) => job.reason || job.history.at(-1)?.error || '';
const instant_of = (job) =>
  job.finished_at ?? (job.state === 'processing' ? job.started_at : null) ?? job.due_at ?? job.created_at;
const instant_name = { scheduled: 'due', processing: 'started', succeeded: 'ended', failed: 'ended', deleted: 'ended' };

function tick(at, id, is_on) {
  if (is_on) at.ticked.add(id);
  else at.ticked.delete(id);
  at.redraw();
}

async function change_ticked(at, action) {
  // What is deleted already is not deleted by this, and must not come back with it.
  const deleted = new Set(at.data.page.jobs.filter((job) => job.state === 'deleted').map((job) => job.id));
  const ids = [...at.ticked].filter((id) => action !== 'delete' || !deleted.has(id));
  const of_what = ids.length === 1 ? ids[0] : `The ${number(ids.length)} that are ticked.`;
  if (ids.length === 0 || (await change_ids(at, action, ids, of_what))) at.ticked.clear();
  at.reload();
}

async function change_found(at, action) {
  if (await change_all(at, action, filter_of(at.words), words_of_filter(at.words))) at.ticked.clear();
  at.reload();
}

function bulk_bar(at, ids) {
  if (!at.may('operate') || ids.length === 0) return null;
  const n = at.ticked.size;
  const all = at.words.state ? 'all that are found' : null;
  const may_requeue = !['enqueued', 'throttled', 'processing', 'awaiting'].includes(at.words.state);
  const runs = at.words.state === 'processing';
  const tick_all = (e) => {
    for (const id of ids)
      if (e.target.checked) at.ticked.add(id);
      else at.ticked.delete(id);
    at.redraw();
  };
  return h(
    'div',
    { class: 'bulk', role: 'group', 'aria-label': 'Change several' },
    h(
      'label',
      null,
      h('input', { type: 'checkbox', checked: ids.every((id) => at.ticked.has(id)), onchange: tick_all }),
      ' all of this page',
    ),
    h('span', null, n > 0 ? `${number(n)} ticked` : 'Nothing ticked'),
    !all && h('span', { class: 'quiet' }, 'Choose a state to change all that are found.'),
    n > 0 && [
      runs && button(at, 'operate', 'Cancel ticked', () => change_ticked(at, 'cancel'), { key: 'c' }),
      may_requeue && button(at, 'operate', 'Requeue ticked', () => change_ticked(at, 'requeue'), { key: 'r' }),
      button(at, 'operate', 'Delete ticked', () => change_ticked(at, 'delete'), { danger: true, key: 'd' }),
    ],
    all && [
      runs && button(at, 'operate', `Cancel ${all}`, () => change_found(at, 'cancel')),
      may_requeue && button(at, 'operate', `Requeue ${all}`, () => change_found(at, 'requeue')),
      button(at, 'operate', `Delete ${all}`, () => change_found(at, 'delete'), { danger: true }),
    ],
  );
}

function state_tabs(at, counts) {
  const words = { ...at.words };
  delete words.after;
  const tab = (state, text, n) =>
    h(
      'a',
      { href: path_of(['jobs'], { ...words, state }), 'aria-current': (words.state ?? '') === state ? 'true' : null },
      text,
      n !== undefined && h('span', { class: 'count' }, number(n)),
    );
  return h(
    'nav',
    { class: 'tabs', 'aria-label': 'State', title: 'How many there were when this list was opened' },
    tab('', 'all'),
    states.map((state) => tab(state, state, counts[state])),
  );
}

async function counts_of(queue, signal) {
  if (queue) return get(['queues', queue], {}, signal).catch(() => ({}));
  return (await get(['overview'], {}, signal)).jobs;
}

export const jobs = {
  title: (at) => `Jobs${at.words.state ? `: ${at.words.state}` : ''}`,
  // A search looks inside of jobs, so it is made when somebody asks and not by a clock.
  pause: (at) => (is_search(at.words) ? null : undefined),
  async load(at, signal) {
    // Counts of all states cost the store more than the list, so they are those of when it was opened, or changed here.
    at.answers.counts ??= is_search(at.words) ? {} : await counts_of(at.words.queue, signal);
    return { page: await search(at, signal), counts: at.answers.counts };
  },
  view({ page, counts }, at) {
    const ticks = at.may('operate');
    const ids = page.jobs.map((job) => job.id);
    return [
      heading(
        this.title(at),
        at.may('operate') && way(['enqueue'], {}, 'Enqueue a job', 'i'),
      ),
      state_tabs(at, counts),
      h(
        'details',
        { key: 'filters', class: 'filter-box', open: fields.some(([name]) => at.words[name]) },
        h('summary', null, 'Filters'),
        filters(at, [
          ['state', 'state', states],
          ...fields.filter(([name]) => !at.hides_args || !['match', 'error', 'header'].includes(name)),
        ]),
      ),
      is_search(at.words) &&
        h(
          'p',
          { key: 'search', class: 'quiet' },
          `${number(page.records_read)} jobs were looked at. `,
          page.next
            ? page.jobs.length < page_size
              ? 'There are more: the next page goes on from there. '
              : ''
            : 'That was all. ',
          h('button', { type: 'button', onclick: () => at.reload() }, 'Search again'),
        ),
      bulk_bar(at, ids),
      table({
        label: 'Jobs',
        rows: page.jobs,
        row_key: (j) => j.id,
        row_href: (j) => path_of(['jobs', j.id]),
        empty: page.next ? 'None found so far.' : 'There is no such job.',
        columns: [
          ...(ticks
            ? [
                [
                  'tick',
                  (j) =>
                    h('input', {
                      type: 'checkbox',
                      'aria-label': `Tick ${j.id}`,
                      checked: at.ticked.has(j.id),
                      onchange: (e) => tick(at, j.id, e.target.checked),
                    }),
                ],
              ]
            : []),
          ['job', (j) => job_link(j.id)],
          ['type', (j) => j.type],
          ['queue', (j) => queue_link(j.queue)],
          ['state', (j) => state_badge(j.state)],
          [instant_name[at.words.state] ?? 'when', (j) => instant(instant_of(j))],
          ['attempt', (j) => number(j.attempt), { n: true }],
          ...(at.hides_args ? [] : [['arguments', brief]]),
          ['reason', (j) => first(last_error(j), 160)],
        ],
      }),
      pager(at, page.next),
    ];
  },
};
