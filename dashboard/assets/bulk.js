// Changes many jobs: asks first, shows how far it is, can be stopped, and says what failed.
import { h } from './dom.js';
import { change, get, path_of } from './api.js';
import { jobs, number } from './format.js';
import { confirm, redraw_into, say } from './parts.js';

const max_shown = 100;
const past = { requeue: 'requeued', delete: 'deleted', cancel: 'cancelled' };
const title_of = { requeue: 'Requeue', delete: 'Delete', cancel: 'Cancel' };

// A dialog that shows how far it is. `is_stopped` once somebody has pressed Stop or Escape.
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
  }
  draw() {
    const ended = this.done + this.unchanged + this.refused;
    redraw_into(
      this.box,
      h('h2', { id: 'progress-title' }, this.title),
      this.total > 0 &&
        h('progress', {
          max: this.total,
          value: Math.min(ended, this.total),
          'aria-label': this.title,
        }),
      h(
        'p',
        { role: 'status' },
        this.words ?? `${number(ended)} of ${number(this.total)}`,
        this.unchanged > 0 && `; ${number(this.unchanged)} were in that state already`,
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
              .slice(0, max_shown)
              .map((f) =>
                h(
                  'li',
                  { key: f.id },
                  h('a', { href: path_of(['jobs', f.id]), target: '_blank', rel: 'noopener' }, f.id),
                  ` ${f.detail || f.code}`,
                ),
              ),
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
    this.failed.push(...answer.failed.slice(0, max_shown - this.failed.length));
    this.draw();
  }
}

// Again while the store has too much to do.
async function patiently(ask, progress) {
  for (let tries = 0; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      // What may have happened already is not asked for again: it might be done to more jobs than were agreed to.
      if (![429, 503].includes(error.status) || tries === 10 || progress.is_stopped) throw error;
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
  let records_read = 0;
  try {
    do {
      const page = await patiently(
        () => get(['jobs'], { ...words_of(filter), limit: 200, with_args: 'false', after }),
        progress,
      );
      found += page.jobs.length;
      records_read += page.records_read;
      after = page.next;
      progress.words = `${number(found)} found among ${number(records_read)}`;
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

const told_before = {
  delete:
    'Deleted jobs do not run. For as long as they are kept they can be requeued; then they run at once. The permits of those that run are free at once, though their handlers go on until they notice: Cancel waits for them.',
  cancel:
    'The handlers of those that run are asked to stop, and keep their permits until they have ended. Those that do not run are deleted.',
  requeue:
    'They run as soon as a worker is free: those that succeeded a second time, those that are scheduled before they are due.',
};

async function ask_first(action, count, of_what) {
  return confirm({
    title: `${title_of[action]} ${jobs(count)}?`,
    text: [of_what, told_before[action]],
    yes: `${title_of[action]} ${jobs(count)}`,
    no: action === 'cancel' ? 'Let them run' : 'Cancel',
    danger: action === 'delete',
  });
}

// Ends with what was done told, whatever happened. `deleted` of a deletion: the ids of those that it deleted.
async function run(at, action, total, step, deleted) {
  const progress = new Progress(`${title_of[action]} ${jobs(total)}`, total);
  const was_held = at.hold(true);
  let broke_off = '';
  try {
    await step(progress);
  } catch (error) {
    broke_off = `It broke off: ${error.message}. `;
  }
  at.hold(was_held);
  progress.is_over = true;
  progress.draw();
  if (progress.refused === 0) progress.close();
  const failed = progress.refused > 0 ? `; ${number(progress.refused)} failed` : '';
  say(`${broke_off}${progress.is_stopped ? 'Stopped. ' : ''}${jobs(progress.done)} ${past[action]}${failed}`, {
    is_bad: broke_off !== '' || progress.refused > 0,
    undo:
      deleted.length > 0 ? ['Requeue these', () => change_ids(at, 'requeue', deleted, 'What was just deleted.')] : null,
  });
}

const ids_a_request = 1000;
const jobs_a_page = 200;

// Changes these. Adds to `changed` those of which that is known.
async function change_some(action, ids, changed, progress) {
  const answer = await patiently(() => change('POST', ['jobs', 'actions'], { body: { action, ids } }), progress);
  const failed = new Set(answer.failed.map((one) => one.id));
  changed.push(...ids.filter((id) => !failed.has(id)));
  progress.take(answer);
}

// Those that are ticked, or that were deleted before.
export async function change_ids(at, action, ids, of_what) {
  if (!(await ask_first(action, ids.length, of_what))) return false;
  const changed = [];
  await run(
    at,
    action,
    ids.length,
    async (progress) => {
      for (let from = 0; from < ids.length && !progress.is_stopped; from += ids_a_request)
        await change_some(action, ids.slice(from, from + ids_a_request), changed, progress);
    },
    action === 'delete' ? changed : [],
  );
  return true;
}

// In slices by the API.
async function change_found(action, filter, count, progress) {
  let after = '';
  do {
    const expected_count = count - progress.done - progress.unchanged - progress.refused;
    if (expected_count <= 0) return;
    const body = { action, filter, expected_count, after };
    const answer = await patiently(() => change('POST', ['jobs', 'actions'], { body }), progress);
    progress.take(answer);
    after = answer.next;
  } while (after && !progress.is_stopped);
}

// Page by page, so that it is known which were deleted: just these can be requeued.
async function delete_found(filter, count, deleted, progress) {
  let after = '';
  let taken = 0;
  do {
    const words = { ...words_of(filter), limit: Math.min(jobs_a_page, count - taken), with_args: 'false', after };
    const page = await patiently(() => get(['jobs'], words), progress);
    const ids = page.jobs.filter((one) => one.state !== 'deleted').map((one) => one.id);
    if (ids.length > 0 && !progress.is_stopped) await change_some('delete', ids, deleted, progress);
    taken += page.jobs.length;
    after = page.next;
  } while (after && taken < count && !progress.is_stopped);
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
  if (count === 0) {
    say('No job is found any more.');
    return false;
  }
  if (!(await ask_first(action, count, of_what))) return false;
  const deleted = [];
  const step = (progress) =>
    action === 'delete' ? delete_found(filter, count, deleted, progress) : change_found(action, filter, count, progress);
  await run(at, action, count, step, deleted);
  return true;
}
