import { h } from './dom.js';
import { change, get, get_with_tag, now } from './api.js';
import { turn_pause } from './live.js';
import { number, span } from './format.js';
import { bar } from './charts.js';
import { edit_form } from './edit.js';
import {
  button,
  carry_out,
  confirm,
  facts,
  heading,
  instant,
  job_link,
  link,
  pager,
  section,
  table,
  throttler_link,
} from './parts.js';

const is_window = (kind) => kind.endsWith('_window');
const name_of = (resource) => resource.slice(resource.indexOf(':') + 1);
const path = (t) => ['throttlers', t.kind, name_of(t.resource)];
const full_or_used = (used, limit) => (limit > 0 && used >= limit ? 'full' : 'used');

export const throttlers = {
  title: () => 'Throttlers',
  load: (at, signal) => get(['throttlers'], { limit: 100, after: at.words.after }, signal),
  view: (page, at) => [
    heading('Throttlers'),
    table({
      label: 'Throttlers',
      rows: page.throttlers,
      row_key: (t) => t.resource,
      row_href: (t) => `/throttlers/${t.kind}/${encodeURIComponent(name_of(t.resource))}`,
      empty: 'Nothing is limited: no throttler is defined, held or waited for.',
      columns: [
        ['throttler', (t) => throttler_link(t.resource)],
        ['used', (t) => (t.limit === null ? '' : bar(t.held / Math.max(1, t.limit), full_or_used(t.held, t.limit)))],
        ['held or counted', (t) => `${number(t.held)}${t.limit === null ? '' : ` of ${number(t.limit)}`}`, { n: true }],
        ['waiting', (t) => number(t.waiting), { n: true }],
        ['next check', (t) => instant(t.next_at)],
      ],
    }),
    pager(at, page.next),
  ],
};

// The numbers of a definition that may be changed, and what they mean.
const editable = {
  limit: 'limit',
  capacity: 'capacity of all keys',
  min_limit: 'least a key gets',
  max_limit: 'most a key gets',
};

// What a new limit does, before it is set.
function effect_of(told, field, value) {
  if (field !== 'limit') return `All keys share what is left by the new ${editable[field]}, from their next start on.`;
  const one = told.held === 1;
  const what = is_window(told.kind)
    ? one
      ? 'start counts'
      : 'starts count'
    : one
      ? 'permit is held'
      : 'permits are held';
  const now_used = `${number(told.held)} ${what} now`;
  if (value < told.held)
    return `${now_used}: nobody is let in until ${number(told.held - value + 1)} of them have come free.`;
  const room = value - told.held;
  if (told.waiting === 0) return `${now_used}: room for ${number(room)} more, and nobody waits.`;
  return room === 0
    ? `${now_used}: the ${number(told.waiting)} who wait go when one comes free.`
    : `${number(Math.min(room, told.waiting))} of the ${number(told.waiting)} who wait are let in at once.`;
}

function limit_form(at, told) {
  if (!Object.keys(editable).some((name) => typeof told.definition?.[name] === 'number')) return null;
  return edit_form(at, told, {
    subject: told.resource,
    fields_of: ({ definition }) =>
      Object.entries(editable)
        .filter(([name]) => typeof definition?.[name] === 'number')
        .map(([name, label]) => ({ name, label, value: definition[name], key: name === 'limit' ? 'e' : null })),
    effect: (name, value) => effect_of(told, name, value),
    send: (seen, values) => change('PUT', path(told), { body: { ...seen.definition, ...values }, tag: seen.tag }),
    done: 'The limit is changed.',
  });
}

const unit_ms = { ms: 1, s: 1000, m: 60000, min: 60000, h: 3600000, d: 86400000 };
function ms_of(text) {
  let sum = 0;
  for (const [, n, unit] of String(text).matchAll(/([\d.]+)\s*([a-z]+)/g)) sum += Number(n) * (unit_ms[unit] ?? NaN);
  return sum;
}

