// What each button does, asked of the store by the command line.
import assert from "node:assert/strict";

import { eventually } from "./processes.mjs";
import { sentence } from "./sentences.mjs";

const state_of = async (w, id) => (await w.job(id)).state;
const queue_of = async (w, name) => (await w.json(["queues", name]))[0];
const schedule_of = async (w, name) => (await w.json(["recurring", "show", name]))[0];
const throttler_of = async (w, name) => (await w.json(["throttler", "show", name]))[0];

sentence("a failed job is requeued by its page", async ({ visit, world }) => {
  const w = await world();
  const server = await w.tell();
  await w.sluice(["enqueue", "default", "tells", '{"fault": "no"}', "--retries", "0", "--id", "ill"]);
  await w.reaches("ill", "failed");
  await server.end();
  const at = await visit(await w.dashboard());
  await at.go("/jobs/ill");
  await at.click("Requeue", "main");
  await at.until_says("It waits in its queue again.", "#said");
  const job = await w.job("ill");
  assert.equal(job.state, "enqueued");
  assert.match(job.history.at(-1).cause + job.reason, /requeued/);
  await at.until_says("enqueued", "main .facts");
});

sentence("a job is deleted only when somebody agrees, and can be requeued at once", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1);
  const at = await visit(await w.dashboard());
  await at.go("/jobs/job:1");
  await at.click("Delete", "main");
  await at.click("Cancel");
  assert.equal(await state_of(w, "job:1"), "enqueued");
  await at.click("Delete", "main");
  await at.until_says("job:1", "dialog[open]");
  await at.click("Delete");
  await at.until_says("The job is deleted.", "#said");
  assert.equal(await state_of(w, "job:1"), "deleted");
  await at.until_says("deleted", "main .facts");
  await at.click("Requeue it");
  await at.until_says("It waits in its queue again.", "#said");
  assert.equal(await state_of(w, "job:1"), "enqueued");
});

sentence("a running job is cancelled by its first button, and deleted only by somebody who was told", async ({ visit, world }) => {
  const w = await world();
  await w.tell();
  for (const id of ["one", "two", "three"])
    await w.sluice(["enqueue", "default", "tells", '{"until_stopped": true}', "--id", id]);
  for (const id of ["one", "two", "three"]) await w.reaches(id, "processing");
  const at = await visit(await w.dashboard());
  await at.go("/jobs/one");
  await at.click("Cancel", "main");
  await at.click("Let it run");
  assert.equal(await state_of(w, "one"), "processing");
  await at.click("Cancel", "main");
  await at.until_says("keeps its permits until it has ended", "dialog[open]");
  await at.click("Ask it to stop");
  await at.until_says("Its handler is asked to stop.", "#said");
  assert.equal((await w.reaches("one", "deleted")).history.at(-1).cause, "cancelled");
  await at.go("/jobs/two");
  await at.click("Delete", "main");
  await at.until_says("its permits are free at once", "dialog[open]");
  await at.click("Delete");
  await at.until_says("The job is deleted.", "#said");
  await at.go("/jobs?state=processing");
  await at.click("Cancel all that are found");
  await at.until_says("Cancel 1 job?", "dialog[open]");
  await at.click("Cancel 1 job");
  await at.until_says("1 job cancelled", "#said");
  await w.reaches("three", "deleted");
});

sentence("a group is looked at, requeued, sealed and cancelled by its page", async ({ visit, world }) => {
  const w = await world();
  const server = await w.tell();
  await w.sluice(["group", "create", "batch"]);
  await w.sluice(["enqueue", "default", "tells", '{"fault": "no"}', "--retries", "0", "--id", "ill", "--group", "batch"]);
  await w.sluice(["enqueue", "default", "noop", "{}", "--in", "1h", "--id", "later", "--group", "batch"]);
  await w.reaches("ill", "failed");
  await server.end();
  const at = await visit(await w.dashboard());
  const group = async () => (await w.json(["group", "show", "batch"]))[0];
  await at.go("/jobs/later");
  await at.click("batch", "main");
  await at.ready();
  assert.equal(await at.path(), "/groups/batch");
  await at.click("Requeue failed", "main");
  await at.until_says("1 job requeued.", "#said");
  assert.equal(await state_of(w, "ill"), "enqueued");
  await at.until(() => document.querySelectorAll("main .heading button").length === 2); // which have moved by then
  await at.click("Seal", "main");
  await at.click("Seal", "dialog");
  await at.until_says("The group is sealed.", "#said");
  assert.equal((await group()).sealed, true);
  await at.click("Cancel", "main");
  await at.until_says("2 have not ended", "dialog[open]");
  await at.click("Cancel the group");
  await at.until_says("The group is cancelled.", "#said");
  assert.equal((await group()).cancelled, true);
  await at.go("/groups");
  const [row] = await at.rows("Groups");
  assert.equal(row.group, "batch");
});

