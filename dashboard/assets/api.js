// Asks the JSON API. Browsers keep answers by their ETag, so what has not changed crosses the network as a 304.

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the answer was ${status}`);
    Object.assign(this, { status, code: problem.code ?? '' });
  }
  // Whether waiting may help: the store or the dashboard cannot be asked now.
  get is_away() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

const max_tries = 5;

let clock_is_ahead = 0;

// Now by the clock of the dashboard, in milliseconds.
export const now = () => Date.now() - clock_is_ahead;

function note_clock(date) {
  const ahead = Date.now() - Date.parse(date);
  clock_is_ahead = Math.abs(ahead) > 2000 ? ahead : 0; // its header has whole seconds
}

// What was answered, and the tag by which a change says what it was made of.
async function send(method, path, { body, tag, signal } = {}) {
  const headers = {};
  if (method !== 'GET') headers['Content-Type'] = 'application/json';
  if (tag) headers['If-Match'] = tag;
  let answer, told;
  try {
    answer = await fetch(path, {
      method,
      headers,
      signal,
      body: body && JSON.stringify(body),
      credentials: 'same-origin',
    });
    told = await answer.json();
  } catch (failed) {
    if (failed.name === 'AbortError') throw failed;
    throw new Refused(answer && !answer.ok ? answer.status : 0, { detail: 'The dashboard does not answer' });
  }
  if (answer.headers.get('Date')) note_clock(answer.headers.get('Date'));
  if (!answer.ok) throw new Refused(answer.status, told);
  return { told, tag: answer.headers.get('ETag') };
}

// "/jobs/a%2Fb?limit=5" of segments and words; empty words are left out.
export function path_of(segments, words = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(words))
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== '') query.append(name, one);
  const text = query.toString();
  return '/' + segments.map((s) => encodeURIComponent(s)).join('/') + (text && '?' + text);
}

const api = (segments, words) => '/api/v1' + (segments.length > 0 ? path_of(segments, words) : '');

const pause = (ms) => new Promise((go_on) => setTimeout(go_on, ms));

// The dashboard takes five reads of the store a second from all together, so one page keeps below that by itself.
const max_a_second = 4;
const from_memory = /^\/api\/v1(\/(overview|queues|servers)|$)/;
const asked_at = [];

async function keep_pace(path) {
  if (from_memory.test(path)) return;
  while (asked_at.length >= max_a_second && performance.now() - asked_at[0] < 1000)
    await pause(1000 - (performance.now() - asked_at[0]));
  asked_at.push(performance.now());
  if (asked_at.length > max_a_second) asked_at.shift();
}

// A look that came too often, since others look too, is made again a little later.
async function look(path, signal) {
  for (let tries = 0; ; tries++) {
    await keep_pace(path);
    signal?.throwIfAborted();
    try {
      return await send('GET', path, { signal });
    } catch (refused) {
      if (refused.code !== 'overloaded' || tries === max_tries) throw refused;
      await pause(1000);
    }
  }
}

export async function get(segments, words, signal) {
  return (await look(api(segments, words), signal)).told;
}

// With the tag by which a change says what it was made of.
export async function get_with_tag(segments, signal) {
  const { told, tag } = await look(api(segments), signal);
  return { ...told, tag };
}

export async function change(method, segments, { body, tag, signal } = {}) {
  return (await send(method, api(segments), { body, tag, signal })).told;
}
