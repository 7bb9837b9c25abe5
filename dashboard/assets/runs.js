// What ran of late, each run as a bar in a lane of its queue: so it is seen how many run beside each other, and when.
import { h } from './dom.js';
import { get, now, path_of } from './api.js';
import { span } from './format.js';
import { queue_link } from './parts.js';

const most_ended = 150;
const most_running = 50;
const longest = 600000;
const most_lanes = 12;
const width = 600;
const lane_height = 12;

// Two questions: who runs, and who ended last.
export function run_questions(signal, queue) {
  const list = (state, limit) => async () => ({
    at: now(),
    jobs: (await get(['jobs'], { queue, state, limit, with_args: 'false' }, signal)).jobs,
  });
  return { running: list('processing', most_running), ended: list('succeeded', most_ended) };
}

function bars_of({ running, ended }) {
  const bar = (job, from, to) => ({
    id: job.id,
    type: job.type,
    queue: job.queue,
    state: job.state,
    from: Date.parse(from),
    to,
  });
  return [
    ...running.jobs.filter((job) => job.started_at).map((job) => bar(job, job.started_at, running.at)),
    ...ended.jobs.flatMap((job) => {
      const last = job.history.findLast((start) => start.fence > 0);
      return last ? [bar(job, last.started, Date.parse(last.ended))] : [];
    }),
  ];
}

// Lane after lane: a bar goes into the first whose last bar has ended.
function lanes_of(bars) {
  const lanes = [];
  for (const bar of bars.sort((a, b) => a.from - b.from)) {
    const free = lanes.find((lane) => lane.at(-1).to <= bar.from);
    if (free) free.push(bar);
    else if (lanes.length < most_lanes) lanes.push([bar]);
  }
  return lanes;
}

function strip(queue, bars, from, to) {
  const x = (ms) => (Math.max(0, (ms - from) / (to - from)) * width).toFixed(1);
  const lanes = lanes_of(bars.filter((bar) => bar.to >= from));
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
          viewBox: `0 0 ${width} ${Math.max(1, lanes.length) * lane_height}`,
          preserveAspectRatio: 'none',
          role: 'img',
          'aria-label': `${queue}: ${bars.length} runs, at most ${lanes.length} beside each other`,
        },
        lanes.map((lane, i) =>
          lane.map((bar) =>
            h(
              'rect',
              {
                class: `span-${bar.state === 'processing' ? 'running' : 'succeeded'}`,
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
  const ended = bars.filter((bar) => bar.state !== 'processing');
  const first = Math.min(...(ended.length > 0 ? ended : bars).map((bar) => bar.from));
  const from = Math.max(to - longest, Math.min(first, to - 1000));
  const by_queue = new Map();
  for (const bar of bars) by_queue.set(bar.queue, [...(by_queue.get(bar.queue) ?? []), bar]);
  return h(
    'figure',
    { class: 'chart' },
    h(
      'figcaption',
      null,
      `The last ${span(to - from)}: each bar is a run, each lane a worker`,
      h('span', { class: 'legend' }, h('span', { class: 'key-succeeded' }, 'succeeded'), h('span', null, 'running')),
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
    h('p', { class: 'quiet' }, h('a', { href: path_of(['jobs'], { state: 'succeeded' }) }, 'The same as a list')),
  );
}
