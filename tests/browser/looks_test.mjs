// What every page is to every person: readable in both themes, on a narrow screen, and by a screen reader.
import assert from "node:assert/strict";

import { every_page, enliven } from "./lively.mjs";
import { sentence } from "./sentences.mjs";

sentence("no page has a finding of axe in either theme, nor scrolls sideways on a screen of 320 pixels", async ({ visit, world }) => {
  const w = await world();
  await enliven(w);
  const at = await visit(await w.dashboard());
  const findings = [];
  for (const [path, heading] of Object.entries(every_page)) {
    await at.go(path);
    assert.equal(await at.text("main h1"), heading, path);
    for (const theme of ["light", "dark"]) {
      await at.resemble({ theme });
      for (const found of await at.axe()) findings.push(`${path}, ${theme}: ${found}`);
    }
    await at.resemble({ width: 320 });
    if (await at.scrolls_sideways()) findings.push(`${path} scrolls sideways`);
    for (const found of await at.axe()) findings.push(`${path}, narrow: ${found}`);
    await at.resemble({});
  }
  assert.deepEqual(findings, []);
});