// The interval that counts now with its buckets, aligned to the clock; and when the next one begins.
function window_drawn(definition, next_at) {
  const interval = ms_of(definition.interval);
  if (!(interval > 0)) return null;
  const buckets = definition.kind === 'fixed_window' ? 1 : (definition.buckets ?? 1);
  const bucket = interval / buckets;
  const at = now();
  const bucket_from = Math.floor(at / bucket) * bucket;
  const from =
    definition.kind === 'fixed_window'
      ? bucket_from
      : bucket_from - bucket * (buckets - (definition.compatible ? 1 : 0));
  const to = bucket_from + bucket;
  const x = (ms) => (((ms - from) / (to - from)) * 600).toFixed(1);
  const marks = [];
  if ((to - from) / bucket <= 200)
    for (let edge = from; edge <= to; edge += bucket)
      marks.push(h('line', { class: 'grid', x1: x(edge), x2: x(edge), y1: 4, y2: 36 }));
  const opens = next_at && Date.parse(next_at);
  return h(
    'figure',
    { class: 'chart' },
    h(
      'figcaption',
      null,
      buckets > 1
        ? `The interval that counts: ${span(interval)} in buckets of ${span(bucket)}`
        : `The interval that counts: ${span(interval)}`,
    ),
    h(
      'svg',
      {
        class: 'window',
        viewBox: '0 0 600 40',
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': `The present bucket began ${span(at - bucket_from)} ago and ends in ${span(to - at)}`,
      },
      h('rect', { class: 'meter-all', x: 0, y: 10, width: 600, height: 20 }),
      h('rect', {
        class: 'meter-used',
        x: x(bucket_from),
        y: 10,
        width: (x(at) - x(bucket_from)).toFixed(1),
        height: 20,
      }),
      marks,
      opens && opens <= to && h('line', { class: 'opening', x1: x(opens), x2: x(opens), y1: 0, y2: 40 }),
    ),
    h(
      'div',
      { class: 'ends' },
      h('span', null, new Date(from).toISOString().slice(11, 19)),
      h('span', null, 'next bucket ', instant(new Date(to).toISOString())),
    ),
  );
}

function keys_table(told) {
  if (told.keys.length === 0) return null;
  return section(
    'Keys',
    table({
      label: 'Keys',
      rows: told.keys,
      row_key: (k) => k.key,
      empty: '',
      columns: [
        ['key', (k) => k.key],
        ['used', (k) => bar(k.used / Math.max(1, k.limit), full_or_used(k.used, k.limit))],
        ['count', (k) => `${number(k.used)} of ${number(k.limit)}`, { n: true }],
        ['next check', (k) => instant(k.next_at)],
      ],
    }),
  );
}

