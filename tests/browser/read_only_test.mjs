// Who may only look.
import assert from "node:assert/strict";

import { every_page, enliven } from "./lively.mjs";
import { sentence } from "./sentences.mjs";

sentence("a dashboard that only looks has no button that changes anything, and refuses every change", async ({ visit, world }) => {
  const w = await world();
  await enliven(w);
  const dashboard = await w.dashboard({ allow_changes: false });
  const at = await visit(dashboard);
  const harmless = /^(Find|Look again|Search again|Show all .* characters)$/;
  for (const path of Object.keys(every_page)) {
    await at.go(path);
    assert.deepEqual((await at.buttons("main")).filter((words) => !harmless.test(words)), [], path);
    assert.equal(await at.page.evaluate(() => document.querySelectorAll("main input:is([type=checkbox], [type=number])").length), 0, path);
  }
  await at.until_says("read-only", ".state");
  // What goes on by itself meanwhile, as a retry that is due, is no change of the page's.
  const looks = async () => ({
    ill: await w.job("ill"),
    paused: (await w.json(["queues"])).map((queue) => [queue.queue, queue.paused]),
    nightly: (await w.json(["recurring", "list"])).filter((one) => one.name === "nightly").map((one) => [one.paused, one.last_job]),
    limits: (await w.json(["throttlers"])).map((one) => [one.resource, one.limit]),
  });
  const before = await looks();
  await at.go("/jobs");
  for (const key of ["j", "x", "r", "d", "c", "p", "t", "e", "i"]) await at.press(key);
  const changes = [
    ["POST", "/jobs/ill/requeue", {}],
    ["DELETE", "/jobs/ill"],
    ["POST", "/jobs/actions", { action: "delete", ids: ["ill"] }],
    ["PUT", "/queues/default/pause"],
    ["POST", "/schedules/nightly/trigger", {}],
    ["PUT", "/throttlers/semaphore/provider-api", { limit: 9 }],
    ["PUT", "/schedules/nightly", { job: "tells", cron: "0 4 * * *" }],
    ["POST", "/jobs", { type: "noop" }],
    ["DELETE", "/quarantine/harmed"],
  ];
  for (const [method, path, body] of changes) assert.equal((await dashboard.ask(method, `/api/v1${path}`, body)).status, 403, path);
  assert.deepEqual(await looks(), before);
});