sentence("a scheduled job runs now when somebody wants it", async ({ visit, world }) => {
  const w = await world();
  await w.sluice(["enqueue", "default", "noop", "{}", "--id", "later", "--in", "1h"]);
  const at = await visit(await w.dashboard());
  await at.go("/jobs/later");
  await at.click("Run now", "main");
  await at.until_says("enqueued", "main .facts");
  assert.equal(await state_of(w, "later"), "enqueued");
});

sentence("a queue is paused and resumed by its page and by the list", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1, "a", { queue: "mail" });
  await w.enqueue_many(1, "b", { queue: "orders" });
  const at = await visit(await w.dashboard());
  for (const path of ["/queues/mail", "/queues"]) {
    await at.go(path);
    const within = path === "/queues" ? 'main tr[data-row="mail"]' : "main";
    await at.click("Pause", within);
    await at.control("Resume", within);
    assert.equal((await queue_of(w, "mail")).paused, true);
    assert.equal((await queue_of(w, "orders")).paused, false);
    await at.click("Resume", within);
    await at.control("Pause", within);
    assert.equal((await queue_of(w, "mail")).paused, false);
  }
});

sentence("a schedule is run once, paused and resumed by its page and by the list", async ({ visit, world }) => {
  const w = await world();
  await w.sluice(["recurring", "set", "nightly", "job=noop", "cron=0 3 * * *"]);
  await w.sluice(["recurring", "set", "weekly", "job=noop", "cron=0 3 * * MON"]);
  await w.sluice(["recurring", "trigger", "nightly", "--id", "by-hand"]);
  const at = await visit(await w.dashboard());
  await at.go("/recurring/nightly");
  assert.deepEqual((await at.rows("Last runs")).map((row) => row.job), ["by-hand"]);
  for (const path of ["/recurring/nightly", "/recurring"]) {
    await at.go(path);
    const within = path === "/recurring" ? 'main tr[data-row="nightly"]' : "main";
    const before = (await schedule_of(w, "nightly")).last_job;
    await at.click("Run once now", within);
    await at.until_says("is enqueued.", "#said");
    const { last_job } = await eventually(async () => {
      const told = await schedule_of(w, "nightly");
      return told.last_job !== before && told;
    });
    assert.equal(await state_of(w, last_job), "enqueued");
    await at.click("Pause", within);
    await at.control("Resume", within);
    assert.equal((await schedule_of(w, "nightly")).paused, true);
    assert.equal((await schedule_of(w, "weekly")).paused, false);
    await at.click("Resume", within);
    await at.control("Pause", within);
    assert.equal((await schedule_of(w, "nightly")).paused, false);
  }
});

// What is typed takes the place of what stood there.
async function retype(at, label, text) {
  await (await at.control(label, "main")).focus();
  await at.page.keyboard.down("Control");
  await at.press("a");
  await at.page.keyboard.up("Control");
  await at.page.keyboard.type(text);
}

sentence("a schedule is changed by its page, and what was not typed stays as it was to the last digit", async ({ visit, world }) => {
  const w = await world();
  await w.sluice(["recurring", "set", "nightly", "job=noop", "cron=0 3 * * *", 'args={"order": 12345678901234567890.10}', "zone=Europe/London"]);
  const at = await visit(await w.dashboard());
  await at.go("/recurring/nightly");
  await retype(at, "cron", "0 27 * * *");
  await at.click("Change", "main");
  await at.until_says("0 3 * * * becomes 0 27 * * *", "dialog[open]");
  at.expect(/status of 400/);
  await at.click("Change it");
  await at.until_says("hour", "#said [role=alert]");
  assert.equal((await schedule_of(w, "nightly")).definition.cron, "0 3 * * *");
  await retype(at, "cron", "15 4 * * *");
  await (await at.control("when the one before still runs", "main")).select("skip");
  await at.click("Change", "main");
  await at.until_says("allow becomes skip", "dialog[open]");
  await at.click("Change it");
  await at.until_says("The schedule is changed.", "#said");
  const { cron, zone, overlap, args_text } = (await schedule_of(w, "nightly")).definition;
  assert.deepEqual([cron, zone, overlap, args_text], ["15 4 * * *", "Europe/London", "skip", '{"order":12345678901234567890.10}']);
});