// Whether it is the throttler of this resource. {path} stands for a value of args in it, {{ for a brace; a dynamic
// window has a resource for each of its keys.
function is_called(resource, throttler) {
  const literals = ['']; // between which values stand
  for (const one of throttler.split(/(\{\{|\}\}|\{[^{}]*\})/))
    if (/^\{[^{]/.test(one)) literals.push('');
    else literals[literals.length - 1] += one === '{{' || one === '}}' ? one[0] : one;
  if (literals.length === 1 && throttler.startsWith('dynamic_window:') && resource.startsWith(`${literals[0]}/`))
    return true;
  if (literals.length === 1) return resource === literals[0];
  let at = literals[0].length;
  if (!resource.startsWith(literals[0])) return false;
  const last = literals.pop();
  for (const literal of literals.slice(1)) {
    at = resource.indexOf(literal, at + 1); // behind a value, which is not empty
    if (at < 0) return false;
    at += literal.length;
  }
  return resource.length > at + last.length && resource.endsWith(last);
}
// The types that it lets in, as servers tell it that live.
function types_of(resource, servers) {
  const all = servers.flatMap((s) => s.throttled).filter((t) => t.throttlers.some((one) => is_called(resource, one)));
  return [...new Set(all.map((one) => one.type))].sort();
}

export const throttler = {
  title: (at) => `${at.names[0]}:${at.names[1]}`,
  pause: () => turn_pause,
  // The first who hold it and wait are told with it; more are asked for where there are more.
  load(at, signal) {
    const list = (name, first) => async () => {
      const { told } = at.answers;
      const after = at.words[`${name}_after`];
      const is_counted = name === 'holders' && is_window(told.kind); // a window has no holders
      if (is_counted || (!after && told[name].length >= told[first])) return { [name]: told[name], next: '' };
      return get([...at.segments, name], { limit: 50, after }, signal);
    };
    const waiters = async () => {
      const page = await list('waiters', 'waiting')();
      return { ...page, waiters: page.waiters.map((one) => one.id ?? one) };
    };
    return at.turns([
      ['told', () => get_with_tag(at.segments, signal)],
      ['known', () => get(['servers'], { limit: 200 }, signal)],
      ['holders', list('holders', 'held')],
      ['waiters', waiters],
    ]);
  },
  view({ told, known, holders, waiters }, at) {
    const remove = async () => {
      if (
        await confirm({
          title: `Remove ${told.resource}?`,
          text: 'Jobs that name it fail when they start, unless a configuration defines it again.',
          yes: 'Remove',
          danger: true,
        })
      )
        await carry_out(at, () => change('DELETE', path(told), { tag: told.tag }), 'The definition is removed.');
    };
    const list_pager = (list, next) =>
      next &&
      h(
        'nav',
        { class: 'pager', 'aria-label': `Pages of ${list}` },
        h('a', { href: at.path({ [`${list}_after`]: next }) }, `More ${list}`),
      );
    const { kind, name, ...rest } = told.definition ?? {};
    const types = types_of(told.resource, known.servers);
    return [
      heading(told.resource, told.definition && button(at, 'administer', 'Remove', remove, { danger: true })),
      facts([
        ['kind', told.kind.replace('_', ' ')],
        [
          'held or counted',
          `${number(told.held)}${told.limit === null ? '' : ` of ${number(told.limit)}`}`,
          told.limit !== null && bar(told.held / Math.max(1, told.limit), full_or_used(told.held, told.limit)),
        ],
        ['waiting', number(told.waiting)],
        types.length > 0 && [
          types.length === 1 ? 'type' : 'types',
          types.map((type, i) => [i > 0 && ', ', link(['jobs'], { type }, type)]),
        ],
        told.next_at && ['next check', instant(told.next_at)],
        ...Object.entries(rest).map(([name, value]) => [name.replace('_', ' '), String(value)]),
      ]),
      at.may('administer') && limit_form(at, told),
      told.definition && is_window(told.kind) && window_drawn(told.definition, told.next_at),
      keys_table(told),
      !is_window(told.kind) &&
        told.kind !== 'custom' &&
        section(
          'Who holds it',
          table({
            label: 'Who holds it',
            rows: holders.holders,
            row_key: (x) => x.id,
            row_href: (x) => `/jobs/${encodeURIComponent(x.id)}`,
            empty: 'Nobody.',
            columns: [
              ['job', (x) => job_link(x.id)],
              ['since', (x) => instant(x.since)],
              ['fence', (x) => (x.fence > 0 ? String(x.fence) : '–'), { n: true }],
              [
                'how',
                (x) =>
                  x.reserved ? 'promised; it has not begun yet' : x.fence > 0 ? 'it runs' : 'kept while it waits',
              ],
            ],
          }),
          list_pager('holders', holders.next),
        ),
      section(
        'Who waits, in order',
        table({
          label: 'Who waits',
          rows: waiters.waiters,
          row_key: (id) => id,
          row_href: (id) => `/jobs/${encodeURIComponent(id)}`,
          empty: 'Nobody.',
          columns: [['job', job_link]],
        }),
        list_pager('waiters', waiters.next),
      ),
    ];
  },
};
