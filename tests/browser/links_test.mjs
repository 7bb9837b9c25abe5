// The address is all that a page is made of.
import assert from "node:assert/strict";

import { sentence } from "./sentences.mjs";

const jobs_of = async (at) => (await at.rows("Jobs")).map((row) => row.job);

sentence("a link with filters that is opened afresh shows the same list", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(4, "mail", { queue: "mail", type: "letter" });
  await w.enqueue_many(4, "order", { queue: "orders" });
  await w.sluice(["delete", "mail:2", "mail:3", "order:1"]);
  const dashboard = await w.dashboard();
  const at = await visit(dashboard);
  await at.go("/jobs");
  await at.click("Filters");
  const type = async (name, text) => {
    await (await at.control(name, "main")).click();
    await at.page.keyboard.type(text);
  };
  await at.page.select("main select[name=state]", "deleted");
  await type("queue", "mail");
  await at.click("Find", "main");
  await at.ready();
  assert.equal(await at.path(), "/jobs?state=deleted&queue=mail");
  assert.deepEqual((await jobs_of(at)).sort(), ["mail:2", "mail:3"]);
  const fresh = await visit(dashboard);
  await fresh.go(await at.path());
  assert.deepEqual(await jobs_of(fresh), await jobs_of(at));
  assert.equal(await fresh.page.evaluate(() => document.querySelector("main input[name=queue]").value), "mail");
  assert.match(await fresh.text("main .tabs [aria-current]"), /^deleted/);
});

sentence("back and forward show what was there, with its filters", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(60);
  const at = await visit(await w.dashboard());
  const walk = ["/", "/jobs", "/jobs?state=enqueued"];
  await at.go("/");
  await at.click("Jobs", "header");
  await at.ready();
  await at.click("enqueued60", "main .tabs");
  await at.ready();
  await at.click("Next page");
  await at.ready();
  const behind = await at.path();
  const rows = await jobs_of(at);
  await at.click(rows[0]);
  await at.ready();
  assert.equal(await at.text("main h1"), rows[0]);
  await at.page.goBack();
  await at.ready();
  assert.equal(await at.path(), behind);
  assert.deepEqual(await jobs_of(at), rows);
  for (const path of walk.reverse()) {
    await at.page.goBack();
    await at.ready();
    assert.equal(await at.path(), path);
  }
  await at.page.goForward();
  await at.ready();
  assert.equal((await jobs_of(at)).length, 50);
});

sentence("every count leads to the list that it counts", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(7, "mail", { queue: "mail" });
  await w.enqueue_many(5, "order", { queue: "orders" });
  await w.sluice(["delete", "mail:1", "mail:2"]);
  const at = await visit(await w.dashboard());
  for (const [path, within, count] of [
    ["/", ".tile.state-enqueued", 10],
    ["/", ".tile.state-deleted", 2],
    ["/queues", 'tr[data-row="mail"]', 5],
    ["/queues/orders", ".facts", 5],
  ]) {
    await at.go(path);
    await at.click(String(count), `main ${within}`);
    await at.ready();
    assert.equal((await jobs_of(at)).length, count, path);
  }
});

sentence("an address that is no page says so", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1);
  const dashboard = await w.dashboard();
  const at = await visit(dashboard);
  at.expect(/status of 404/);
  for (const path of ["/jobs/nobody", "/queues/nobody", "/recurring/nobody"]) {
    await at.page.goto(dashboard.url + path);
    await at.until_says("There is no such", "main [role=alert]");
  }
  assert.equal((await dashboard.ask("GET", "/nothing")).status, 404);
});

sentence("names with signs that mean something in addresses are linked as they are", async ({ visit, world }) => {
  const w = await world();
  const ids = ["a.b", "..a", "a:b:c", "-", "a.", "..."];
  for (const id of ids) await w.sluice(["enqueue", "q.1:x", "noop", "{}", `--id=${id}`]);
  const throttlers = ["a/b", "a//b", "a%2fb", "100%", "what?", "a#b", "a b", "a+b&c=d", "ä…", "'\"<b>", "a;b", "a\\b", "..."]; // not "." and "..", which browsers take for steps
  for (const name of throttlers) await w.sluice(["throttler", "set", `semaphore:${name}`, "limit=3"]);
  await w.sluice(["recurring", "set", "a.b:c", "job=noop", "cron=0 3 * * *"]);
  const at = await visit(await w.dashboard());
  const follow = async (path, words, heading) => {
    await at.go(path);
    await at.click(words, "main table");
    await at.ready();
    assert.equal(await at.text("main h1"), heading);
    await at.page.reload(); // its address alone
    await at.ready();
    assert.equal(await at.text("main h1"), heading);
  };
  for (const id of ids) await follow("/jobs", id, id);
  await follow("/queues", "q.1:x", "Queue q.1:x");
  await follow("/recurring", "a.b:c", "Schedule a.b:c");
  for (const name of throttlers) await follow("/throttlers", `semaphore:${name}`, `semaphore:${name}`);
});

sentence("a throttler's page links to the jobs of the types that it lets in", async ({ visit, world }) => {
  const w = await world();
  await w.tell({
    throttlers: { gate: { kind: "semaphore", limit: 1 } },
    jobs: { noop: { throttle: ["semaphore:gate", "mutex:user:{id}"] }, letter: { throttle: ["semaphore:gate"] } },
  });
  const at = await visit(await w.dashboard());
  await at.go("/throttlers/semaphore/gate");
  await at.until_says("letter, noop", "main .facts");
  await at.go("/throttlers/mutex/user%3A7");
  await at.click("noop", "main .facts");
  await at.ready();
  assert.equal(await at.path(), "/jobs?type=noop");
});
