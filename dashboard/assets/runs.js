// What ran of late, each run as a bar, those that ran at the same time one above the other: so it is seen how many
// run beside each other, and when.
import { h } from './dom.js';
import { get, now, path_of } from './api.js';
import { span } from './format.js';
import { queue_link } from './parts.js';

const max_ended = 150;
const max_running = 50;
const max_failed = 50;
const longest = 600000;
const max_lanes = 12;
const width = 600;
const lane_height = 12;

// Who runs, who succeeded last, and who failed last.
export function run_questions(signal, queue) {
  const list = (state, limit) => async () => ({
    at: now(),
    jobs: (await get(['jobs'], { queue, state, limit, with_args: 'false' }, signal)).jobs,
  });
  return {
    running: list('processing', max_running),
    ended: list('succeeded', max_ended),
    failed: list('failed', max_failed),
  };
}

// Of each job its starts that have ended, and the one that runs.
function bars_of({ running, ended, failed }) {
  const bar = (job, kind, from, to) => ({
    id: job.id,
    type: job.type,
    queue: job.queue,
    kind,
    from: Date.parse(from),
    to,
  });
  const past = (job) =>
    job.history
      .filter((start) => start.fence > 0)
      .map((start) => bar(job, start.failure ? 'failed' : 'succeeded', start.started, Date.parse(start.ended)));
  return [
    ...running.jobs.filter((job) => job.started_at).map((job) => bar(job, 'running', job.started_at, running.at)),
    ...[...running.jobs, ...ended.jobs, ...failed.jobs].flatMap(past),
  ];
}

// Lane after lane: a bar goes into the first whose last bar has ended. Only so many lanes are drawn.
function lanes_of(bars) {
  const lanes = [];
  for (const bar of bars.sort((a, b) => a.from - b.from)) {
    const free = lanes.find((lane) => lane.at(-1).to <= bar.from);
    if (free) free.push(bar);
    else lanes.push([bar]);
  }
  return lanes;
}

function strip(queue, bars, from, to) {
  const x = (ms) => (Math.max(0, (ms - from) / (to - from)) * width).toFixed(1);
  const lanes = lanes_of(bars);
  return h(
    'tr',
    { key: queue },
    h('th', { scope: 'row' }, queue_link(queue)),
    h(
      'td',
      { class: 'strip' },
      h(
        'svg',
        {
          class: 'runs',
          viewBox: `0 0 ${width} ${Math.max(1, Math.min(lanes.length, max_lanes)) * lane_height}`,
          preserveAspectRatio: 'none',
          role: 'img',
          'aria-label': `${queue}: ${bars.length} runs, at most ${lanes.length} beside each other`,
        },
        lanes.slice(0, max_lanes).map((lane, i) =>
          lane.map((bar) =>
            h(
              'rect',
              {
                class: `span-${bar.kind}`,
                x: x(bar.from),
                y: i * lane_height + 1,
                width: Math.max(1.5, x(bar.to) - x(bar.from)).toFixed(1),
                height: lane_height - 2,
              },
              h('title', null, `${bar.type}, ${span(bar.to - bar.from)}: ${bar.id}`),
            ),
          ),
        ),
      ),
    ),
  );
}

export function runs_chart(answers) {
  const bars = bars_of(answers);
  if (bars.length === 0) return h('p', { class: 'empty' }, 'Nothing has run of late.');
  const to = Math.max(answers.running.at, answers.ended.at);
  const ended = bars.filter((bar) => bar.kind === 'succeeded');
  const first = Math.min(...(ended.length > 0 ? ended : bars).map((bar) => bar.from));
  const from = Math.max(to - longest, Math.min(first, to - 1000));
  const by_queue = new Map();
  for (const bar of bars.filter((one) => one.to >= from)) {
    if (!by_queue.has(bar.queue)) by_queue.set(bar.queue, []);
    by_queue.get(bar.queue).push(bar);
  }
  return h(
    'figure',
    { class: 'chart' },
    h(
      'figcaption',
      null,
      `The last ${span(to - from)}: each bar is a run; those one above the other ran at the same time`,
      h(
        'span',
        { class: 'legend' },
        h('span', { class: 'key-succeeded' }, 'ended well'),
        h('span', { class: 'key-failed' }, 'failed'),
        h('span', null, 'running'),
      ),
    ),
    h(
      'table',
      { class: 'bars' },
      h(
        'tbody',
        null,
        [...by_queue].sort(([a], [b]) => (a < b ? -1 : 1)).map(([queue, some]) => strip(queue, some, from, to)),
      ),
    ),
    h(
      'p',
      { class: 'quiet' },
      h('a', { href: path_of(['jobs'], { state: 'succeeded' }) }, 'Those that succeeded, as a list'),
    ),
  );
}
