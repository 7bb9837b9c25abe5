// Forms: what is typed into them, and what becomes of that. What an operator defines changes only after the change was
// told, and only over what was seen.
import { h } from './dom.js';
import { number, pretty } from './format.js';
import { carry_out, confirm } from './parts.js';

const longest_told = 200;
const longest_shown = 64 * 1024;
const before = 20; // characters that are told before the first that differs

// The last answer is kept: a form is drawn at each key that is pressed.
let last = ['', ''];
function masked(text) {
  if (last[0] !== text) last = [text, pretty(text.slice(0, longest_shown))];
  return last[1];
}

function from_where_they_differ(one, other) {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  const from = Math.max(0, at - before);
  return [one, other].map((text) => {
    const part = [...text.slice(from, from + 2 * longest_told)].slice(0, longest_told).join('');
    return `${from > 0 ? '…' : ''}${part}${from + part.length < text.length ? '…' : ''}` || 'nothing';
  });
}

function change_told({ label, is_json }, was, is) {
  if (typeof is === 'number') return `${label}: ${number(was)} becomes ${number(is)}.`;
  const [old, fresh] = is_json ? [was, is].map((text) => pretty(text).replace(/\n\s*/g, ' ')) : [was, is];
  if (old === fresh) return `${label}: a value that is masked changes.`;
  const [one, other] = from_where_they_differ(old, fresh);
  return `${label}: ${one} becomes ${other}.`;
}

function fault_of({ is_json, is_object }, text) {
  if (!is_json) return '';
  try {
    JSON.parse(text);
    return !is_object || /^\s*\{/.test(text) ? '' : 'The arguments must be an object.';
  } catch (fault) {
    return `The arguments are not valid JSON: ${fault.message}`;
  }
}

function control({ name, value, key, options, is_json, is_object: _, min = '1', ...more }, fault, oninput) {
  const common = { name, oninput, 'data-key': key, ...more };
  if (options)
    return h(
      'select',
      common,
      options.map((o) => h('option', { value: o, selected: o === value }, o)),
    );
  if (is_json) {
    const of_fault = fault && { 'aria-invalid': 'true', 'aria-describedby': `fault-${name}` };
    return h('textarea', { ...common, ...of_fault, rows: '6', spellcheck: 'false' }, value);
  }
  if (typeof value === 'number') return h('input', { ...common, type: 'number', min, step: '1', value });
  return h('input', { ...common, value, autocomplete: 'off', spellcheck: 'false' });
}

// JSON with a secret in it, until somebody asks for it.
function masked_field(at, { name, label }, value) {
  const show = () => {
    at.kept.shown = value;
    at.redraw();
    document.querySelector(`main textarea[name="${name}"]`)?.focus();
  };
  return h(
    'div',
    { key: `masked ${name}`, class: 'long' },
    h('span', null, label),
    h('pre', { tabindex: '0', role: 'group', 'aria-label': label }, masked(value)),
    h('button', { type: 'button', onclick: show }, 'Show what is masked, and change it'),
  );
}

// Fields, and what is typed into them so far. A field: {name, label, value, key}, and of a text {options} or {is_json}
// (and {is_object}). A value that is a number stays one; JSON is kept as the text that it is. `typed`: called before the
// page is drawn anew.
export function form_of(at, fields, typed = () => {}) {
  const values = Object.fromEntries(fields.map(({ name, value }) => [name, at.kept.typed?.[name] ?? value]));
  const faults = Object.fromEntries(fields.map((field) => [field.name, fault_of(field, values[field.name])]));
  const type_in = (field) => (e) => {
    e.target.dataset.changed = 'yes';
    const is_one = typeof field.value !== 'number' || (e.target.value !== '' && e.target.validity.valid);
    const value = typeof field.value === 'number' ? Number(e.target.value) : e.target.value;
    at.kept.typed = { ...at.kept.typed, [field.name]: is_one ? value : undefined };
    typed();
    at.redraw();
  };
  const drawn = fields.map((field) => {
    const { label, ...of_control } = field;
    const { name, is_json } = field;
    const value = values[name];
    const is_typed = at.kept.typed?.[name] !== undefined;
    if (is_json && !is_typed && at.kept.shown !== value && masked(value).includes('"***"'))
      return masked_field(at, field, value);
    const fault = faults[name];
    return h(
      'label',
      { key: name, class: is_json && 'long' },
      h('span', null, label),
      control({ ...of_control, value }, fault, type_in(field)),
      fault && h('span', { id: `fault-${name}`, class: 'fault' }, fault),
    );
  });
  return { drawn, values, is_faulty: Object.values(faults).some(Boolean) };
}

// `fields_of(told)`: those that may be changed; `effect(name, value)`: what a new value does; `send(seen, values)`: asks
// for it.
export function edit_form(at, told, { subject, fields_of, effect = () => '', send, done }) {
  const { kept } = at;
  if (kept.sent && kept.sent.told !== told) {
    // What was sent is there by now; what was typed meanwhile stays.
    for (const [name, value] of Object.entries(kept.sent.values)) if (kept.typed[name] === value) delete kept.typed[name];
    delete kept.sent;
  }
  const seen = kept.seen ?? told; // what is changed is what was seen, and not what somebody else has made of it since
  const fields = fields_of(seen);
  const changes = fields.filter(({ name, value }) => (kept.typed?.[name] ?? value) !== value);
  const remember = () => {
    kept.seen = fields.some(({ name, value }) => (kept.typed[name] ?? value) !== value) ? seen : undefined;
  };
  const { drawn, values, is_faulty } = form_of(at, fields, remember);
  const submit = async (event) => {
    event.preventDefault();
    if (changes.length === 0 || is_faulty || kept.sent) return;
    const form = event.target;
    const wanted = Object.fromEntries(changes.map(({ name }) => [name, values[name]]));
    const is_agreed = await confirm({
      title: `Change ${subject}?`,
      text: changes
        .flatMap((field) => [change_told(field, field.value, wanted[field.name]), effect(field.name, wanted[field.name])])
        .filter(Boolean),
      yes: 'Change it',
    });
    if (!is_agreed) return;
    kept.sent = { told, values: wanted };
    at.redraw();
    delete kept.seen; // what is typed stays when it is refused, and is laid over what is there by then
    if (await carry_out(at, () => send(seen, wanted), done)) {
      for (const one of form.elements) if (wanted[one.name] === kept.typed[one.name]) delete one.dataset.changed;
    } else delete kept.sent;
  };
  return h(
    'form',
    { class: 'filters', 'aria-label': `Change ${subject}`, onsubmit: submit },
    drawn,
    h(
      'div',
      { class: 'actions' },
      h(
        'button',
        { type: 'submit', disabled: at.is_away || is_faulty || kept.sent !== undefined || changes.length === 0 },
        'Change',
      ),
    ),
    changes
      .map(({ name }) => [name, effect(name, values[name])])
      .filter(([, words]) => words)
      .map(([name, words]) => h('p', { key: `effect ${name}`, class: 'effect', role: 'status' }, words)),
  );
}