sentence("what is typed into a schedule is kept while others change it, and is sent only over what was seen", async ({ visit, world }) => {
  const w = await world();
  const secret = '{"password":"s1","tenant":"north"}';
  const words = ["job=noop", `args=${secret}`, 'headers={"tenant":"east"}', "catch_up_max=7"];
  await w.sluice(["recurring", "set", "often", "every=2h", ...words]);
  const at = await visit(await w.dashboard());
  await at.go("/recurring/often");
  assert.doesNotMatch(await at.text("main"), /s1/);
  await at.click("Show what is masked, and change it", "main");
  await retype(at, "arguments, as JSON", '{"password":"s2","tenant":"north"}');
  await w.sluice(["recurring", "set", "often", "every=3h", ...words]);
  await at.until_says("every 3h", "main .facts");
  await at.click("Change", "main");
  await at.until_says("a value that is masked changes", "dialog[open]");
  at.expect(/status of 412/);
  await at.click("Change it");
  await at.until_says("it has changed since it was looked at", "#said");
  assert.equal((await schedule_of(w, "often")).definition.args_text, secret);
  await at.click("Change", "main");
  await at.click("Change it");
  await at.until_says("The schedule is changed.", "#said");
  const { every, headers, catch_up_max, args_text } = (await schedule_of(w, "often")).definition;
  assert.deepEqual([every, headers, catch_up_max, args_text], ["3h", { tenant: "east" }, 7, '{"password":"s2","tenant":"north"}']);
  await at.until(() => document.querySelector("main form button[type=submit]").disabled);
});

sentence("a job is enqueued by hand, with the queue and the arguments of one of its type, or of the job that was shown", async ({ visit, world }) => {
  const w = await world();
  await w.sluice(["enqueue", "mail", "noop", '{"order": 12345678901234567890.10}', "--id", "first"]);
  const at = await visit(await w.dashboard());
  await at.go("/jobs");
  await at.click("Enqueue a job", "main");
  await at.ready();
  await retype(at, "type", "noop");
  await at.press("Enter"); // which looks for one of its type, and sends nothing
  await at.until_says("unless others are typed, are those of first.", "main form");
  await retype(at, "id (empty: a new one)", "second");
  await at.click("Enqueue", "main form");
  await at.until_says("Job second is enqueued.", "#said");
  await at.until(() => document.querySelector("main h1")?.innerText === "second");
  const second = await w.job("second");
  assert.deepEqual([second.queue, second.type, second.args_text], ["mail", "noop", '{"order": 12345678901234567890.10}']);
  await at.click("Enqueue another like it", "main");
  await at.ready();
  await retype(at, "arguments, as JSON", '{"order": ');
  await at.until_says("The arguments are not valid JSON", "main form");
  assert.equal(await at.page.evaluate(() => document.querySelector("main form button").disabled), true);
  await retype(at, "arguments, as JSON", '{"order": 8}');
  await retype(at, "id (empty: a new one)", "second");
  at.expect(/status of 409/);
  await at.click("Enqueue", "main form");
  await at.until_says("second", "#said [role=alert]"); // another job has this id
  await retype(at, "id (empty: a new one)", "third");
  await retype(at, "start after, in seconds", "3600");
  await at.click("Enqueue", "main form");
  await at.until_says("Job third is enqueued.", "#said");
  const third = await w.job("third");
  assert.deepEqual([third.state, third.queue, third.args_text], ["scheduled", "mail", '{"order": 8}']);
});

