// Many jobs at once.
import assert from "node:assert/strict";

import { sentence } from "./sentences.mjs";

const count_of = async (w, state, queue = "default") => (await w.json(["queues", queue]))[0][state];
const nothing_is_ticked = () => !document.querySelector("main tbody input[type=checkbox]:checked");
const ticked = (at) => at.page.evaluate(() => document.querySelectorAll("main tbody input[type=checkbox]:checked").length);

sentence("ticked rows are requeued, then nothing is ticked and the list goes on", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(5);
  await w.sluice(["delete", "job:1", "job:2", "job:3"]);
  const at = await visit(await w.dashboard());
  await at.go("/jobs?state=deleted");
  await at.click("Tick job:1");
  await at.click("Tick job:3");
  await at.until_says("2 ticked", "main .bulk");
  await at.click("Requeue ticked");
  await at.until_says("Requeue 2 jobs?", "dialog[open]");
  await at.click("Requeue 2 jobs");
  await at.until_says("2 jobs requeued", "#said");
  assert.equal(await count_of(w, "deleted"), 1);
  assert.equal((await w.job("job:2")).state, "deleted");
  await at.until(() => document.querySelectorAll("main tbody tr").length === 1);
  await at.until(nothing_is_ticked);
  await at.until_says("Nothing ticked", "main .bulk");
  await w.sluice(["delete", "job:5"]); // of which the page is not told
  await at.until(() => document.querySelectorAll("main tbody tr").length === 2);
});

sentence("ticked rows are deleted when somebody agrees, and can be requeued at once", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(60);
  const at = await visit(await w.dashboard());
  await at.go("/jobs?state=enqueued");
  await at.click("all of this page");
  await at.until_says("50 ticked", "main .bulk");
  await at.click("Delete ticked");
  await at.click("Cancel");
  assert.equal(await count_of(w, "deleted"), 0);
  assert.equal(await ticked(at), 50);
  await at.click("Delete ticked");
  await at.click("Delete 50 jobs");
  await at.until_says("50 jobs deleted", "#said");
  assert.equal(await count_of(w, "deleted"), 50);
  await at.click("Requeue these");
  await at.click("Requeue 50 jobs");
  await at.until_says("50 jobs requeued", "#said");
  assert.equal(await count_of(w, "enqueued"), 60);
  await at.until(nothing_is_ticked);
});

sentence("all that a filter finds is counted first, and deleted without the rest", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(3000, "mail", { queue: "mail", args: (n) => ({ to: n % 2 ? "odd" : "even" }) });
  const at = await visit(await w.dashboard());
  await at.go("/jobs?state=enqueued&queue=mail&match=to%3Dodd");
  await at.click("Delete all that are found");
  await at.until_says("Delete 1,500 jobs?", "dialog[open]");
  assert.equal(await count_of(w, "deleted", "mail"), 0);
  await at.click("Delete 1,500 jobs");
  await at.until_says("1,500 jobs deleted", "#said");
  assert.equal(await count_of(w, "deleted", "mail"), 1500);
  assert.equal(await count_of(w, "enqueued", "mail"), 1500);
  await at.until_says("There is no such job.");
});

sentence("what goes on with many jobs shows how far it is, and ends when it is stopped", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(20_000);
  const at = await visit(await w.dashboard());
  await at.go("/jobs?state=enqueued");
  await at.click("Delete all that are found");
  await at.click("Delete 20,000 jobs");
  await at.until(() => document.querySelector("dialog[open] progress")?.value > 0);
  await at.click("Stop");
  await at.until_says("Stopped.", "#said");
  const deleted = await count_of(w, "deleted");
  assert.ok(deleted > 0 && deleted < 20_000, `${deleted} were deleted`);
  assert.equal(await count_of(w, "enqueued"), 20_000 - deleted);
  await at.until_says(`${deleted.toLocaleString("en-US")} jobs deleted`, "#said");
});

sentence("of many jobs those that could not be changed are named, with why", async ({ visit, world }) => {
  const w = await world();
  const server = await w.tell();
  await w.enqueue_many(2, "job", { args: () => ({ until_told: true }) });
  await w.enqueue_many(2, "rest", { queue: "mail" });
  await w.reaches("job:1", "processing");
  await w.sluice(["delete", "rest:1"]);
  const at = await visit(await w.dashboard());
  await at.go("/jobs");
  for (const id of ["job:1", "rest:1"]) await at.click(`Tick ${id}`);
  await at.click("Requeue ticked");
  await at.click("Requeue 2 jobs");
  await at.click("What failed (1)");
  await at.until_says("job:1", "dialog[open] details");
  assert.match(await at.text("dialog[open]"), /1 of 2|2 of 2/);
  await at.click("Close");
  await at.until_says("1 failed", "#said");
  await at.until(nothing_is_ticked); // though all rows are there still
  assert.equal((await w.job("rest:1")).state, "enqueued");
  server.let_go();
});
