import { h } from './dom.js';
import { change, get, get_with_tag, now, path_of } from './api.js';
import { edit_form } from './edit.js';
import { full } from './format.js';
import {
  button,
  carry_out,
  confirm,
  facts,
  filters,
  heading,
  instant,
  job_link,
  link,
  pager,
  section,
  state_badge,
  table,
} from './parts.js';

const missed = 'what was missed';
const overlap = 'when the one before still runs';
const when_of = (d) => (d ? (d.cron ?? (d.every ? `every ${d.every}` : '')) : '');

function buttons(at, s) {
  const name = s.name;
  const trigger = () =>
    carry_out(
      at,
      () => change('POST', ['schedules', name, 'trigger'], { body: {} }),
      (made) => `Job ${made.id} is enqueued.`,
    );
  const pause = () => carry_out(at, () => change('PUT', ['schedules', name, 'pause']), `Schedule ${name} is paused.`);
  const resume = () => carry_out(at, () => change('DELETE', ['schedules', name, 'pause']), `Schedule ${name} goes on.`);
  return h(
    'span',
    { class: 'actions' },
    button(at, 'operate', 'Run once now', trigger, { key: 't' }),
    s.paused
      ? button(at, 'operate', 'Resume', resume, { key: 'p' })
      : button(at, 'operate', 'Pause', pause, { key: 'p' }),
  );
}

export const recurring = {
  title: () => 'Recurring',
  load: (at, signal) =>
    get(
      ['schedules'],
      {
        ...Object.fromEntries(['name', 'queue', 'type', 'paused', 'sort', 'after'].map((w) => [w, at.words[w]])),
        limit: 100,
      },
      signal,
    ),
  view: (page, at) => [
    heading('Recurring'),
    filters(at, [
      ['name', 'name has'],
      ['queue', 'queue'],
      ['type', 'type'],
      ['paused', 'only paused', ['true']],
      ['sort', 'sorted by', ['name', 'next']],
    ]),
    table({
      label: 'Schedules',
      rows: page.schedules,
      row_key: (s) => s.name,
      row_href: (s) => path_of(['recurring', s.name]),
      empty: 'There is no such schedule.',
      columns: [
        [
          'schedule',
          (s) => [
            link(['recurring', s.name], {}, s.name),
            s.paused && [' ', h('span', { class: 'badge paused' }, 'paused')],
            s.problem && [' ', h('span', { class: 'badge bad' }, 'makes no job')],
          ],
        ],
        [
          'when',
          (s) => [when_of(s.definition), s.definition?.zone && s.definition.zone !== 'UTC' && ` ${s.definition.zone}`],
        ],
        ['type', (s) => s.definition?.job ?? '–'],
        ['next', (s) => instant(s.next_at)],
        [
          'last',
          (s) => (s.last_job ? [instant(s.last_at), ' ', link(['jobs', s.last_job], {}, 'job')] : instant(s.last_at)),
        ],
        ...(at.may('operate') ? [['change', (s) => buttons(at, s)]] : []),
      ],
    }),
    pager(at, page.next),
  ],
};

// What a signature of an exec schedule is for (`sluice recurring set` makes it).
const signed = ['queue', 'args'];

function edit(at, told) {
  return edit_form(at, told, {
    subject: `schedule ${told.name}`,
    fields_of: ({ definition: d }) =>
      [
        d.every
          ? { name: 'every', label: 'every', value: d.every, key: 'e' }
          : { name: 'cron', label: 'cron', value: d.cron ?? '', key: 'e' },
        !d.every && { name: 'zone', label: 'zone', value: d.zone ?? 'UTC' },
        { name: 'queue', label: 'queue (empty: the usual one)', value: d.queue ?? '' },
        { name: 'stagger', label: 'stagger', value: String(d.stagger ?? true), options: ['true', 'even', 'false'] },
        { name: 'catch_up', label: missed, value: d.catch_up ?? 'last', options: ['last', 'none', 'all'] },
        { name: 'overlap', label: overlap, value: d.overlap ?? 'allow', options: ['allow', 'skip', 'queue_one'] },
        !at.hides_args && {
          name: 'args',
          label: 'arguments, as JSON',
          value: d.args_text ?? '{}',
          is_json: true,
          is_object: true,
        },
      ].filter(Boolean),
    effect: (name) =>
      signed.includes(name) && told.definition.headers?.['sluice-signature']
        ? 'It is signed as it was. Servers with a key refuse its jobs until it is signed anew, by sluice recurring set.'
        : '',
    send: (seen, { args, ...values }) => {
      const { args: _, ...body } = { ...seen.definition, ...values };
      if (args !== undefined) body.args_text = args;
      if (!body.queue) delete body.queue;
      return change('PUT', ['schedules', told.name], { body, tag: seen.tag });
    },
    done: 'The schedule is changed.',
  });
}

