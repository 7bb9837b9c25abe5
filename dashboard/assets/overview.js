import { h } from './dom.js';
import { get, now, path_of } from './api.js';
import { turn_pause } from './live.js';
import { number, span } from './format.js';
import { bar } from './charts.js';
import { run_questions, runs_chart } from './runs.js';
import { load_totals, totals_charts } from './totals.js';
import { workers_by_queue } from './queues.js';
import { count_link, heading, link, queue_link, section, states, table, throttler_link } from './parts.js';

const max_alike = 5;
const max_unfolded = 50;
const max_queues = 12;
const max_throttlers = 12;

const words_of_trouble = {
  store_away: 'Store',
  store_volatile: 'Store',
  silent_server: 'Server',
  quarantine: 'Quarantine',
  unserved_queue: 'Queue',
  unknown_type: 'Type',
  paused_queue: 'Paused',
  failed_jobs: 'Failed',
  dead_schedule: 'Schedule',
  late_schedule: 'Schedule',
};

function link_of_trouble({ kind, about }, text) {
  if (kind === 'failed_jobs') return link(['jobs'], { state: 'failed', queue: about }, text);
  if (kind === 'unknown_type') return link(['jobs'], { state: 'enqueued', queue: about }, text);
  if (kind === 'quarantine') return link(['quarantine'], { queue: about }, text);
  if (kind === 'silent_server') return link(['servers'], {}, text);
  if (kind.endsWith('_queue')) return link(['queues', about], {}, text);
  if (kind.endsWith('_schedule')) return link(['recurring', about], {}, text);
  return text;
}

// The worst first.
const order_of_troubles = [
  'store_away',
  'silent_server',
  'dead_schedule',
  'unserved_queue',
  'unknown_type',
  'failed_jobs',
  'quarantine',
  'late_schedule',
  'paused_queue',
  'store_volatile',
];

const rank = ({ kind }) => order_of_troubles.indexOf(kind) + 1 || order_of_troubles.length + 1;

function trouble(t) {
  return h(
    'li',
    { key: `${t.kind} ${t.about}`, class: `trouble ${t.kind}` },
    h('strong', null, words_of_trouble[t.kind] ?? t.kind),
    ' ',
    link_of_trouble(t, t.text),
  );
}

// Many of one kind are one line, which unfolds.
function troubles_of_kind(kind, all) {
  if (all.length <= max_alike) return all.map(trouble);
  const more = all.length - max_unfolded;
  return h(
    'li',
    { key: kind, class: `trouble ${kind}` },
    h(
      'details',
      null,
      h(
        'summary',
        null,
        h('strong', null, words_of_trouble[kind] ?? kind),
        ` ${number(all.length)} times, as: ${all[0].text}`,
      ),
      h(
        'ul',
        { class: 'troubles' },
        all.slice(0, max_unfolded).map(trouble),
        more > 0 && h('li', { key: 'more' }, `And ${number(more)} more.`),
      ),
    ),
  );
}

function troubles(all) {
  if (all.length === 0) return h('p', { class: 'fine' }, 'Nothing is wrong.');
  const by_kind = new Map();
  for (const one of [...all].sort((a, b) => rank(a) - rank(b))) {
    if (!by_kind.has(one.kind)) by_kind.set(one.kind, []);
    by_kind.get(one.kind).push(one);
  }
  return h(
    'ul',
    { class: 'troubles' },
    [...by_kind].map(([kind, some]) => troubles_of_kind(kind, some)),
  );
}

// The queues with the most to do: who is busy, and how long the first in line has waited.
function at_work(queues, workers) {
  const rows = queues
    .map((q) => ({
      ...q,
      workers: workers.get(q.queue)?.workers ?? 0,
      wait: q.oldest_ready_at ? Math.max(0, now() - Date.parse(q.oldest_ready_at)) : 0,
    }))
    .sort((a, b) => b.wait - a.wait || b.processing - a.processing)
    .slice(0, max_queues);
  const longest = Math.max(1000, ...rows.map((q) => q.wait));
  return table({
    label: 'Queues at work',
    rows,
    row_key: (q) => q.queue,
    row_href: (q) => path_of(['queues', q.queue]),
    empty: 'There is no queue yet.',
    columns: [
      ['queue', (q) => queue_link(q.queue)],
      [
        'workers busy',
        (q) => [bar(q.processing / Math.max(1, q.workers)), `${number(q.processing)} of ${number(q.workers)}`],
      ],
      ['ready', (q) => count_link(q.enqueued, { state: 'enqueued', queue: q.queue }), { n: true }],
      ['throttled', (q) => count_link(q.throttled, { state: 'throttled', queue: q.queue }), { n: true }],
      ['oldest ready', (q) => (q.oldest_ready_at ? [bar(q.wait / longest, 'wait'), `for ${span(q.wait)}`] : '–')],
    ],
  });
}