sentence("what was put aside is enqueued by its page once it can be read, or dropped when somebody agrees", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(2);
  await w.harm("job:1", "history");
  await w.harm("job:2");
  const server = await w.tell(); // which finds them
  await eventually(async () => (await w.json(["quarantine", "list"])).length === 2);
  await server.end();
  const at = await visit(await w.dashboard());
  await at.go("/quarantine");
  await at.click("job:2", "main");
  await at.ready();
  assert.deepEqual(await at.buttons("main"), ["Drop"]);
  await at.click("Drop", "main");
  await at.click("Drop", "dialog");
  await at.until_says("What was kept of the job is removed.", "#said");
  await at.go("/quarantine/job:1");
  await at.until_says("It was put aside: its history has lost its form.", "main .banner");
  await at.click("Enqueue", "main");
  await at.until_says("It starts at once", "dialog[open]");
  await at.click("Enqueue", "dialog");
  await at.until_says("It waits in its queue again.", "#said");
  assert.equal(await state_of(w, "job:1"), "enqueued");
  assert.deepEqual(await w.json(["quarantine", "list"]), []);
});

sentence("a throttler's limit is changed after its effect was told", async ({ visit, world }) => {
  const w = await world();
  const gate = { throttlers: { gate: { kind: "semaphore", limit: 1 } }, jobs: { noop: { throttle: ["semaphore:gate"] } } };
  const server = await w.tell(gate);
  await w.enqueue_many(3, "job", { args: () => ({ until_told: true }) });
  await eventually(async () => (await throttler_of(w, "semaphore:gate")).waiting === 2);
  const at = await visit(await w.dashboard());
  await at.go("/throttlers/semaphore/gate");
  const limit = await at.control("limit", "main");
  await limit.click({ count: 3 });
  await at.page.keyboard.type("2");
  await at.until_says("1 of the 2 who wait are let in at once.", "main .effect");
  await at.click("Change", "main");
  await at.until_says("1 becomes 2", "dialog[open]");
  await at.until_says("1 of the 2 who wait are let in at once.", "dialog[open]");
  assert.equal((await throttler_of(w, "semaphore:gate")).limit, 1);
  await at.click("Change it");
  await at.until_says("The limit is changed.", "#said");
  await eventually(async () => {
    const { limit: now, held, waiting } = await throttler_of(w, "semaphore:gate");
    return now === 2 && held === 2 && waiting === 1;
  });
  server.let_go();
});

sentence("a limit that somebody else has changed meanwhile is not overwritten", async ({ visit, world }) => {
  const w = await world();
  await w.sluice(["throttler", "set", "semaphore:gate", "limit=4"]);
  const at = await visit(await w.dashboard());
  await at.go("/throttlers/semaphore/gate");
  const limit = await at.control("limit", "main");
  await limit.click({ count: 3 });
  await at.page.keyboard.type("9");
  await at.click("Change", "main");
  await at.until_says("4 becomes 9", "dialog[open]");
  await w.sluice(["throttler", "set", "semaphore:gate", "limit=5"]);
  at.expect(/status of 412/);
  await at.click("Change it");
  await at.until(() => document.querySelector("#said [role=alert]"));
  assert.equal((await throttler_of(w, "semaphore:gate")).limit, 5);
});

sentence("throttlers and schedules are removed when somebody agrees", async ({ visit, world }) => {
  const w = await world();
  await w.sluice(["throttler", "set", "semaphore:gate", "limit=4"]);
  await w.sluice(["recurring", "set", "nightly", "job=noop", "cron=0 3 * * *"]);
  const at = await visit(await w.dashboard());
  at.expect(/status of 404/); // what is removed is gone for its page
  await at.go("/recurring/nightly");
  await at.click("Remove", "main");
  await at.click("Remove");
  await eventually(async () => (await w.json(["recurring", "list"])).length === 0);
  await at.go("/throttlers/semaphore/gate");
  await at.click("Remove", "main");
  await at.click("Remove");
  await eventually(async () => (await w.json(["throttlers"])).length === 0);
});

sentence("what people do by the pages stands in the log, through the dashboard", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1);
  const at = await visit(await w.dashboard());
  await at.go("/queues/default");
  await at.click("Pause", "main");
  await at.control("Resume", "main");
  await at.go("/log");
  const [row] = await at.rows("Log");
  assert.deepEqual([row.by, row.count], ["dashboard", "1"]);
  assert.match(row.did, /pause/);
  assert.match(row.about, /default/);
});
