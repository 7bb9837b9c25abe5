// Groups of jobs, and one of them.
import { h } from './dom.js';
import { change, get, path_of } from './api.js';
import { number } from './format.js';
import { button, carry_out, confirm, facts, heading, instant, link, pager, table } from './parts.js';

const group_link = (name) => link(['groups', name], {}, name);

// What it waits for, or how it ended.
function stand_of(group) {
  if (group.ended_as) return group.cancelled ? 'cancelled' : group.ended_as;
  if (group.cancelled) return 'is being cancelled';
  return group.sealed ? 'runs' : 'takes jobs';
}

const counts = ['open', 'succeeded', 'failed', 'deleted'];

export const groups = {
  title: () => 'Groups',
  load: (at, signal) => get(['groups'], { limit: 100, after: at.words.after }, signal),
  view: (page, at) => [
    heading('Groups'),
    table({
      label: 'Groups',
      rows: page.groups,
      row_key: (g) => g.group,
      row_href: (g) => path_of(['groups', g.group]),
      empty: 'There is no group.',
      columns: [
        ['group', (g) => group_link(g.group)],
        ['stands', stand_of],
        ...counts.map((name) => [name, (g) => number(g[name]), { n: true }]),
        ['made', (g) => instant(g.created_at)],
      ],
    }),
    pager(at, page.next),
  ],
};

function buttons(at, told) {
  const name = told.group;
  const act = (what, done) => carry_out(at, () => change('POST', ['groups', name, what], { body: {} }), done);
  const seal = async () => {
    const text = [name, 'It takes no more jobs then, and ends when all that it has have ended.'];
    if (await confirm({ title: 'Seal this group?', text, yes: 'Seal' })) await act('seal', 'The group is sealed.');
  };
  const cancel = async () => {
    const text = [
      name,
      `Jobs of it that do not run are deleted; the handlers of those that run are asked to stop. ${number(told.open)} have not ended.`,
    ];
    if (await confirm({ title: 'Cancel this group?', text, yes: 'Cancel the group', no: 'Let it run', danger: true }))
      await act('cancel', 'The group is cancelled.');
  };
  const requeue = () =>
    act('requeue-failed', ({ requeued }) => `${number(requeued)} ${requeued === 1 ? 'job' : 'jobs'} requeued.`);
  return [
    told.failed > 0 && !told.cancelled && button(at, 'operate', 'Requeue failed', requeue, { key: 'r' }),
    !told.sealed && !told.cancelled && button(at, 'operate', 'Seal', seal),
    !told.cancelled && !told.ended_as && button(at, 'operate', 'Cancel', cancel, { danger: true, key: 'c' }),
  ];
}

export const group = {
  title: (at) => `Group ${at.names[0]}`,
  load: (at, signal) => get(['groups', at.names[0]], {}, signal),
  view: (told, at) => [
    heading(`Group ${told.group}`, buttons(at, told)),
    !told.sealed &&
      !told.cancelled &&
      h('p', { key: 'open', class: 'banner warn' }, 'It takes jobs until it is sealed, and is cancelled ', instant(told.seal_by), ' unless it was.'),
    facts([
      ['stands', stand_of(told)],
      ...counts.map((name) => [name, number(told[name])]),
      told.in && ['in', group_link(told.in)],
      ['made', instant(told.created_at)],
      told.finished_at && ['ended', instant(told.finished_at)],
    ]),
  ],
};
