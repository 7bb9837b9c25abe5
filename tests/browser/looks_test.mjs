// What every page is to every person: readable in both themes, on a narrow screen, and by a screen reader.
import assert from "node:assert/strict";

import { every_page, enliven } from "./lively.mjs";
import { sentence } from "./sentences.mjs";

sentence("no page has a finding of axe, wide and light or narrow and dark, nor scrolls sideways on a screen of 320 pixels", async ({ visit, world }) => {
  const w = await world();
  await enliven(w);
  const at = await visit(await w.dashboard());
  const findings = [];
  for (const [path, heading] of Object.entries(every_page)) {
    await at.go(path);
    assert.equal(await at.text("main h1"), heading, path);
    for (const found of await at.axe()) findings.push(`${path}: ${found}`);
    await at.resemble({ width: 320, theme: "dark" });
    if (await at.scrolls_sideways()) findings.push(`${path} scrolls sideways`);
    for (const found of await at.axe()) findings.push(`${path}, narrow and dark: ${found}`);
    await at.resemble({});
  }
  assert.deepEqual(findings, []);
});
