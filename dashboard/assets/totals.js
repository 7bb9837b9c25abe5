// What came and how it ended, by time: the charts of a queue and of all.
import { h } from './dom.js';
import { get, now, path_of } from './api.js';
import { stacked_bars } from './charts.js';

const ranges = {
  hour: { words: 'last hour', by: 'minute', step: 60000, count: 60 },
  day: { words: 'last 24 hours', by: 'hour', step: 3600000, count: 24 },
  week: { words: 'last 7 days', by: 'hour', step: 3600000, count: 168 },
};
const range_of = (at) => ranges[at.words.range] ?? ranges.hour;

export async function load_totals(at, signal, queue) {
  const range = range_of(at);
  const since = new Date(Math.floor(now() / range.step - range.count + 1) * range.step).toISOString();
  const { totals } = await get(['totals'], { by: range.by, since, queue }, signal);
  return { range, since, ever: totals[0], rows: totals.slice(1) };
}

function rows_of({ range, since, rows }) {
  const by_start = new Map(rows.map((row) => [Date.parse(row.begins_at), row]));
  const from = Date.parse(since);
  return Array.from({ length: range.count }, (_, i) => {
    const begins = from + i * range.step;
    const row = by_start.get(begins);
    const text = new Date(begins).toISOString();
    return {
      at: begins,
      label: range.by === 'minute' ? text.slice(11, 16) : text.slice(5, 16).replace('T', ' '),
      values: {
        enqueued: row?.enqueued ?? 0,
        succeeded: row?.succeeded ?? 0,
        failed: row?.failed ?? 0,
        deleted: row?.deleted ?? 0,
        retried: row?.retried ?? 0,
        lost: row?.lost ?? 0,
      },
    };
  });
}

export function totals_charts(at, totals) {
  const rows = rows_of(totals);
  const row_name = totals.range.by === 'minute' ? 'Minute (UTC)' : 'Hour (UTC)';
  return [
    h(
      'nav',
      { class: 'tabs', 'aria-label': 'Time shown' },
      Object.entries(ranges).map(([name, range]) =>
        h(
          'a',
          {
            href: path_of(at.segments, { ...at.words, range: name === 'hour' ? '' : name }),
            'aria-current': range === totals.range ? 'true' : null,
          },
          range.words,
        ),
      ),
    ),
    h(
      'div',
      { class: 'charts' },
      stacked_bars({
        title: 'Ended',
        rows,
        row_name,
        series: [
          ['succeeded', 'succeeded'],
          ['failed', 'failed'],
          ['deleted', 'deleted'],
        ],
      }),
      stacked_bars({ title: 'Came', rows, row_name, series: [['enqueued', 'enqueued']] }),
      stacked_bars({
        title: 'Tried again',
        rows,
        row_name,
        series: [
          ['retried', 'retried'],
          ['lost', 'lost with a server'],
        ],
      }),
    ),
  ];
}
