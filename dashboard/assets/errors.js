// Failed jobs grouped by type and text, over all that are kept.
import { get } from './api.js';
import { h } from './dom.js';
import { number } from './format.js';
import { filters, heading, instant, job_link, link, table } from './parts.js';

const longest_look = 20000;
const max_rows = 200;

// The words of a group's text by which its jobs are found: the longest piece without a number, which is written as #.
function words_of(text) {
  return text
    .split('#')
    .reduce((longest, piece) => (piece.trim().length > longest.length ? piece.trim() : longest), '');
}

function merge(groups, page) {
  for (const one of page) {
    const key = JSON.stringify([one.type, one.error]);
    const known = groups.get(key);
    if (!known) groups.set(key, { ...one, key });
    else {
      known.count += one.count;
      if (one.first_at < known.first_at) known.first_at = one.first_at;
      if (one.last_at > known.last_at) Object.assign(known, { last_at: one.last_at, last_id: one.last_id });
    }
  }
}

export const errors = {
  title: () => 'Errors',
  pause: () => null,
  async load(at, signal) {
    const { queue, type, since, until } = at.words;
    const found = at.kept.goes_on ? at.data : { groups: new Map(), records_read: 0, after: '' };
    at.kept.goes_on = false;
    const end = performance.now() + longest_look;
    do {
      const page = await get(['errors'], { queue, type, since, until, after: found.after }, signal);
      merge(found.groups, page.errors);
      found.records_read += page.records_read;
      found.after = page.next;
      found.is_under_way = found.after !== '' && performance.now() < end;
      at.show({ ...found });
    } while (found.is_under_way);
    return found;
  },
  view({ groups, records_read, after, is_under_way }, at) {
    const all = [...groups.values()].sort((a, b) => b.count - a.count);
    const rows = all.slice(0, max_rows);
    const { queue, since, until } = at.words;
    const words_for = (g) => ({ state: 'failed', queue, since, until, type: g.type, error: words_of(g.error) });
    const go_on = () => {
      at.kept.goes_on = true;
      at.reload();
    };
    return [
      heading('Errors', h('button', { type: 'button', onclick: () => at.reload() }, 'Look again')),
      filters(at, [
        ['queue', 'queue'],
        ['type', 'type'],
        ['since', 'since, as 2h or an instant'],
        ['until', 'until'],
      ]),
      h(
        'p',
        { key: 'looked', class: 'quiet', role: 'status' },
        `${number(records_read)} failed jobs were looked at`,
        is_under_way ? ', and more are.' : after ? '; there are more. ' : '.',
        !is_under_way && after && h('button', { type: 'button', onclick: go_on }, 'Look on'),
        all.length > rows.length &&
          ` The ${number(rows.length)} kinds with the most jobs are shown, of ${number(all.length)}.`,
      ),
      table({
        label: 'Errors',
        rows,
        row_key: (g) => g.key,
        empty: 'No failed job is kept.',
        row_href: (g) => link(['jobs'], words_for(g)).getAttribute('href'),
        columns: [
          ['jobs', (g) => link(['jobs'], words_for(g), number(g.count)), { n: true }],
          ['type', (g) => g.type],
          ['error', (g) => g.error || h('span', { class: 'quiet' }, 'no text')],
          ['first', (g) => instant(g.first_at)],
          ['last', (g) => instant(g.last_at)],
          ['the last one', (g) => job_link(g.last_id)],
        ],
      }),
    ];
  },
};
