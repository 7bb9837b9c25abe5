// What every page is to every person: readable in both themes, on a narrow screen, and by a screen reader.
import assert from "node:assert/strict";

import { every_page, enliven } from "./lively.mjs";
import { sentence } from "./sentences.mjs";

async function look_at_every_page(visit, world, look, found_on) {
  const w = await world();
  await enliven(w);
  const at = await visit(await w.dashboard(), look);
  const findings = [];
  for (const [path, heading] of Object.entries(every_page)) {
    await at.go(path);
    assert.equal(await at.text("main h1"), heading, path);
    for (const found of await found_on(at)) findings.push(`${path}: ${found}`);
  }
  assert.deepEqual(findings, []);
}

sentence("no page has a finding of axe, wide and light", ({ visit, world }) =>
  look_at_every_page(visit, world, {}, (at) => at.axe()));

sentence("no page has a finding of axe, narrow and dark, nor scrolls sideways on a screen of 320 pixels", ({ visit, world }) =>
  look_at_every_page(visit, world, { width: 320, theme: "dark" }, async (at) => [
    ...((await at.scrolls_sideways()) ? ["scrolls sideways"] : []),
    ...(await at.axe()),
  ]));

// Words of our own in its table that stand in two lines. Names may: of people, and of what they changed.
const broken_words = (at) =>
  at.page.evaluate(() => {
    const broken = [];
    for (const cell of document.querySelectorAll("main table.list :is(th, td:not([data-label=who], [data-label=about]))")) {
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      for (let text = texts.nextNode(); text; text = texts.nextNode())
        for (const word of text.data.matchAll(/\S+/g)) {
          const range = document.createRange();
          range.setStart(text, word.index);
          range.setEnd(text, word.index + word[0].length);
          if (new Set([...range.getClientRects()].map((line) => Math.round(line.top))).size > 1) broken.push(word[0]);
        }
    }
    return broken;
  });

sentence("no word of the log breaks, however long the names beside are", async ({ visit, world }) => {
  const w = await world();
  const ids = [1, 2, 3, 4, 5, 6].map((n) => `confirmation-of-order-${n}-of-tenant-north`);
  ids.push("x".repeat(190));
  for (const id of ids) await w.sluice(["enqueue", "default", "noop", "{}", "--id", id]);
  await w.sluice(["delete", ...ids]);
  await w.sluice(["throttler", "set", "semaphore:provider", "limit=1"]);
  await w.sluice(["throttler", "remove", "semaphore:provider"]);
  await w.sluice(["enqueue", "default", "noop", "{}", "--id", "one"]);
  const dashboard = await w.dashboard();
  assert.equal((await dashboard.ask("DELETE", "/api/v1/jobs/one")).status, 200);
  for (const width of [1280, 900]) {
    const at = await visit(dashboard, { width });
    await at.go("/log");
    assert.ok((await at.rows("Log")).length >= 3);
    assert.deepEqual(await broken_words(at), [], `${width} pixels`);
    assert.equal(await at.scrolls_sideways(), false, `${width} pixels`);
  }
});
