// first_paint.mjs PROGRAMS TOOLS [JOBS]: how soon pages are seen, with so many jobs kept (1,000,000). For people: it prints.
process.env.SLUICE_PROGRAMS = process.argv[2];
process.env.SLUICE_BROWSER_TOOLS = process.argv[3];
const { Visit, close_browser, open_browser } = await import("./browser.mjs");
const { World } = await import("./world.mjs");

const jobs = Number(process.argv[4] ?? 1_000_000);
const slice = 100_000;
const world = new World();
await open_browser();
try {
  for (let made = 0; made < jobs; made += slice) await world.enqueue_many(Math.min(slice, jobs - made), `${made}`);
  const dashboard = await world.dashboard();
  const at = await Visit.begin(dashboard);
  for (const path of ["/", "/queues", "/queues/default", "/jobs", "/jobs?state=enqueued&queue=default", "/jobs/0:7", "/throttlers"]) {
    const seen = [];
    for (let times = 0; times < 5; times++) {
      await at.go(path);
      seen.push(
        await at.page.evaluate(() => {
          const [paint] = performance.getEntriesByName("first-contentful-paint");
          return { paint: paint?.startTime ?? NaN, ready: performance.now() };
        }),
      );
    }
    const middle = (name) => seen.map((one) => one[name]).sort((a, b) => a - b)[2].toFixed(0);
    console.log(`${path}: first paint ${middle("paint")} ms, all there ${middle("ready")} ms (medians of 5)`);
  }
} finally {
  await close_browser();
  await world.end();
}
