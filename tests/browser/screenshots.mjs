// screenshots.mjs PROGRAMS TOOLS FOLDER: pictures of the pages for people, of a store with life in it, as in docs/pictures/.
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";

const [programs, tools, folder] = process.argv.slice(2);
Object.assign(process.env, { SLUICE_PROGRAMS: programs, SLUICE_BROWSER_TOOLS: tools });
const { Visit, close_browser, open_browser } = await import("./browser.mjs");
const { enliven } = await import("./lively.mjs");
const { World } = await import("./world.mjs");

const pictures = {
  overview: "/",
  queues: "/queues",
  queue: "/queues/default",
  jobs: "/jobs",
  job: "/jobs/waits",
  "job-that-ran": "/jobs/well",
  errors: "/errors",
  throttlers: "/throttlers",
  throttler: "/throttlers/semaphore/provider-api",
  window: "/throttlers/sliding_window/dropbox",
  recurring: "/recurring",
  schedule: "/recurring/nightly",
  servers: "/servers",
  locks: "/locks",
  quarantine: "/quarantine",
  log: "/log",
};

mkdirSync(folder, { recursive: true });
const world = new World();
await open_browser();
try {
  await enliven(world);
  const at = await Visit.begin(await world.dashboard());
  for (const [name, path] of Object.entries(pictures)) {
    await at.go(path);
    const file = join(folder, `${name}.png`);
    await at.page.screenshot({ path: file });
    console.log(file, statSync(file).size);
  }
} finally {
  await close_browser();
  await world.end();
}
