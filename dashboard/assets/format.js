// Numbers, instants and stored JSON as people read them.
import { now } from './api.js';

const grouped = new Intl.NumberFormat('en-US');
export const number = (n) => grouped.format(n);
export const jobs = (n) => `${number(n)} ${n === 1 ? 'job' : 'jobs'}`;

export function span(ms) {
  const s = Math.abs(ms) / 1000;
  if (s < 0.001) return '0 s';
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  const whole = Math.round(s);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor(whole / 3600) % 24} h`;
}

export function away(instant) {
  if (!instant) return '';
  const ms = Date.parse(instant) - now();
  if (Math.abs(ms) < 1000) return 'now';
  return ms > 0 ? `in ${span(ms)}` : `${span(ms)} ago`;
}

export const full = (instant) => instant.replace('T', ' ').replace('Z', ' UTC');

export const first = (text, most) =>
  [...text.slice(0, 2 * most)].length > most ? [...text.slice(0, 2 * most)].slice(0, most).join('') + '…' : text;

const secret = /pass|pwd|secret|token|authorization|api[-_]?key|private[-_]?key|credential|cookie/i;
export const shown_value = (name, value) => (secret.test(name) ? '***' : value);

function unescaped(quoted) {
  try {
    return JSON.parse(quoted);
  } catch {
    return quoted;
  }
}

// JSON text with line breaks, and *** for what its name calls a secret. Numbers stay as they are written: no value is
// read and written again.
export function pretty(text) {
  const out = [];
  const closers = [];
  let at = 0;
  let name = '';
  let hides_from = -1; // the depth of the secret that is being passed over
  const put = (piece) => hides_from < 0 && out.push(piece);
  const line = () => put('\n' + '  '.repeat(closers.length));
  while (at < text.length) {
    const c = text[at];
    if (/\s/.test(c)) at++;
    else if (c === '{' || c === '[') {
      const empty = /^[{[]\s*[}\]]/.exec(text.slice(at, at + 1000));
      if (empty && hides_from < 0) {
        put(c + (c === '{' ? '}' : ']'));
        at += empty[0].length;
        continue;
      }
      put(c);
      closers.push(c);
      line();
      at++;
    } else if (c === '}' || c === ']') {
      closers.pop();
      if (hides_from > closers.length) hides_from = -1;
      line();
      put(c);
      at++;
    } else if (c === ',') {
      if (hides_from === closers.length) hides_from = -1;
      put(',');
      line();
      at++;
    } else if (c === ':') {
      put(': ');
      at++;
      if (secret.test(unescaped(name)) && hides_from < 0) {
        put('"***"');
        hides_from = closers.length;
      }
    } else {
      let end = at + 1;
      if (c === '"') {
        while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
        end++;
        name = text.slice(at, end);
      } else while (end < text.length && !/[\s,:{}[\]"]/.test(text[end])) end++;
      put(text.slice(at, end));
      at = end;
    }
  }
  return out.join('');
}
