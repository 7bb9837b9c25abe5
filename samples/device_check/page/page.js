// Shows grants by what the store says of their two jobs (grants.hpp): expiry:ID is the grant, grant:ID what became of
// it. What is stored goes into the page as text only.
'use strict';

const pause = 2000; // the dashboard reads its store five times a second at most, whoever asks
const mostPages = 5; // of 200 jobs each

// All jobs whose ids begin so, by id without that beginning; `more` when there are others behind them.
async function jobsOf(beginning) {
  const jobs = new Map();
  let after = '';
  for (let page = 0; page < mostPages; ++page) {
    const words = new URLSearchParams({id_begins: beginning});
    if (after) words.set('after', after);
    const answer = await fetch('/api/v1/jobs?' + words);
    if (!answer.ok) throw new Error((await answer.text()).trim() || `status ${answer.status}`);
    const got = await answer.json();
    for (const job of got.jobs) jobs.set(job.id.slice(beginning.length), job);
    after = got.next;
    if (!after) return {jobs, more: false};
  }
  return {jobs, more: true};
}

function standingOf(expiry, grant) {
  if (!grant) {
    if (!expiry || expiry.state === 'succeeded') return 'unknown'; // or in a page that was not read
    if (expiry.state === 'failed' || expiry.state === 'deleted') return 'withdrawn';
    return expiry.state === 'scheduled' ? 'open' : 'ending';
  }
  if (grant.args?.outcome === 'expired') return 'expired';
  if (grant.state === 'succeeded') return 'answered';
  return grant.state === 'failed' || grant.state === 'deleted' ? 'failed' : 'checking';
}

function show(expiries, grants) {
  const ids = [...new Set([...expiries.keys(), ...grants.keys()])];
  const born = id => (expiries.get(id) ?? grants.get(id)).created_at;
  ids.sort((a, b) => born(b).localeCompare(born(a)) || a.localeCompare(b));
  const counts = {};
  const rows = ids.map(id => {
    const expiry = expiries.get(id), grant = grants.get(id);
    const is = standingOf(expiry, grant);
    counts[is] = (counts[is] ?? 0) + 1;
    const left = is === 'open' ? ` until ${new Date(expiry.due_at).toLocaleTimeString()}` : '';
    const answer = is === 'answered' ? grant.result_text : is === 'failed' ? grant.reason : '';
    const row = document.createElement('tr');
    for (const text of [id, expiry?.args?.check ?? '', is + left, grant?.args?.device ?? '', answer]) {
      row.insertCell().textContent = text;
    }
    return row;
  });
  document.getElementById('grants').replaceChildren(...rows);
  return Object.entries(counts).map(([is, count]) => `${count} ${is}`).join(', ');
}

async function refresh() {
  const counts = document.getElementById('counts');
  try {
    // The ends first: what was decided by then stands in the second list.
    const expiries = await jobsOf('expiry:');
    const grants = await jobsOf('grant:');
    const told = show(expiries.jobs, grants.jobs);
    counts.textContent = (told || 'No grant was handed out yet') + (expiries.more || grants.more ? ', and more' : '');
    counts.classList.remove('stale');
  } catch (why) {
    counts.textContent = `Not read: ${why.message}. What is below was so before.`;
    counts.classList.add('stale');
  }
  setTimeout(refresh, pause);
}

refresh();
