// Charts as SVG, each with its numbers as a table beside.
import { h } from './dom.js';
import { number } from './format.js';

const width = 600;
const height = 120;

function top_of(values) {
  const most = Math.max(1, ...values);
  const unit = 10 ** Math.floor(Math.log10(most));
  return Math.ceil(most / unit) * unit;
}

// Bars side by side; each is a stack of the series. rows: [{at, label, values: {NAME: n}}]; series: [[NAME, words]].
export function stacked_bars({ title, rows, series, row_name }) {
  const sums = rows.map((row) => series.reduce((sum, [name]) => sum + row.values[name], 0));
  const top = top_of(sums);
  const step = width / Math.max(1, rows.length);
  const bars = rows.map((row, i) => {
    let y = height;
    return series.map(([name]) => {
      const tall = (row.values[name] / top) * height;
      y -= tall;
      return (
        tall > 0 &&
        h(
          'rect',
          {
            class: `series-${name}`,
            x: (i * step + step * 0.1).toFixed(2),
            y: y.toFixed(2),
            width: (step * 0.8).toFixed(2),
            height: tall.toFixed(2),
          },
          h('title', null, `${row.label}: ${number(row.values[name])} ${name}`),
        )
      );
    });
  });
  const marks = [0.5, 1].map((part) =>
    h('line', { class: 'grid', x1: 0, x2: width, y1: height * (1 - part), y2: height * (1 - part) }),
  );
  const total = (name) => rows.reduce((sum, row) => sum + row.values[name], 0);
  const told = series.map(([name, words]) => `${number(total(name))} ${words}`).join(', ');
  return h(
    'figure',
    { class: 'chart' },
    h(
      'figcaption',
      null,
      title,
      h(
        'span',
        { class: 'legend' },
        series.map(([name, words]) => h('span', { class: `key-${name}` }, `${words} ${number(total(name))}`)),
      ),
    ),
    h(
      'div',
      { class: 'plot' },
      h('span', { class: 'axis', 'aria-hidden': 'true' }, number(top)),
      h(
        'svg',
        {
          viewBox: `0 0 ${width} ${height}`,
          preserveAspectRatio: 'none',
          role: 'img',
          'aria-label': `${title}: ${told}`,
        },
        marks,
        bars,
      ),
    ),
    rows.length > 0 &&
      h(
        'div',
        { class: 'ends', 'aria-hidden': 'true' },
        h('span', null, rows[0].label),
        h('span', null, rows.at(-1).label),
      ),
    h(
      'details',
      null,
      h('summary', null, 'Numbers'),
      h(
        'table',
        null,
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            h('th', { scope: 'col' }, row_name),
            series.map(([, words]) => h('th', { scope: 'col', class: 'n' }, words)),
          ),
        ),
        h(
          'tbody',
          null,
          rows
            .slice()
            .reverse()
            .map((row) =>
              h(
                'tr',
                { key: row.at },
                h('td', { 'data-label': row_name }, row.label),
                series.map(([name, words]) => h('td', { class: 'n', 'data-label': words }, number(row.values[name]))),
              ),
            ),
        ),
      ),
    ),
  );
}

// How much of something is used, 0 to 1.
export function bar(part, kind = 'used') {
  const filled = Math.max(0, Math.min(1, part)) * 100;
  return h(
    'svg',
    { class: 'meter', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    h('rect', { class: 'meter-all', x: 0, y: 0, width: 100, height: 8 }),
    h('rect', { class: `meter-${kind}`, x: 0, y: 0, width: filled.toFixed(2), height: 8 }),
  );
}

// Starts of a job one under the other, on one line of time. rows: [{key, from, to, kind, words}], in milliseconds.
export function time_line(rows, from, to) {
  const whole = Math.max(1, to - from);
  const x = (ms) => (Math.max(0, Math.min(1, (ms - from) / whole)) * width).toFixed(1);
  const row_height = 14;
  return h(
    'svg',
    {
      class: 'timeline',
      viewBox: `0 0 ${width} ${rows.length * row_height}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': rows.map((row) => row.words).join('; '),
    },
    rows.map((row, i) =>
      h(
        'rect',
        {
          class: `span-${row.kind}`,
          x: x(row.from),
          y: i * row_height + 2,
          width: Math.max(2, x(row.to) - x(row.from)).toFixed(1),
          height: row_height - 4,
        },
        h('title', null, row.words),
      ),
    ),
  );
}
