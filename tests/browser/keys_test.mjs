// The keyboard: each key that `?` tells of, and what a person does with it alone.
import assert from "node:assert/strict";

import { eventually } from "./processes.mjs";
import { sentence } from "./sentences.mjs";

const chosen = (at) => at.text("main tr[data-chosen] a");
const queue_of = async (w, name) => (await w.json(["queues", name]))[0];

async function agree_to_harm(at) {
  await at.page.keyboard.down("Shift");
  await at.press("Tab");
  await at.page.keyboard.up("Shift");
  await at.press("Enter");
}

sentence("? tells the keys, and Escape leaves them", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1);
  const at = await visit(await w.dashboard());
  await at.go("/");
  await at.press("?");
  await at.until_says("Keys", "dialog[open]");
  // A key that is told is tested here, and the other way round.
  const told = await at.page.evaluate(() => [...document.querySelectorAll("dialog dt")].map((one) => one.innerText));
  assert.deepEqual(told, [
    "j, k or arrow keys", "Enter", "x", "r", "d", "c", "p", "t", "e", "i", "n", "/", ".",
    "g and then o q j f e t r g s l u a", "Escape", "?",
  ]);
  await at.press("Escape");
  await at.until(() => !document.querySelector("dialog"));
});

sentence("j, k and the arrows walk through rows and stay there when the list is asked anew; Enter opens one", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(3);
  const at = await visit(await w.dashboard());
  await at.go("/jobs");
  await at.press("j");
  assert.equal(await chosen(at), "job:1");
  await at.press("j", "ArrowDown");
  assert.equal(await chosen(at), "job:3");
  await at.press("j");
  assert.equal(await chosen(at), "job:3", "the last row is the last");
  await at.press("k");
  assert.equal(await chosen(at), "job:2");
  await w.sluice(["enqueue", "other", "noop", "{}", "--id", "new"]);
  await at.until(() => document.querySelectorAll("main tbody tr").length === 4);
  assert.equal(await chosen(at), "job:2");
  await at.press("ArrowUp", "ArrowUp", "j", "Enter");
  await at.ready();
  assert.equal(await at.path(), "/jobs/job%3A2");
});

sentence("by keys alone a job is deleted and requeued", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(2);
  const at = await visit(await w.dashboard());
  await at.go("/jobs");
  await at.press("j", "Enter");
  await at.ready();
  await at.press("d");
  await at.until_says("Delete this job?", "dialog[open]");
  await at.press("Escape");
  await at.until(() => !document.querySelector("dialog"));
  assert.equal((await w.job("job:1")).state, "enqueued");
  await at.press("d");
  await at.until_says("Delete this job?", "dialog[open]");
  await at.press("Enter"); // what has the focus does no harm
  await at.until(() => !document.querySelector("dialog"));
  assert.equal((await w.job("job:1")).state, "enqueued");
  await at.press("d");
  await at.until_says("Delete this job?", "dialog[open]");
  await agree_to_harm(at);
  await at.until_says("deleted", "main .facts");
  assert.equal((await w.job("job:1")).state, "deleted");
  await at.press("r");
  await at.until_says("enqueued", "main .facts");
  assert.equal((await w.job("job:1")).state, "enqueued");
});

sentence("by keys alone rows are ticked, deleted and requeued, and Escape unticks", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(4);
  const at = await visit(await w.dashboard());
  await at.go("/jobs?queue=default");
  await at.press("j", "x", "j", "x", "j", "x");
  await at.until_says("3 ticked", "main .bulk");
  await at.press("Escape");
  await at.until_says("Nothing ticked", "main .bulk");
  await at.press("j", "x", "j", "j", "x");
  await at.until_says("2 ticked", "main .bulk");
  await at.press("d");
  await at.until_says("Delete 2 jobs?", "dialog[open]");
  await agree_to_harm(at);
  await at.until_says("2 jobs deleted", "#said");
  assert.equal((await queue_of(w, "default")).deleted, 2);
  await at.go("/jobs?state=deleted");
  await at.press("j", "x", "j", "x", "r");
  await at.until_says("Requeue 2 jobs?", "dialog[open]");
  await at.press("Enter");
  await at.until_says("2 jobs requeued", "#said");
  assert.equal((await queue_of(w, "default")).deleted, 0);
});

