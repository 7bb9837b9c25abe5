// screenshots.mjs FOLDER: pictures of the pages for people, of a store with life in it. Run it as ./run does.
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { Visit, close_browser, open_browser } from "./browser.mjs";
import { every_page, enliven } from "./lively.mjs";
import { World } from "./world.mjs";

const [folder = "."] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const world = new World();
await open_browser();
try {
  await enliven(world);
  const at = await Visit.begin(await world.dashboard(), {});
  for (const path of Object.keys(every_page)) {
    await at.go(path);
    const file = join(folder, `${path.slice(1).replace(/[^a-z0-9]+/g, "-") || "overview"}.png`);
    await at.page.screenshot({ path: file });
    console.log(file, statSync(file).size);
  }
  console.log(at.faults.join("\n"));
} finally {
  await close_browser();
  await world.end();
}
