// Changes many jobs: asks first, shows how far it is, can be stopped, and says what failed.
import { h } from './dom.js';
import { change, get, now } from './api.js';
import { jobs, number } from './format.js';
import { confirm, redraw_into, say, job_link } from './parts.js';

const most_shown = 100;
const past = { requeue: 'requeued', delete: 'deleted' };
const title_of = { requeue: 'Requeue', delete: 'Delete' };

// A dialog that shows how far it is. Its answer to `stopped` is true once somebody has pressed Stop or Escape.
class Progress {
  constructor(title, total) {
    Object.assign(this, { title, total, is_stopped: false, failed: [], refused: 0, done: 0, unchanged: 0 });
    this.box = h('dialog', {
      class: 'progress',
      'aria-labelledby': 'progress-title',
      oncancel: (e) => {
        e.preventDefault();
        this.stop();
      },
    });
    document.body.append(this.box);
    this.draw();
    this.box.showModal();
  }
  stop() {
    if (this.is_over) this.close();
    this.is_stopped = true;
  }
  close() {
    this.box.close();
    this.box.remove();
    this.after?.();
  }
  draw() {
    const ended = this.done + this.unchanged + this.refused;
    redraw_into(
      this.box,
      h('h2', { id: 'progress-title' }, this.title),
      this.total > 0 &&
        h('progress', {
          max: this.total,
          value: Math.min(ended || this.counted || 0, this.total),
          'aria-label': this.title,
        }),
      h(
        'p',
        { role: 'status' },
        this.words ?? `${number(ended)} of ${number(this.total)}`,
        this.unchanged > 0 && `; ${number(this.unchanged)} were so already`,
        this.refused > 0 && `; ${number(this.refused)} failed`,
      ),
      this.failed.length > 0 &&
        h(
          'details',
          null,
          h('summary', null, `What failed (${number(this.refused)})`),
          h(
            'ul',
            null,
            this.failed
              .slice(0, most_shown)
              .map((f) => h('li', { key: f.id }, job_link(f.id), ` ${f.detail || f.code}`)),
          ),
        ),
      h(
        'div',
        { class: 'actions' },
        this.is_over
          ? h('button', { type: 'button', class: 'primary', onclick: () => this.close() }, 'Close')
          : h('button', { type: 'button', onclick: () => this.stop() }, 'Stop'),
      ),
    );
  }
  take(answer) {
    this.done += answer.done;
    this.unchanged += answer.unchanged ?? 0;
    this.refused += answer.refused;
    this.failed.push(...answer.failed.slice(0, most_shown - this.failed.length));
    this.draw();
  }
}

// Again while the store has too much to do.
async function patiently(ask, progress) {
  for (let tries = 0; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (!error.is_away || error.status === 0 || tries === 10 || progress.is_stopped) throw error;
      await new Promise((go_on) => setTimeout(go_on, 500));
    }
  }
}

// How many a filter finds: known of a state and queue, and else counted by looking at all of them.
async function count_all(filter) {
  const { state, queue, ...rest } = filter;
  const is_known = state && Object.keys(rest).length === 0;
  if (is_known) {
    const counts = queue ? await get(['queues', queue]) : (await get(['overview'])).jobs;
    return counts[state];
  }
  const progress = new Progress('Counting', 0);
  let after = '';
  let found = 0;
  let looked_at = 0;
  try {
    do {
      const page = await patiently(
        () => get(['jobs'], { ...words_of(filter), limit: 200, with_args: 'false', after }),
        progress,
      );
      found += page.jobs.length;
      looked_at += page.looked_at;
      after = page.next;
      progress.words = `${number(found)} found among ${number(looked_at)}`;
      progress.draw();
    } while (after && !progress.is_stopped);
  } finally {
    progress.close();
  }
  return progress.is_stopped ? null : found;
}

function words_of({ headers, ...rest }) {
  return headers ? { ...rest, header: Object.entries(headers).map(([name, value]) => `${name}=${value}`) } : rest;
}

async function ask_first(action, count, of_what) {
  return confirm({
    title: `${title_of[action]} ${jobs(count)}?`,
    text: [
      of_what,
      action === 'delete'
        ? 'Deleted jobs do not run. They can be requeued for as long as they are kept.'
        : 'They run again from their first attempt.',
    ],
    yes: `${title_of[action]} ${jobs(count)}`,
    danger: action === 'delete',
  });
}

function say_end(progress, action, undo) {
  const whole = progress.is_stopped
    ? `Stopped. ${jobs(progress.done)} ${past[action]}`
    : `${jobs(progress.done)} ${past[action]}`;
  const words = progress.refused > 0 ? `${whole}; ${number(progress.refused)} failed` : whole;
  say(words, {
    is_bad: progress.refused > 0,
    undo: action === 'delete' && progress.done > 0 ? ['Requeue these', undo] : null,
  });
}

// Ends with what was done told, whatever happened.
async function run(at, action, total, step, undo) {
  const progress = new Progress(`${title_of[action]} ${jobs(total)}`, total);
  at.hold(true);
  try {
    await step(progress);
  } catch (error) {
    say(error.message, { is_bad: true });
  }
  at.hold(false);
  progress.is_over = true;
  progress.draw();
  if (progress.refused === 0) progress.close();
  say_end(progress, action, undo);
}

const ids_a_request = 1000;

export async function change_ids(at, action, ids, { is_agreed } = {}) {
  if (
    !is_agreed &&
    !(await ask_first(action, ids.length, ids.length === 1 ? ids[0] : `The ${number(ids.length)} that are ticked.`))
  )
    return false;
  await run(
    at,
    action,
    ids.length,
    async (progress) => {
      for (let from = 0; from < ids.length && !progress.is_stopped; from += ids_a_request) {
        const some = ids.slice(from, from + ids_a_request);
        progress.take(
          await patiently(() => change('POST', ['jobs', 'actions'], { body: { action, ids: some } }), progress),
        );
      }
    },
    () => change_ids(at, 'requeue', ids, { is_agreed: true }),
  );
  return true;
}

// All that a filter finds; `filter` is that of the API.
export async function change_all(at, action, filter, of_what) {
  let count;
  try {
    count = await count_all(filter);
  } catch (error) {
    say(error.message, { is_bad: true });
    return false;
  }
  if (count === null) return false;
  if (count === 0) return (say('No job is found any more.'), false);
  if (!(await ask_first(action, count, of_what))) return false;
  const begun = new Date(now() - 1000).toISOString();
  await run(
    at,
    action,
    count,
    async (progress) => {
      let after = '';
      do {
        const expected_count = count - progress.done - progress.unchanged - progress.refused;
        if (expected_count <= 0) break;
        const answer = await patiently(
          () => change('POST', ['jobs', 'actions'], { body: { action, filter, expected_count, after } }),
          progress,
        );
        progress.take(answer);
        after = answer.next;
      } while (after && !progress.is_stopped);
    },
    () =>
      change_all(at, 'requeue', { ...filter, state: 'deleted', since: begun }, 'What was just deleted by this filter.'),
  );
  return true;
}