sentence("p pauses and resumes the queue or schedule of the row, and t runs the schedule", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1, "a", { queue: "mail" });
  await w.enqueue_many(1, "b", { queue: "orders" });
  await w.sluice(["recurring", "set", "nightly", "job=noop", "cron=0 3 * * *"]);
  const schedule = async () => (await w.json(["recurring", "show", "nightly"]))[0];
  const at = await visit(await w.dashboard());
  await at.go("/queues");
  await at.press("j", "j", "p");
  await at.control("Resume", 'main tr[data-row="orders"]');
  assert.deepEqual([(await queue_of(w, "mail")).paused, (await queue_of(w, "orders")).paused], [false, true]);
  await at.press("p");
  await at.control("Pause", 'main tr[data-row="orders"]');
  assert.equal((await queue_of(w, "orders")).paused, false);
  await at.press("Enter");
  await at.ready();
  await at.press("p");
  await at.until(() => document.querySelector("main .banner.warn")?.innerText.includes("It is paused"));
  assert.equal((await queue_of(w, "orders")).paused, true);
  await at.press("g", "r");
  await at.ready();
  await at.press("j", "t");
  await at.until_says("is enqueued.", "#said");
  await eventually(async () => (await schedule()).last_job !== "");
  await at.press("p");
  await at.control("Resume", 'main tr[data-row="nightly"]');
  assert.equal((await schedule()).paused, true);
});

sentence("e goes to the limit of the throttler shown, and Enter sets what was typed", async ({ visit, world }) => {
  const w = await world();
  await w.sluice(["throttler", "set", "semaphore:gate", "limit=4"]);
  const at = await visit(await w.dashboard());
  await at.go("/throttlers/semaphore/gate");
  await at.press("e");
  await at.page.keyboard.down("Control");
  await at.press("a");
  await at.page.keyboard.up("Control");
  await at.page.keyboard.type("7");
  await at.press("Enter");
  await at.until_says("4 becomes 7", "dialog[open]");
  await at.press("Enter");
  await at.until_says("The limit is changed.", "#said");
  assert.equal((await w.json(["throttler", "show", "semaphore:gate"]))[0].limit, 7);
});

sentence("e goes to when the schedule shown runs, and i to a new job, like the one shown", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1);
  await w.sluice(["recurring", "set", "nightly", "job=noop", "cron=0 3 * * *"]);
  const at = await visit(await w.dashboard());
  await at.go("/recurring/nightly");
  await at.press("e");
  await at.page.keyboard.type("30 4 * * *");
  await at.press("Enter");
  await at.until_says("0 3 * * * becomes 30 4 * * *", "dialog[open]");
  await at.press("Enter");
  await at.until_says("The schedule is changed.", "#said");
  assert.equal((await w.json(["recurring", "show", "nightly"]))[0].definition.cron, "30 4 * * *");
  await at.press("Escape", "g", "j");
  await at.ready();
  await at.press("i");
  await at.ready();
  assert.equal(await at.path(), "/enqueue");
  await at.go("/jobs/job:1");
  await at.press("i");
  await at.ready();
  assert.equal(await at.path(), "/enqueue?like=job%3A1");
});

sentence("c cancels the job shown when somebody agrees", async ({ visit, world }) => {
  const w = await world();
  await w.tell();
  await w.sluice(["enqueue", "default", "tells", '{"until_stopped": true}', "--id", "long"]);
  await w.reaches("long", "processing");
  const at = await visit(await w.dashboard());
  await at.go("/jobs/long");
  await at.press("c");
  await at.until_says("Cancel this job?", "dialog[open]");
  await at.press("Enter");
  await at.until_says("Its handler is asked to stop.", "#said");
  await w.reaches("long", "deleted");
});

sentence("/ finds a job by its id, n shows the next page, and what is typed is no command", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(60, "jrdn");
  const at = await visit(await w.dashboard());
  await at.go("/jobs?state=enqueued");
  await at.press("n");
  await at.ready();
  assert.equal((await at.rows("Jobs")).length, 10);
  await at.press("/");
  await at.page.keyboard.type("jrdn:60");
  await at.press("Enter");
  await at.until(() => document.querySelector("main h1")?.innerText === "jrdn:60");
  assert.equal((await w.job("jrdn:60")).state, "enqueued");
});

sentence(". stops what is new and goes on with it", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1);
  const dashboard = await w.dashboard();
  const at = await visit(dashboard);
  await at.go("/jobs");
  await at.press(".");
  await at.control("Go on");
  const asked = at.asked.length;
  await w.sluice(["enqueue", "default", "noop", "{}", "--id", "new"]);
  const other = await visit(dashboard);
  await other.go("/jobs");
  const rounds = other.asked.length;
  await eventually(() => other.asked.length > rounds + 1, "two rounds of another tab");
  assert.equal(at.asked.length, asked, "nothing is asked meanwhile");
  assert.equal((await at.rows("Jobs")).length, 1);
  await at.press(".");
  await at.until(() => document.querySelectorAll("main tbody tr").length === 2);
});

sentence("g and a letter go to each page", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1);
  const at = await visit(await w.dashboard());
  await at.go("/");
  const places = { q: "/queues", j: "/jobs", f: "/jobs?state=failed", e: "/errors", t: "/throttlers", r: "/recurring", g: "/groups", s: "/servers", l: "/locks", u: "/quarantine", a: "/log", o: "/" };
  for (const [letter, path] of Object.entries(places)) {
    await at.press("g", letter);
    assert.equal(await at.path(), path);
    await at.ready();
  }
});
