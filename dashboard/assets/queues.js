import { h } from './dom.js';
import { change, get } from './api.js';
import { turn_pause } from './live.js';
import { number } from './format.js';
import { run_questions, runs_chart } from './runs.js';
import { load_totals, totals_charts } from './totals.js';
import {
  age,
  button,
  carry_out,
  count_link,
  facts,
  heading,
  instant,
  is_silent,
  job_link,
  link,
  pager,
  queue_link,
  section,
  state_badge,
  table,
  with_age,
  workers_of,
} from './parts.js';

// Of all servers that are alive: queue -> its workers there.
export async function workers_by_queue(known, signal) {
  const by_queue = new Map();
  let after = '';
  do {
    const page = await get(['servers'], { limit: 200, after }, signal);
    for (const server of page.servers.filter((s) => !is_silent(s, known)))
      for (const [queue, n] of workers_of(server)) {
        if (!by_queue.has(queue)) by_queue.set(queue, { workers: 0, servers: [] });
        const one = by_queue.get(queue);
        one.workers += n;
        one.servers.push(server.name);
      }
    after = page.next;
  } while (after);
  return by_queue;
}

function pause_button(at, queue) {
  const name = queue.queue;
  return queue.paused
    ? button(
        at,
        'operate',
        'Resume',
        () => carry_out(at, () => change('DELETE', ['queues', name, 'pause']), `Queue ${name} goes on.`),
        { key: 'p' },
      )
    : button(
        at,
        'operate',
        'Pause',
        () =>
          carry_out(
            at,
            () => change('PUT', ['queues', name, 'pause']),
            `Queue ${name} is paused: it takes jobs and starts none.`,
          ),
        { key: 'p' },
      );
}

const count = (state) => [state, (q) => count_link(q[state], { state, queue: q.queue }), { n: true }];

export const queues = {
  title: () => 'Queues',
  ...age,
  load: (at, signal) =>
    with_age(signal, async (known) => ({
      page: await get(['queues'], { limit: 200, after: at.words.after }, signal),
      workers: await workers_by_queue(known, signal),
    })),
  view({ page, workers }, at) {
    const served = (q) => workers.get(q.queue)?.workers ?? 0;
    return [
      heading('Queues'),
      table({
        label: 'Queues',
        rows: page.queues,
        row_key: (q) => q.queue,
        row_href: (q) => `/queues/${encodeURIComponent(q.queue)}`,
        empty: 'There is no queue yet: the first job that is enqueued makes one.',
        columns: [
          ['queue', (q) => [queue_link(q.queue), q.paused && [' ', h('span', { class: 'badge paused' }, 'paused')]]],
          [
            'workers',
            (q) => (served(q) > 0 ? number(served(q)) : h('span', { class: 'badge bad' }, 'no server')),
            { n: true },
          ],
          ['oldest ready', (q) => instant(q.oldest_ready_at)],
          count('enqueued'),
          count('processing'),
          count('throttled'),
          count('scheduled'),
          count('awaiting'),
          count('failed'),
          count('succeeded'),
          count('deleted'),
          [
            'quarantined',
            (q) =>
              q.quarantined > 0
                ? link(['quarantine'], { queue: q.queue }, number(q.quarantined))
                : h('span', { class: 'quiet' }, '0'),
            { n: true },
          ],
          ...(at.may('operate') ? [['change', (q) => pause_button(at, q)]] : []),
        ],
      }),
      pager(at, page.next),
    ];
  },
};

function who_paused(actions, name) {
  const last = actions.find((act) => ['pause', 'resume'].includes(act.what) && act.about.includes(name));
  return last?.what === 'pause' ? last : null;
}

const max_names = 5;

function names_of(servers) {
  const some = servers.slice(0, max_names).join(', ');
  return servers.length > max_names ? `${some} and ${number(servers.length - max_names)} more` : some;
}

function few_jobs(title, jobs, empty, more) {
  return section(
    title,
    table({
      label: title,
      rows: jobs,
      row_key: (j) => j.id,
      row_href: (j) => `/jobs/${encodeURIComponent(j.id)}`,
      empty,
      columns: [
        ['job', (j) => job_link(j.id)],
        ['type', (j) => j.type],
        ['state', (j) => state_badge(j.state)],
        ['since', (j) => instant(j.started_at ?? j.due_at ?? j.created_at)],
        ['line', (j) => j.line || '–'],
      ],
    }),
    jobs.length > 0 && h('p', null, more),
  );
}

const few = 10;

const is_away = ({ now }) => now !== undefined && !now.known.reachable;

export const queue = {
  title: (at) => `Queue ${at.names[0]}`,
  pause: () => turn_pause,
  load(at, signal) {
    const name = at.names[0];
    const look = () =>
      with_age(signal, async (known) => {
        const told = await get(['queues', name], {}, signal);
        if (!told.paused) delete at.kept.actions;
        else at.kept.actions ??= (await get(['log'], { limit: 200 }, signal)).actions;
        return { told, actions: at.kept.actions ?? [], workers: (await workers_by_queue(known, signal)).get(name) };
      });
    const next = async () =>
      (await get(['jobs'], { state: 'enqueued', queue: name, limit: few, with_args: 'false' }, signal)).jobs;
    const { running, ended, failed } = run_questions(signal, name);
    const often = [
      ['now', look],
      ['ended', ended],
      ['running', running],
    ];
    const totals = () => load_totals(at, signal, name);
    return at.turns([...often, ['next', next], ['failed', failed], ...often, ['totals', totals]], () =>
      is_away(at.answers),
    );
  },
  as_of: ({ now }) => now.known.at,
  is_away,
  view({ now: { told, workers, actions }, next, running, ended, failed, totals }, at) {
    const name = told.queue;
    if (!totals) return [heading(`Queue ${name}`)]; // the store is away since before this page was opened
    const paused_by = told.paused && who_paused(actions, name);
    return [
      heading(`Queue ${name}`, pause_button(at, told)),
      told.paused &&
        h(
          'p',
          { key: 'paused', class: 'banner warn' },
          'It is paused: it takes jobs and starts none.',
          paused_by && [' By ', paused_by.by, ' ', instant(paused_by.at), '.'],
        ),
      !workers && h('p', { key: 'unserved', class: 'banner warn' }, 'No server that is alive serves this queue.'),
      facts([
        ['workers', workers ? `${number(workers.workers)} of ${names_of(workers.servers)}` : 'none'],
        ['oldest ready job', instant(told.oldest_ready_at)],
        ...['enqueued', 'processing', 'throttled', 'scheduled', 'awaiting', 'failed', 'succeeded', 'deleted'].map(
          (state) => [state, count_link(told[state], { state, queue: name })],
        ),
        ['quarantined', told.quarantined > 0 ? link(['quarantine'], { queue: name }, number(told.quarantined)) : '0'],
        [
          'since ever',
          `${number(totals.ever.enqueued)} came, ${number(totals.ever.succeeded)} succeeded, ${number(totals.ever.failed)} failed`,
        ],
      ]),
      section('Runs', runs_chart({ running, ended, failed })),
      section('Rates', totals_charts(at, totals)),
      few_jobs(
        'Running now',
        running.jobs.slice(0, few),
        'Nothing runs.',
        link(['jobs'], { state: 'processing', queue: name }, 'All that run'),
      ),
      few_jobs(
        'Next in line',
        next,
        'Nothing waits for a worker.',
        link(['jobs'], { state: 'enqueued', queue: name }, 'All that wait'),
      ),
    ];
  },
};
