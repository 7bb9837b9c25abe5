// A form for what an operator defines: what changes is told before it is sent, and is sent only over what was seen.
import { h } from './dom.js';
import { first, number, pretty } from './format.js';
import { carry_out, confirm } from './parts.js';

const longest_told = 200;

const words_of = (value, { is_json }) => {
  if (typeof value === 'number') return number(value);
  return value === '' ? 'nothing' : first(is_json ? pretty(value).replace(/\s+/g, ' ') : value, longest_told);
};

// JSON that may be changed, as it is stored: what JavaScript makes of its numbers may be others. What has a secret in it
// is shown once somebody asks for that.
export function args_field(at, value) {
  const show = () => {
    at.kept.shows_secrets = true;
    at.redraw();
  };
  const is_masked = !at.kept.shows_secrets && pretty(value).includes('"***"');
  return { name: 'args', label: 'arguments, as JSON', value, is_json: true, unmask: is_masked && show };
}

// A field: {name, label, value, key}, and of a text {options} or {is_json}. A value that is a number stays one.
export function input({ name, label, value, key, options, is_json, unmask, min = '1', ...more }, oninput) {
  const common = { name, oninput, 'data-key': key, ...more };
  if (unmask)
    return h(
      'div',
      { key: `masked ${name}`, class: 'long' },
      h('span', null, label),
      h('pre', { tabindex: '0' }, pretty(value)),
      h('button', { type: 'button', onclick: unmask }, 'Show what is masked, and change it'),
    );
  return h(
    'label',
    { key: name, class: is_json && 'long' },
    h('span', null, label),
    options
      ? h(
          'select',
          common,
          options.map((o) => h('option', { value: o, selected: o === value }, o)),
        )
      : is_json
        ? h('textarea', { ...common, rows: '6', spellcheck: 'false' }, value)
        : typeof value === 'number'
          ? h('input', { ...common, type: 'number', min, step: '1', value })
          : h('input', { ...common, value, autocomplete: 'off', spellcheck: 'false' }),
  );
}

// What was typed into one of these; nothing: no value that it could have.
export function typed_value(element, field) {
  if (typeof field.value !== 'number') return element.value;
  return element.value !== '' && element.validity.valid ? Number(element.value) : undefined;
}

// `fields_of(told)`: those that may be changed; `effect(name, value)`: what a new value does; `send(seen, values)`: asks
// for it.
export function edit_form(at, told, { subject, fields_of, effect = () => null, send, done }) {
  const fields = fields_of(told);
  if (fields.length === 0 || !at.may('administer')) return null;
  const typed = at.kept.typed ?? {};
  const changes = fields.filter(({ name, value }) => typed[name] !== undefined && typed[name] !== value);
  const submit = async (event) => {
    event.preventDefault();
    if (changes.length === 0) return;
    const form = event.target;
    const seen = at.kept.seen ?? told;
    const was = Object.fromEntries(fields_of(seen).map(({ name, value }) => [name, value]));
    const is_agreed = await confirm({
      title: `Change ${subject}?`,
      text: changes.flatMap((field) => [
        `${field.label}: ${words_of(was[field.name], field)} becomes ${words_of(typed[field.name], field)}.`,
        effect(field.name, typed[field.name]) ?? [],
      ]),
      yes: 'Change it',
    });
    if (!is_agreed) return;
    delete at.kept.seen; // what is typed stays when it is refused, and is laid over what is there by then
    const values = Object.fromEntries(changes.map(({ name }) => [name, typed[name]]));
    const answer = await carry_out(at, () => send(seen, values), done);
    if (!answer) return;
    for (const one of form.elements) delete one.dataset.changed;
    at.kept.typed = {};
    at.redraw();
  };
  const change = (field) => (e) => {
    e.target.dataset.changed = 'yes';
    at.kept.typed = { ...at.kept.typed, [field.name]: typed_value(e.target, field) };
    at.kept.seen ??= told; // what is changed is what was seen, and not what somebody else has made of it since
    at.redraw();
  };
  return h(
    'form',
    { class: 'filters', 'aria-label': `Change ${subject}`, onsubmit: submit },
    fields.map((field) => input({ ...field, value: typed[field.name] ?? field.value }, change(field))),
    h(
      'div',
      { class: 'actions' },
      h('button', { type: 'submit', disabled: at.is_away || changes.length === 0 }, 'Change'),
    ),
    changes
      .map(({ name }) => [name, effect(name, typed[name])])
      .filter(([, words]) => words)
      .map(([name, words]) => h('p', { key: `effect ${name}`, class: 'effect', role: 'status' }, words)),
  );
}
