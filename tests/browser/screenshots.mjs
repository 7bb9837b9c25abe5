// screenshots.mjs PROGRAMS TOOLS FOLDER [URL]: pictures of the pages for people, of a store with life in it, as in
// docs/pictures/. With the URL of a dashboard that runs, as of `cache_refresh --dashboard`, its overview stands for ours.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { small_png } from "./png.mjs";

const [programs, tools, folder, busy_url] = process.argv.slice(2);
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
  enqueue: "/enqueue?like=well",
  errors: "/errors",
  throttlers: "/throttlers",
  throttler: "/throttlers/semaphore/provider-api",
  window: "/throttlers/sliding_window/dropbox",
  recurring: "/recurring",
  schedule: "/recurring/nightly",
  servers: "/servers",
  groups: "/groups",
  group: "/groups/batch",
  locks: "/locks",
  quarantine: "/quarantine",
  log: "/log",
};

mkdirSync(folder, { recursive: true });
const world = new World();
await open_browser();
try {
  await enliven(world);
  const ours = await Visit.begin(await world.dashboard());
  const busy = busy_url && (await Visit.begin({ url: busy_url }));
  for (const [name, path] of Object.entries(pictures)) {
    const at = name === "overview" && busy ? busy : ours;
    await at.go(path);
    const file = join(folder, `${name}.png`);
    const picture = await small_png(at.page, await at.page.screenshot({ encoding: "base64" }));
    writeFileSync(file, picture);
    console.log(file, picture.length);
  }
} finally {
  await close_browser();
  await world.end();
}
