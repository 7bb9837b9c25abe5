import { h } from './dom.js';
import { change, get, now, path_of } from './api.js';
import { turn_pause } from './live.js';
import { full, number, pretty, shown_value, span } from './format.js';
import { time_line } from './charts.js';
import {
  button,
  carry_out,
  confirm,
  facts,
  heading,
  instant,
  job_link,
  link,
  queue_link,
  section,
  state_badge,
  throttler_link,
  way,
} from './parts.js';

const max_shown = 64 * 1024;

const is_final = (job) => ['succeeded', 'failed', 'deleted'].includes(job.state);

// What the store says begins without a subject. What a command wrote may end in an escaped line break.
function sentence(said) {
  const text = said.replace(/(\\x0a)+$/, '');
  const of_end = /^is (succeeded|failed|deleted)(.*)$/s.exec(text);
  if (of_end) return `It ${of_end[1] === 'deleted' ? 'was' : 'has'} ${of_end[1]}${of_end[2]}.`;
  return /^(is|runs|waits|was) /.test(text) ? `It ${text}.` : `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

function why(explanation) {
  const { text, resource, holders, before, when } = explanation;
  return h(
    'div',
    { key: 'why', class: 'why' },
    h('p', null, h('strong', null, sentence(text))),
    (resource || holders.length > 0 || before > 0) &&
      h(
        'p',
        null,
        resource && ['It waits for ', throttler_link(resource), '. '],
        before > 0 && `${before > 10000 ? 'More than 10,000' : number(before)} ${before === 1 ? 'goes' : 'go'} first. `,
        when && ['Then: ', instant(when), '. '],
        holders.length > 0 && ['Held by ', holders.map((id, i) => [i > 0 && ', ', job_link(id)]), '.'],
      ),
  );
}

const told_of_cancel = {
  'asked to stop': 'Its handler is asked to stop.',
  cancelled: 'It does not run any more, and is deleted.',
  'was asked to stop already': 'It was asked to stop already.',
  'was deleted already': 'It was deleted already.',
};

function buttons(at, job) {
  const id = job.id;
  const requeue_now = () =>
    carry_out(at, () => change('POST', ['jobs', id, 'requeue'], { body: {} }), 'It waits in its queue again.');
  const requeue = async () => {
    const text = [id, 'It has succeeded. It would run a second time, and its result is lost.'];
    if (job.state !== 'succeeded' || (await confirm({ title: 'Run this job again?', text, yes: 'Run it again' })))
      await requeue_now();
  };
  const runs = job.state === 'processing';
  const cancel = async () => {
    const text = [
      id,
      'Its handler is asked to stop. It keeps its permits until it has ended: as succeeded, or else as deleted.',
    ];
    if (await confirm({ title: 'Cancel this job?', text, yes: 'Ask it to stop', no: 'Let it run' }))
      await carry_out(
        at,
        () => change('POST', ['jobs', id, 'cancel'], { body: {} }),
        ({ done }) => told_of_cancel[done],
      );
  };
  const remove = async () => {
    const is_agreed = await confirm({
      title: 'Delete this job?',
      text: [
        id,
        runs
          ? 'It runs. Its handler is asked to stop, but its permits are free at once, so another job may run beside it; what it still does is not stored. Cancel waits for it.'
          : 'It does not run then. For as long as it is kept it can be requeued; then it runs at once.',
      ],
      yes: 'Delete',
      danger: true,
    });
    if (is_agreed)
      await carry_out(at, () => change('DELETE', ['jobs', id]), 'The job is deleted.', {
        undo: ['Requeue it', requeue_now],
      });
  };
  return [
    at.may('operate') && way(['enqueue'], { like: id }, 'Enqueue another like it', 'i'),
    runs && button(at, 'operate', 'Cancel', cancel, { key: 'c' }),
    ['failed', 'deleted', 'succeeded', 'scheduled'].includes(job.state) &&
      button(at, 'operate', job.state === 'scheduled' ? 'Run now' : 'Requeue', requeue, { key: 'r' }),
    job.state !== 'deleted' && button(at, 'operate', 'Delete', remove, { danger: true, key: 'd' }),
  ];
}

const kind_of = (start) =>
  start.failure ? 'failed' : start.end === 'succeeded' ? 'succeeded' : start.started === start.ended ? 'note' : 'other';

function starts(job) {
  const rows = job.history
    .filter((s) => s.fence > 0)
    .map((s) => ({
      key: s.fence,
      from: Date.parse(s.started),
      to: Date.parse(s.ended),
      kind: kind_of(s),
      words: `attempt ${s.attempt}: ${s.cause}, ${span(Date.parse(s.ended) - Date.parse(s.started))}`,
    }));
  if (job.state === 'processing' && job.started_at)
    rows.push({
      key: 'now',
      from: Date.parse(job.started_at),
      to: now(),
      kind: 'running',
      words: `attempt ${job.attempt}: runs for ${span(now() - Date.parse(job.started_at))}`,
    });
  if (rows.length === 0) return null;
  const from = Math.min(...rows.map((r) => r.from));
  const to = Math.max(...rows.map((r) => r.to));
  return h(
    'figure',
    { class: 'chart' },
    h('figcaption', null, `Its starts, over ${span(to - from)}`),
    time_line(rows, from, to),
  );
}

function watched_table(parts) {
  return h(
    'table',
    { class: 'list', 'aria-label': 'Watched parts' },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        ['system', 'what', 'times', 'failed', 'together', 'longest'].map((w, i) =>
          h('th', { scope: 'col', class: i > 1 && 'n' }, w),
        ),
      ),
    ),
    h(
      'tbody',
      null,
      parts.map((p) =>
        h(
          'tr',
          null,
          h('td', { 'data-label': 'system' }, p.system),
          h('td', { 'data-label': 'what' }, p.what),
          [
            ['times', number(p.times)],
            ['failed', number(p.failed)],
            ['together', span(p.total_us / 1000)],
            ['longest', span(p.longest_us / 1000)],
          ].map(([label, text]) => h('td', { class: 'n', 'data-label': label }, text)),
        ),
      ),
    ),
  );
}

function history(job) {
  if (job.history.length === 0)
    return job.state === 'processing' ? null : h('p', { class: 'empty' }, 'It has not been started yet.');
  return h(
    'ol',
    { class: 'history' },
    job.history
      .slice()
      .reverse()
      .map((s) =>
        h(
          'li',
          { key: `${s.started} ${s.fence}`, class: `start-${kind_of(s)}` },
          h(
            'p',
            null,
            h('strong', null, s.cause),
            s.fence > 0 && ` · attempt ${s.attempt} · ${span(Date.parse(s.ended) - Date.parse(s.started))}`,
            ' · ',
            instant(s.started),
            s.server && [' · ', link(['jobs'], { server: s.server, queue: job.queue }, s.server)],
            s.fence > 0 && ` · fence ${s.fence}`,
            s.throttler && [' · ', throttler_link(s.throttler)],
          ),
          s.error && h('pre', { tabindex: '0' }, s.error),
          s.watched.length > 0 && watched_table(s.watched),
        ),
      ),
  );
}

function text_of(at, job, part) {
  const exact = job[`${part}_text`];
  if (!exact) return h('p', { class: 'empty' }, at.hides_args ? 'This dashboard does not show it.' : 'None.');
  const is_json = /^\s*[{[]/.test(exact); // or near to it: what is nested too deep is none to the API
  const is_cut = exact.length > max_shown && !at.kept[`whole_${part}`];
  const some = is_cut ? exact.slice(0, max_shown) : exact;
  return [
    h('pre', { tabindex: '0', 'data-part': part }, is_json ? pretty(some) : some),
    h(
      'p',
      { class: 'actions' },
      is_cut &&
        h(
          'button',
          {
            type: 'button',
            onclick: () => {
              at.kept[`whole_${part}`] = true;
              at.redraw();
            },
          },
          `Show all ${number(exact.length)} characters`,
        ),
      h('a', { href: '/api/v1' + path_of(['jobs', job.id, part]), download: `${part}.json` }, 'Download as it is'),
    ),
  ];
}

export const job = {
  title: (at) => `Job ${at.names[0]}`,
  pause: () => turn_pause,
  load(at, signal) {
    const id = at.names[0];
    return at.turns([
      ['told', () => get(['jobs', id], {}, signal)],
      ['explanation', () => get(['jobs', id, 'explanation'], {}, signal)],
    ]);
  },
  view({ told, explanation }, at) {
    return [
      heading(told.id, buttons(at, told)),
      why(explanation),
      told.progress &&
        h(
          'div',
          { key: 'progress', class: 'progress-line' },
          h('progress', { max: 1, value: told.progress.done, 'aria-label': 'Progress' }),
          h('span', null, ` ${Math.round(told.progress.done * 100)} % ${told.progress.text}`),
        ),
      facts([
        ['state', state_badge(told.state)],
        ['type', link(['jobs'], { type: told.type, queue: told.queue }, told.type)],
        ['queue', queue_link(told.queue)],
        [
          'attempt',
          `${number(told.attempt)}${told.retries === null ? '' : ` of ${number(told.retries + 1)}`}`,
          told.losses > 0 && `, lost with a server ${number(told.losses)} times`,
        ],
        ['created', instant(told.created_at), ` (${full(told.created_at)})`],
        told.due_at && ['due', instant(told.due_at), ` (${full(told.due_at)})`],
        told.started_at && ['started', instant(told.started_at)],
        told.finished_at && ['ended', instant(told.finished_at)],
        told.state === 'processing' && [
          'lease',
          told.lease_until ? instant(told.lease_until) : '–',
          ', renewed by its server',
        ],
        told.server && ['server', told.server],
        told.fence > 0 && ['fence', String(told.fence)],
        told.timeout_ms !== null && ['timeout', span(told.timeout_ms)],
        told.line && ['line', told.line],
        told.permits?.length > 0 && ['permits', told.permits.map((p, i) => [i > 0 && ', ', throttler_link(p)])],
        told.group && ['group', link(['groups', told.group], {}, told.group)],
        told.unique_key && ['unique key', told.unique_key],
        told.start_by && ['start by', instant(told.start_by), ` (${full(told.start_by)})`],
        told.finish_by && ['finish by', instant(told.finish_by), ` (${full(told.finish_by)})`],
        told.parents?.length > 0 && [
          'runs after',
          told.parents.map((p, i) => [
            i > 0 && ', ',
            p.id ? job_link(p.id) : ['group ', link(['groups', p.group], {}, p.group)],
            p.met === null ? '' : p.met ? ' (ended as it wants)' : ' (did not end as it wants)',
          ]),
        ],
        told.headers.recurring && [
          'schedule',
          link(['recurring', told.headers.recurring], {}, told.headers.recurring),
          told.headers.occurrence && ` for ${full(told.headers.occurrence)}`,
        ],
        told.reason && ['reason', told.reason],
      ]),
      section('Time line', starts(told), history(told)),
      section('Arguments', text_of(at, told, 'args')),
      (told.result_text || is_final(told)) && section('Result', text_of(at, told, 'result')),
      Object.keys(told.headers).length > 0 &&
        section(
          'Headers',
          facts(Object.entries(told.headers).map(([name, value]) => [name, shown_value(name, value)])),
        ),
    ];
  },
};