// One that somebody made by hand has an id of its own, and is found by its header, where headers are told at all.
const runs_of = (name, hides_args) => (hides_args ? { id_begins: `${name}:` } : { header: `recurring=${name}` });

const runs_shown = 20;
const longest_kept = 10000;

export const schedule = {
  title: (at) => `Schedule ${at.names[0]}`,
  async load(at, signal) {
    const name = at.names[0];
    const told = await get_with_tag(['schedules', name], signal);
    const queue = told.definition?.queue;
    const words = { queue, type: told.definition?.job, limit: runs_shown, with_args: 'false' };
    const runs = async (hides_args) => (await get(['jobs'], { ...runs_of(name, hides_args), ...words }, signal)).jobs;
    // Its runs are looked for among all jobs of its type, so not with each round.
    const is_over = at.kept.runs?.every((run) => run.finished_at);
    const is_old = now() - at.kept.runs_at > longest_kept;
    if (at.kept.last_job !== told.last_job || (!is_over && is_old)) {
      at.kept.runs_at = now();
      at.kept.runs = await runs(false).catch((refused) => (refused.status === 403 ? runs(true) : Promise.reject(refused)));
      at.kept.last_job = told.last_job;
    }
    return { told, runs: at.kept.runs };
  },
  view({ told, runs }, at) {
    const d = told.definition ?? {};
    const remove = async () => {
      if (
        await confirm({
          title: `Remove schedule ${told.name}?`,
          text: 'Its jobs stay. A server whose configuration names it sets it again when it starts.',
          yes: 'Remove',
          danger: true,
        })
      )
        await carry_out(
          at,
          () => change('DELETE', ['schedules', told.name], { tag: told.tag }),
          'The schedule is removed.',
          { to: () => '/recurring' },
        );
    };
    return [
      heading(`Schedule ${told.name}`, buttons(at, told), button(at, 'administer', 'Remove', remove, { danger: true })),
      told.problem && h('p', { key: 'problem', class: 'banner bad' }, told.problem),
      told.paused &&
        h('p', { key: 'paused', class: 'banner warn' }, 'It is paused. What falls into the pause is not caught up.'),
      facts([
        ['when', when_of(d)],
        ['zone', d.zone ?? 'UTC'],
        ['stagger', String(d.stagger ?? true)],
        [missed, d.catch_up ?? 'last'],
        [overlap, d.overlap ?? 'allow'],
        ['type', d.job ?? '–'],
        d.queue && ['queue', link(['queues', d.queue], {}, d.queue)],
        ['last', told.last_job ? [instant(told.last_at), ', ', job_link(told.last_job)] : 'never'],
      ]),
      section(
        'Next runs',
        told.next.length === 0
          ? h('p', { class: 'empty' }, 'None.')
          : h(
              'ol',
              { class: 'plain' },
              told.next.map((n) =>
                h(
                  'li',
                  { key: n.utc },
                  instant(n.utc),
                  ` · ${full(n.utc)}`,
                  n.local && d.zone && d.zone !== 'UTC' && ` · ${n.local.replace('T', ' ')} in ${d.zone}`,
                ),
              ),
            ),
      ),
      section(
        'Last runs',
        table({
          label: 'Last runs',
          rows: runs,
          row_key: (j) => j.id,
          row_href: (j) => path_of(['jobs', j.id]),
          empty: 'None is kept.',
          columns: [
            ['job', (j) => job_link(j.id)],
            ['state', (j) => state_badge(j.state)],
            ['created', (j) => instant(j.created_at)],
            ['ended', (j) => instant(j.finished_at)],
          ],
        }),
        h('p', null, link(['jobs'], { ...runs_of(told.name, at.hides_args), type: d.job }, 'All that are kept')),
      ),
      told.definition && at.may('administer') && section('Change', edit(at, told)),
    ];
  },
};