function limits(page) {
  return table({
    label: 'Throttlers',
    rows: page.throttlers,
    row_key: (t) => t.resource,
    empty: 'Nothing is limited.',
    columns: [
      ['throttler', (t) => throttler_link(t.resource)],
      [
        'used',
        (t) => [
          t.limit !== null && bar(t.held / Math.max(1, t.limit), t.held >= t.limit ? 'full' : 'used'),
          `${number(t.held)}${t.limit === null ? '' : ` of ${number(t.limit)}`}`,
        ],
      ],
      ['waiting', (t) => number(t.waiting), { n: true }],
    ],
  });
}

const is_away = (answers) => answers.now !== undefined && !answers.now.told.reachable;

// What the dashboard knows without the store. While that is away, what was known of it.
async function look(at, signal) {
  const told = await get(['overview'], {}, signal);
  if (!told.reachable) return { ...at.answers.now, told };
  const { queues } = await get(['queues'], { limit: 200 }, signal);
  return { told, queues, workers: await workers_by_queue(told, signal) };
}

export const overview = {
  title: () => 'Overview',
  pause: () => turn_pause,
  load(at, signal) {
    const { running, ended, failed } = run_questions(signal);
    const often = [
      ['now', () => look(at, signal)],
      ['ended', ended],
      ['running', running],
    ];
    const throttlers = () => get(['throttlers'], { limit: max_throttlers }, signal);
    return at.turns(
      [...often, ['throttlers', throttlers], ['failed', failed], ...often, ['totals', () => load_totals(at, signal)]],
      () => is_away(at.answers),
    );
  },
  as_of: ({ now: { told } }) => told.at,
  is_away,
  view({ now: { told, queues, workers }, throttlers, running, ended, failed, totals }, at) {
    const tiles = [...states, 'quarantined'].map((state) =>
      h(
        'li',
        { key: state, class: `tile state-${state}` },
        state === 'quarantined'
          ? told.jobs[state] > 0
            ? link(['quarantine'], {}, number(told.jobs[state]))
            : h('span', { class: 'quiet' }, '0')
          : count_link(told.jobs[state], { state }),
        h('span', null, state),
      ),
    );
    if (told.at === null) return [heading('Overview'), h('p', { class: 'quiet' }, 'The store has not been read yet.')];
    return [
      heading('Overview'),
      section('What is wrong', troubles(told.troubles)),
      section('Jobs kept now', h('ul', { class: 'tiles' }, tiles)),
      h(
        'p',
        { key: 'parts', class: 'parts' },
        link(['servers'], {}, `${number(told.servers.alive)} ${told.servers.alive === 1 ? 'server' : 'servers'}`),
        told.servers.silent > 0 && `, ${number(told.servers.silent)} silent`,
        ' · ',
        link(['queues'], {}, `${number(told.queues)} ${told.queues === 1 ? 'queue' : 'queues'}`),
        ' · ',
        link(
          ['throttlers'],
          {},
          `${number(told.throttlers)} defined ${told.throttlers === 1 ? 'throttler' : 'throttlers'}`,
        ),
        ' · ',
        link(['recurring'], {}, `${number(told.schedules)} ${told.schedules === 1 ? 'schedule' : 'schedules'}`),
      ),
      queues &&
        throttlers &&
        section(
          'At work',
          at_work(queues, workers),
          told.queues > queues.length &&
            h(
              'p',
              { class: 'quiet' },
              `Of the first ${number(queues.length)} by name; `,
              link(['queues'], {}, 'all queues'),
            ),
          limits(throttlers),
          throttlers.next && h('p', { class: 'quiet' }, link(['throttlers'], {}, 'All throttlers')),
        ),
      running && ended && failed && section('Runs', runs_chart({ running, ended, failed })),
      totals && section('Rates', totals_charts(at, totals)),
    ];
  },
};
