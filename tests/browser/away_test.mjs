// While the store or the dashboard is away, and when it is back.
import assert from "node:assert/strict";

import { eventually } from "./processes.mjs";
import { sentence } from "./sentences.mjs";

const failed_asking = [/^console: Failed to load resource/, /^answer: 50[034]/];
const disabled = () => [...document.querySelectorAll("main button[data-key], main .bulk button")].every((one) => one.disabled);
const enabled = () => [...document.querySelectorAll("main button[data-key], main .bulk button")].some((one) => !one.disabled);

// Marks the page, so that a reload would be seen.
const mark = (at) => at.page.evaluate(() => (globalThis.was_here = true));
const is_marked = (at) => at.page.evaluate(() => globalThis.was_here === true);

for (const how of ["does not answer", "is gone and started again"])
  sentence(`when Redis ${how}, pages keep what they knew with its age, buttons are off, and all comes back by itself`, async ({ visit, world }) => {
    const w = await world("redis");
    await w.enqueue_many(2);
    const dashboard = await w.dashboard();
    const overview = await visit(dashboard);
    const jobs = await visit(dashboard);
    for (const at of [overview, jobs]) at.expect(...failed_asking);
    await overview.go("/");
    await jobs.go("/jobs?state=enqueued");
    await jobs.click("Tick job:1");
    await jobs.until(enabled);
    await mark(overview);
    await mark(jobs);
    if (how === "does not answer") w.redis.kill("SIGSTOP");
    else await w.redis.end("SIGTERM");
    await jobs.until(() => document.querySelector("main [role=alert]"));
    await jobs.until(disabled);
    assert.equal((await jobs.rows("Jobs")).length, 2);
    await jobs.until(() => /^as of .* ago$/.test(document.querySelector("#age").innerText));
    await overview.until(() => /^as of .* ago$/.test(document.querySelector("#age").innerText));
    assert.match(await overview.text("main .tile.state-enqueued"), /^2\n/);
    if (how === "does not answer") w.redis.kill("SIGCONT");
    else await w.start_redis();
    await w.sluice(["enqueue", "default", "noop", "{}", "--id", "after"]);
    await jobs.until(() => document.querySelectorAll("main tbody tr").length === 3);
    await jobs.until(enabled);
    await jobs.until_says("live", "#age");
    await overview.until(() => document.querySelector("main .tile.state-enqueued").innerText.startsWith("3"));
    await overview.until_says("live", "#age");
    for (const at of [overview, jobs]) {
      assert.equal(await is_marked(at), true);
      assert.equal(await at.page.evaluate(() => document.querySelector("main > [role=alert]")), null);
    }
  });

sentence("a dashboard that was started again is asked by the same page, without a reload", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(2);
  const dashboard = await w.dashboard();
  const at = await visit(dashboard);
  at.expect(...failed_asking);
  await at.go("/queues/default");
  await mark(at);
  await dashboard.end();
  await at.until_says("What is shown is the last that is known", "main [role=alert]");
  await at.until(disabled);
  await at.until_says("job:1", "main");
  await w.enqueue_many(1, "after");
  await dashboard.start();
  await at.until_says("after:1", "main");
  await at.until(enabled);
  assert.equal(await is_marked(at), true);
});

sentence("a page that is opened while the store is away says so, and shows it all once it is back", async ({ visit, world }) => {
  const w = await world("redis");
  await w.enqueue_many(2);
  const dashboard = await w.dashboard();
  await dashboard.get("/overview");
  w.redis.kill("SIGSTOP");
  await eventually(async () => !(await dashboard.ask("GET", "/api/v1/overview").then((said) => said.json())).reachable);
  const at = await visit(dashboard);
  at.expect(...failed_asking);
  await at.page.goto(`${dashboard.url}/jobs`);
  await at.until(() => document.querySelector("main [role=alert]"));
  w.redis.kill("SIGCONT");
  await at.ready();
  await at.until(() => document.querySelectorAll("main tbody tr").length === 2);
});

sentence("a click while the dashboard is away is told as a failure, and changes nothing behind one's back", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1);
  const dashboard = await w.dashboard();
  const at = await visit(dashboard);
  at.expect(...failed_asking);
  await at.go("/queues/default");
  await at.press("."); // so that the page does not notice by itself
  const pause = await at.control("Pause", "main");
  await dashboard.end();
  await pause.click();
  await at.until(() => document.querySelector("#said [role=alert]"));
  await dashboard.start();
  await at.press("."); // it asks again, and knows that the dashboard is back
  await at.until_says("live", "#age");
  await at.control("Pause", "main");
  assert.equal((await w.json(["queues", "default"]))[0].paused, false);
});
