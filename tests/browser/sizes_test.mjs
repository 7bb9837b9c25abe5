// Each page with no job, one, and very many.
import assert from "node:assert/strict";

import { eventually } from "./processes.mjs";
import { sentence } from "./sentences.mjs";

const lists = {
  "/": "Overview",
  "/queues": "Queues",
  "/jobs": "Jobs",
  "/enqueue": "Enqueue a job",
  "/errors": "Errors",
  "/throttlers": "Throttlers",
  "/recurring": "Recurring",
  "/servers": "Servers",
  "/groups": "Groups",
  "/locks": "Locks",
  "/quarantine": "Quarantine",
  "/log": "Log",
};
const number = (n) => n.toLocaleString("en-US");

async function look_at_all(at, pages) {
  for (const [path, heading] of Object.entries(pages)) {
    await at.go(path);
    assert.equal(await at.text("main h1"), heading, path);
    assert.ok((await at.page.title()).endsWith(`${heading} · Sluice`), path);
    assert.equal(await at.scrolls_sideways(), false, path);
  }
}

async function assert_counts(at, dashboard, queue) {
  const { jobs } = await dashboard.get("/overview");
  await at.go("/");
  for (const [state, count] of Object.entries(jobs)) assert.equal(await at.text(`main .tile.state-${state}`), `${number(count)}\n${state}`);
  if (!queue) return;
  const told = await dashboard.get(`/queues/${queue}`);
  await at.go("/queues");
  const [row] = await at.rows("Queues");
  for (const state of Object.keys(jobs)) assert.equal(row[state], number(told[state]), state);
}

sentence("a store without a job shows every page, and says that there is nothing", async ({ visit, world }) => {
  const w = await world();
  await w.sluice(["throttler", "set", "semaphore:x", "limit=1"]);
  await w.sluice(["throttler", "remove", "semaphore:x"]);
  const dashboard = await w.dashboard();
  const at = await visit(dashboard);
  await look_at_all(at, lists);
  await assert_counts(at, dashboard);
  await at.go("/jobs");
  await at.until_says("There is no such job.");
});

sentence("one job is counted, listed and shown", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1);
  const dashboard = await w.dashboard();
  const at = await visit(dashboard);
  await look_at_all(at, { ...lists, "/queues/default": "Queue default", "/jobs/job:1": "job:1" });
  await assert_counts(at, dashboard, "default");
  await at.go("/jobs");
  const [row, ...more] = await at.rows("Jobs");
  assert.deepEqual([row.job, row.type, row.queue, row.state], ["job:1", "noop", "default", "enqueued"]);
  assert.equal(more.length, 0);
  await at.click("job:1");
  await at.ready();
  assert.equal(await at.text("main h1"), "job:1");
});

sentence("10,000 jobs are counted, and listed a page at a time", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(10_000);
  const dashboard = await w.dashboard();
  const at = await visit(dashboard);
  await look_at_all(at, { ...lists, "/queues/default": "Queue default" });
  await assert_counts(at, dashboard, "default");
  await at.go("/jobs?state=enqueued");
  const first = await at.rows("Jobs");
  assert.equal(first[0].job, "job:1");
  await at.click("Next page");
  await at.ready();
  const second = await at.rows("Jobs");
  assert.equal(second[0].job, `job:${first.length + 1}`);
  await at.click("First page");
  await at.ready();
  assert.deepEqual((await at.rows("Jobs")).map((row) => row.job), first.map((row) => row.job));
});

sentence("10,000 failed jobs are one line of errors, which leads to them", async ({ visit, world }) => {
  const w = await world();
  await w.tell({ retry: { attempts: 0 }, queues: { default: { workers: 2, prefetch: 256 } } });
  await w.enqueue_many(10_000, "ill", { type: "tells", args: (n) => ({ fault: `the provider answered 502 after ${n} ms` }) });
  await eventually(async () => (await w.json(["queues"]))[0].failed === 10_000, "10,000 failed jobs", 120_000);
  const dashboard = await w.dashboard();
  const at = await visit(dashboard);
  await at.go("/");
  await at.until((count) => document.querySelector("main .tile.state-failed")?.innerText.startsWith(count), "10,000");
  await look_at_all(at, { ...lists, "/queues/default": "Queue default", "/jobs?state=failed": "Jobs: failed" });
  await assert_counts(at, dashboard, "default");
  await at.go("/errors");
  await at.until_says("10,000 failed jobs were looked at.");
  const [line, ...more] = await at.rows("Errors");
  assert.deepEqual([line.jobs, line.type, more.length], ["10,000", "tells", 0]);
  assert.match(line.error, /the provider answered/);
  await at.click("10,000", "main table");
  await at.ready();
  assert.equal((await at.rows("Jobs")).length, 50);
});
