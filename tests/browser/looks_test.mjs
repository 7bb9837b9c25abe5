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
