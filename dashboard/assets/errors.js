// Failed jobs grouped by type and text, over all that are kept.
import { get } from './api.js';
import { h } from './dom.js';
import { number } from './format.js';
import { filters, heading, instant, job_link, link, table } from './parts.js';

const longest_look = 20000;

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
    const groups = new Map();
    let after = at.words.after ?? '';
    let looked_at = 0;
    const until = performance.now() + longest_look;
    do {
      const page = await get(
        ['errors'],
        { queue: at.words.queue, type: at.words.type, since: at.words.since, until: at.words.until, after },
        signal,
      );
      merge(groups, page.errors);
      looked_at += page.looked_at;
      after = page.next;
      at.show({ groups, looked_at, after, is_under_way: after !== '' });
    } while (after && performance.now() < until);
    return { groups, looked_at, after, is_under_way: false };
  },
  view({ groups, looked_at, after, is_under_way }, at) {
    const rows = [...groups.values()].sort((a, b) => b.count - a.count);
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
        `${number(looked_at)} failed jobs were looked at`,
        is_under_way ? ', and more are.' : after ? '; there are more.' : '.',
      ),
      table({
        label: 'Errors',
        rows,
        row_key: (g) => g.key,
        empty: 'No failed job is kept.',
        row_href: (g) =>
          link(['jobs'], {
            state: 'failed',
            type: g.type,
            queue: at.words.queue,
            error: words_of(g.error),
          }).getAttribute('href'),
        columns: [
          [
            'jobs',
            (g) =>
              link(
                ['jobs'],
                { state: 'failed', type: g.type, queue: at.words.queue, error: words_of(g.error) },
                number(g.count),
              ),
            { n: true },
          ],
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
