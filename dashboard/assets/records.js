// Servers, locks, quarantine and what people did.
import { h } from './dom.js';
import { change, get, path_of } from './api.js';
import { number } from './format.js';
import {
  age,
  button,
  carry_out,
  confirm,
  facts,
  filters,
  heading,
  instant,
  is_silent,
  job_link,
  link,
  pager,
  queue_link,
  table,
  throttler_link,
  with_age,
  workers_of,
} from './parts.js';

export const servers = {
  title: () => 'Servers',
  ...age,
  load: (at, signal) =>
    with_age(signal, async () => ({ page: await get(['servers'], { limit: 100, after: at.words.after }, signal) })),
  view: ({ page, known }, at) => [
    heading('Servers'),
    table({
      label: 'Servers',
      rows: page.servers,
      row_key: (s) => s.id,
      row_href: (s) => link(['jobs'], { state: 'processing', server: s.id }).getAttribute('href'),
      empty: 'No server is known.',
      columns: [
        [
          'server',
          (s) => [
            h('strong', null, s.name),
            ' ',
            is_silent(s, known)
              ? h('span', { class: 'badge bad' }, 'silent')
              : h('span', { class: 'badge good' }, 'alive'),
          ],
        ],
        ['host, process', (s) => `${s.host}, ${s.pid}`],
        [
          'queues: workers',
          (s) => workers_of(s).map(([queue, n], i) => [i > 0 && ', ', queue_link(queue), `: ${number(n)}`]),
        ],
        ['runs', (s) => link(['jobs'], { state: 'processing', server: s.id }, number(s.running)), { n: true }],
        ['said something', (s) => instant(s.heartbeat_at)],
        ['started', (s) => instant(s.started_at)],
        ['store', (s) => s.store.replace('_', ' ')],
        ['filters', (s) => (s.has_filters ? 'yes' : 'no')],
      ],
    }),
    pager(at, page.next),
  ],
};

export const locks = {
  title: () => 'Locks',
  load: (at, signal) => get(['locks'], { limit: 100, after: at.words.after }, signal),
  view: (page, at) => [
    heading('Locks'),
    table({
      label: 'Locks',
      rows: page.locks,
      row_key: (l) => l.resource,
      empty: 'No lock is held.',
      columns: [
        ['resource', (l) => l.resource],
        ['holder', (l) => l.holder],
        ['fence', (l) => String(l.fence), { n: true }],
        ['ends', (l) => instant(l.until)],
      ],
    }),
    pager(at, page.next),
  ],
};

export const quarantine = {
  title: () => 'Quarantine',
  load: (at, signal) => get(['quarantine'], { limit: 100, queue: at.words.queue, after: at.words.after }, signal),
  view: (page, at) => [
    heading('Quarantine'),
    h(
      'p',
      { key: 'what', class: 'quiet' },
      'Jobs whose stored record cannot be read. They were put aside, so that the others of their queue go on; the command sluice audit tells what is wrong with them.',
    ),
    filters(at, [['queue', 'queue']]),
    table({
      label: 'Quarantine',
      rows: page.jobs,
      row_key: (j) => j.id,
      row_href: (j) => path_of(['quarantine', j.id]),
      empty: 'Every job can be read.',
      columns: [
        ['job', (j) => link(['quarantine', j.id], {}, j.id)],
        ['queue', (j) => queue_link(j.queue)],
        ['put aside', (j) => instant(j.since)],
      ],
    }),
    pager(at, page.next),
  ],
};

export const quarantined = {
  title: (at) => `Quarantine: ${at.names[0]}`,
  load: (at, signal) => get(['quarantine', at.names[0]], {}, signal),
  view(told, at) {
    const act = (method, segments, done) =>
      carry_out(at, () => change(method, ['quarantine', told.id, ...segments]), done, { to: () => '/quarantine' });
    const drop = async () => {
      const text = [told.id, 'What is kept of it is removed for good. That is refused while jobs wait for its end.'];
      if (await confirm({ title: 'Drop this job?', text, yes: 'Drop', danger: true }))
        await act('DELETE', [], 'What was kept of the job is removed.');
    };
    const enqueue = async () => {
      const text = [told.id, 'It starts at once: without its times, parents, group and unique key, and with no history.'];
      if (await confirm({ title: 'Enqueue this job?', text, yes: 'Enqueue' }))
        await act('POST', ['requeue'], 'It waits in its queue again.');
    };
    return [
      heading(
        `Quarantine: ${told.id}`,
        told.readable && button(at, 'operate', 'Enqueue', enqueue, { key: 'r' }),
        button(at, 'operate', 'Drop', drop, { danger: true, key: 'd' }),
      ),
      told.wrong && h('p', { key: 'wrong', class: 'banner warn' }, `It was put aside: ${told.wrong}.`),
      told.readable && h('p', { key: 'readable', class: 'banner' }, 'Its record can be read, so it can be enqueued.'),
      facts([
        ['queue', queue_link(told.queue)],
        ['put aside', instant(told.since)],
        ['what is stored', h('a', { href: '/api/v1' + path_of(['quarantine', told.id]), download: 'job.json' }, 'Download as it is')],
      ]),
    ];
  },
};

const max_named = 5;

function link_of(what, name) {
  if (/schedule/.test(what)) return link(['recurring', name], {}, name);
  if (/throttler/.test(what)) {
    const [, resource, changes] = name.match(/^(.*?)(: [a-z_]+ .*)?$/s); // "semaphore:api: limit 8 → 16"
    return /set/.test(what) ? [throttler_link(resource), changes] : throttler_link(name);
  }
  if (/pause|resume/.test(what)) return queue_link(name);
  return /requeue|delete|enqueue/.test(what) ? job_link(name) : name;
}

function about(act) {
  const names = act.about.slice(0, max_named);
  const rest = act.count - names.length;
  return [
    names.map((name, i) => [i > 0 && ', ', link_of(act.what, name)]),
    rest > 0 && names.length > 0 && ` and ${number(rest)} more`,
  ];
}

export const log = {
  title: () => 'Log',
  load: (at, signal) => get(['log'], { limit: 100, after: at.words.after }, signal),
  view: (page, at) => [
    heading('Log'),
    h('p', { key: 'what', class: 'quiet' }, 'What people changed, the newest first.'),
    table({
      label: 'Log',
      rows: page.actions.map((act, i) => ({ ...act, key: `${act.at} ${act.what} ${act.by} ${i}` })),
      row_key: (a) => a.key,
      empty: 'Nobody has changed anything.',
      columns: [
        ['when', (a) => [instant(a.at), a.until !== a.at && [' to ', instant(a.until)]], { own: true }],
        ['who', (a) => a.by],
        ['by', (a) => a.through, { own: true }],
        ['did', (a) => a.what, { own: true }],
        ['count', (a) => number(a.count), { n: true, own: true }],
        ['about', about],
      ],
    }),
    pager(at, page.next),
  ],
};
