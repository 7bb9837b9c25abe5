// How often is asked, and for whom.
import { connect } from "node:net";
import assert from "node:assert/strict";

import { eventually } from "./processes.mjs";
import { sentence } from "./sentences.mjs";

const questions = (at) => at.asked.filter((one) => one.url().includes("/api/")).length;

sentence("a tab that nobody sees asks nothing, and asks at once when it is seen again", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1);
  const dashboard = await w.dashboard();
  const hidden = await visit(dashboard);
  const seen = await visit(dashboard);
  const show = (is_seen) =>
    hidden.page.evaluate((yes) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => !yes });
      document.dispatchEvent(new Event("visibilitychange"));
    }, is_seen);
  await hidden.go("/jobs");
  await show(false);
  await hidden.ready();
  await seen.go("/jobs");
  const [asked, rounds] = [questions(hidden), questions(seen)];
  await eventually(() => questions(seen) >= rounds + 3, "three rounds of a tab that is seen");
  assert.ok(questions(hidden) <= asked + 1, "what was under way ends, and nothing more is asked");
  await w.sluice(["enqueue", "default", "noop", "{}", "--id", "new"]);
  await show(true);
  await hidden.until(() => document.querySelectorAll("main tbody tr").length === 2);
});

sentence("a tab has one question under way, however slow the answers are and however often it is asked anew", async ({ visit, world }) => {
  const w = await world("redis");
  await w.enqueue_many(1);
  const at = await visit(await w.dashboard());
  at.expect(/^console: Failed to load resource/, /^answer: 50[034]/);
  await at.go("/jobs");
  await at.page.evaluate(() => {
    const ask = globalThis.fetch;
    let under_way = [];
    globalThis.most_under_way = 0;
    globalThis.fetch = async (path, how) => {
      const mine = { signal: how?.signal };
      under_way = [...under_way.filter((one) => !one.signal?.aborted), mine];
      globalThis.most_under_way = Math.max(globalThis.most_under_way, under_way.length);
      try {
        return await ask(path, how);
      } finally {
        under_way = under_way.filter((one) => one !== mine);
      }
    };
  });
  w.redis.kill("SIGSTOP");
  const asked = questions(at);
  for (let times = 0; times < 5; times++) await at.press(".", "."); // each second one asks anew at once
  await eventually(() => questions(at) > asked + 4, "questions that are slow");
  w.redis.kill("SIGCONT");
  await at.ready();
  assert.equal(await at.page.evaluate(() => globalThis.most_under_way), 1);
});

// How many scripts a Redis has run.
async function scripts_run(w) {
  const socket = connect(w.redis_port, "127.0.0.1");
  let said = "";
  socket.setEncoding("utf8").on("data", (text) => (said += text));
  socket.write("INFO commandstats\r\n");
  await eventually(() => /cmdstat_info|\r\n\r\n$/.test(said) && said.endsWith("\r\n"));
  socket.destroy();
  return [...said.matchAll(/cmdstat_(?:evalsha|eval|fcall)\w*:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

sentence("20 tabs that show the same list cost the store one read a second at most", async ({ visit, world }) => {
  const w = await world("redis");
  await w.enqueue_many(100);
  const at = await visit(await w.dashboard());
  const pages = [at.page];
  while (pages.length < 20) pages.push(await at.new_tab());
  await Promise.all(pages.map((page) => page.goto(`${at.at.url}/jobs?state=enqueued`)));
  await Promise.all(pages.map((page) => page.waitForFunction(() => document.documentElement.dataset.ready === "yes" && document.querySelector("main tbody tr"))));
  const opened = questions(at);
  await eventually(() => questions(at) >= opened + 60, "a round of each tab, until what the opening asked for has ended", 60_000);
  const [asked, read, began] = [questions(at), await scripts_run(w), Date.now()];
  await eventually(() => questions(at) >= asked + 60, "three rounds of each tab", 60_000);
  const seconds = (Date.now() - began) / 1000;
  const reads = (await scripts_run(w)) - read;
  assert.ok(reads > 0 && reads <= seconds + 1, `${reads} reads in ${seconds} s`);
});
