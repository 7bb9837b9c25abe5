// A job by hand: as one that was shown, or as the first that is found of its type.
import { h } from './dom.js';
import { change, get, path_of } from './api.js';
import { form_of } from './edit.js';
import { carry_out, heading } from './parts.js';

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

async function look_for(at, type, known) {
  if (!type || at.kept.looks === type || known?.type === type) return;
  at.kept.looks = type;
  at.redraw();
  const found = await find_of_type(type).catch(() => null);
  if (at.kept.looks !== type) return; // another was typed meanwhile
  at.kept.found = found;
  delete at.kept.looks;
  at.redraw();
}

// So that what is asked for again, since its answer was lost, is no second job.
function id_of(at, body) {
  const text = JSON.stringify(body);
  if (at.kept.asked?.text !== text) {
    const id = [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, '0')).join('');
    at.kept.asked = { text, id };
  }
  return at.kept.asked.id;
}

const came_of_it = {
  same: (id) => `${id} was enqueued before.`,
  duplicate: (id) => `Another has its unique key: ${id}.`,
  extended: (id) => `Another has its unique key, and is due later now: ${id}.`,
  replaced: (id) => `${id} is enqueued in place of another.`,
};

function about_model(at, model) {
  const job = h('a', { href: path_of(['jobs', model.id]), target: '_blank', rel: 'noopener' }, model.id);
  const rest = 'headers, retries, timeout, group and unique key are not taken';
  return h(
    'p',
    { key: 'model', class: 'effect', role: 'status' },
    at.hides_args ? 'The queue, unless another is typed, is that of ' : 'Queue and arguments, unless others are typed, are those of ',
    job,
    at.hides_args ? `. Its arguments are hidden here: type them. They, its ${rest}.` : `. Its ${rest}.`,
  );
}

export const enqueue = {
  title: () => 'Enqueue a job',
  pause: () => null,
  load: async (at, signal) => ({
    like: (at.kept.like ??= at.words.like ? await get(['jobs', at.words.like], {}, signal) : null),
  }),
  view({ like }, at) {
    if (!at.may('operate')) return [heading('Enqueue a job'), h('p', { class: 'empty' }, 'You may not enqueue jobs here.')];
    const { kept } = at;
    const type = kept.typed?.type ?? like?.type ?? '';
    const model = [kept.found, like].find((one) => one?.type === type);
    const { drawn, values, is_faulty } = form_of(at, [
      { name: 'type', label: 'type', value: like?.type ?? '', required: true },
      { name: 'queue', label: 'queue (empty: the usual one)', value: model?.queue ?? '' },
      { name: 'id', label: 'id (empty: a new one)', value: '' },
      { name: 'in_seconds', label: 'start after, in seconds', value: 0, min: '0' },
      {
        name: 'args',
        label: 'arguments, as JSON',
        value: model?.args_text || (model && at.hides_args ? '' : '{}'),
        is_json: true,
      },
    ]);
    const is_off = () => at.is_away || is_faulty || !type || kept.looks !== undefined || kept.is_sent;
    const submit = async (event) => {
      event.preventDefault();
      if (is_off()) return;
      kept.is_sent = true;
      at.redraw();
      const { queue, id, in_seconds, args } = values;
      const body = { type, args_text: args, ...(queue && { queue }), ...(in_seconds > 0 && { in_ms: in_seconds * 1000 }) };
      body.id = id || id_of(at, body);
      await carry_out(
        at,
        () => change('POST', ['jobs'], { body }),
        ({ id, came }) => came_of_it[came]?.(id) ?? `Job ${id} is enqueued.`,
        { to: ({ id }) => path_of(['jobs', id]) },
      );
      kept.is_sent = false;
      at.redraw();
    };
    return [
      heading('Enqueue a job'),
      h(
        'form',
        {
          class: 'filters',
          'aria-label': 'The new job',
          onsubmit: submit,
          onchange: (e) => e.target.name === 'type' && look_for(at, type, model),
        },
        drawn,
        model && about_model(at, model),
        h('div', { class: 'actions' }, h('button', { type: 'submit', disabled: is_off() }, 'Enqueue')),
      ),
    ];
  },
};
