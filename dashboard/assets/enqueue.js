// A job by hand: as one that is known, or as the first that is found of its type.
import { h } from './dom.js';
import { change, get, path_of } from './api.js';
import { args_field, input, typed_value } from './edit.js';
import { carry_out, heading, job_link } from './parts.js';

const longest_search = 3000;

// Looks on for some seconds: each answer is a slice of the store.
async function find_of_type(type) {
  const until = performance.now() + longest_search;
  let after = '';
  do {
    const page = await get(['jobs'], { type, limit: 1, after });
    if (page.jobs.length > 0) return page.jobs[0];
    after = page.next;
  } while (after && performance.now() < until);
  return null;
}

const came_of_it = {
  same: (id) => `${id} was enqueued before.`,
  duplicate: (id) => `Another has its unique key: ${id}.`,
  extended: (id) => `Another has its unique key, and is due later now: ${id}.`,
  replaced: (id) => `${id} is enqueued in place of another.`,
};

function fault_of(args) {
  try {
    JSON.parse(args);
    return '';
  } catch (fault) {
    return `The arguments are no JSON: ${fault.message}`;
  }
}

export const enqueue = {
  title: () => 'Enqueue a job',
  pause: () => null,
  load: async (at, signal) => ({
    like: at.words.like ? await get(['jobs', at.words.like], {}, signal) : null,
  }),
  view({ like }, at) {
    if (!at.may('operate')) return [heading('Enqueue a job'), h('p', { class: 'empty' }, 'Nobody may do that here.')];
    const typed = at.kept.typed ?? {};
    const model = at.kept.found ?? like;
    const fields = [
      { name: 'type', label: 'type', value: model?.type ?? '', required: true },
      { name: 'queue', label: 'queue; none: that of its type', value: model?.queue ?? '' },
      { name: 'id', label: 'id; none: a new one', value: '' },
      { name: 'in_seconds', label: 'runs in, in seconds', value: 0, min: '0' },
      args_field(at, model?.args_text || '{}'),
    ];
    const values = Object.fromEntries(fields.map(({ name, value }) => [name, typed[name] ?? value]));
    const fault = fault_of(values.args);
    const type_in = (field) => (e) => {
      e.target.dataset.changed = 'yes';
      at.kept.typed = { ...at.kept.typed, [field.name]: typed_value(e.target, field) };
      at.redraw();
    };
    const look_for = async () => {
      const { type } = values;
      if (!type || at.hides_args) return;
      at.kept.found = await find_of_type(type).catch(() => null);
      at.redraw();
    };
    const submit = async (event) => {
      event.preventDefault();
      if (at.kept.is_sent) return; // a second click is not a second job
      at.kept.is_sent = true;
      const { type, queue, id, in_seconds, args } = values;
      const body = { type, args_text: args, ...(queue && { queue }), ...(id && { id }) };
      if (in_seconds > 0) body.in_ms = in_seconds * 1000;
      const said = await carry_out(
        at,
        () => change('POST', ['jobs'], { body }),
        ({ id, came }) => came_of_it[came]?.(id) ?? `Job ${id} is enqueued.`,
      );
      at.kept.is_sent = false;
      if (said) at.go(path_of(['jobs', said.id]));
    };
    return [
      heading('Enqueue a job'),
      h(
        'form',
        { class: 'filters', 'aria-label': 'The new job', onsubmit: submit, onchange: (e) => e.target.name === 'type' && look_for() },
        fields.map((field) => input({ ...field, value: values[field.name] }, type_in(field))),
        model &&
          h(
            'p',
            { key: 'model', class: 'effect', role: 'status' },
            at.hides_args ? 'The queue is that of ' : 'Queue and arguments, unless others are typed, are those of ',
            job_link(model.id),
            at.hides_args ? '; its arguments are not shown here.' : '.',
          ),
        fault && h('p', { key: 'fault', class: 'effect', role: 'status' }, fault),
        h('div', { class: 'actions' }, h('button', { type: 'submit', disabled: fault !== '' || !values.type }, 'Enqueue')),
      ),
    ];
  },
};
