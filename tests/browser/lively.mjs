// A store with something of each kind in it, and the pages that show it.
const windows = {
  github: { kind: "fixed_window", limit: 5000, interval: "1h" },
  dropbox: { kind: "sliding_window", limit: 4, interval: "1h", buckets: 3 },
  newsletter: { kind: "dynamic_window", key: "tenant:{tenant}", capacity: 20, min_limit: 2, max_limit: 20, interval: "1h", buckets: 60 },
};

export const every_page = {
  "/": "Overview",
  "/queues": "Queues",
  "/queues/default": "Queue default",
  "/queues/held": "Queue held",
  "/jobs": "Jobs",
  "/jobs?state=failed": "Jobs: failed",
  "/jobs?queue=default&type=tells": "Jobs",
  "/jobs/works": "works",
  "/jobs/waits": "waits",
  "/jobs/well": "well",
  "/jobs/ill": "ill",
  "/jobs/retried": "retried",
  "/jobs/later": "later",
  "/enqueue": "Enqueue a job",
  "/enqueue?like=well": "Enqueue a job",
  "/errors": "Errors",
  "/throttlers": "Throttlers",
  "/throttlers/semaphore/provider-api": "semaphore:provider-api",
  "/throttlers/fixed_window/github": "fixed_window:github",
  "/throttlers/sliding_window/dropbox": "sliding_window:dropbox",
  "/throttlers/dynamic_window/newsletter": "dynamic_window:newsletter",
  "/recurring": "Recurring",
  "/recurring/nightly": "Schedule nightly",
  "/recurring/idle": "Schedule idle",
  "/servers": "Servers",
  "/groups": "Groups",
  "/groups/batch": "Group batch",
  "/locks": "Locks",
  "/quarantine": "Quarantine",
  "/quarantine/harmed": "Quarantine: harmed",
  "/log": "Log",
};

// On a file, since a record is harmed.
export async function enliven(world) {
  await world.sluice(["enqueue", "default", "noop", "{}", "--id", "harmed"]);
  await world.harm("harmed");
  await world.sluice(["group", "create", "batch"]);
  await world.sluice(["enqueue", "default", "noop", "{}", "--group", "batch", "--in", "1h"]);
  const server = await world.tell({
    server_name: "web-1",
    throttlers: { "provider-api": { kind: "semaphore", limit: 1 }, ...windows },
    jobs: {
      noop: { throttle: ["semaphore:provider-api", "fixed_window:github", "sliding_window:dropbox"] },
      tells: { throttle: ["dynamic_window:newsletter"] },
    },
    recurring: {
      nightly: { job: "tells", args: { tenant: "north" }, cron: "0 3 * * *", zone: "Europe/London" },
      pulse: { job: "tells", args: { tenant: "south" }, every: "90s", overlap: "skip" },
      idle: { job: "tells", args: { tenant: "west" }, cron: "H H(0-5) * * MON" },
    },
  });
  const tells = (id, args, ...words) =>
    world.sluice(["enqueue", "default", "tells", JSON.stringify({ tenant: "north", ...args }), "--id", id, ...words]);
  await world.sluice(["enqueue", "default", "noop", '{"until_told": true}', "--id", "holds"]);
  await world.reaches("holds", "processing");
  await world.sluice(["enqueue", "default", "noop", "{}", "--id", "waits"]);
  await tells("works", { until_told: true, progress: 0.4, words: "page 2 of 5", part: "REDIS" }, "--header", "tenant=north");
  await tells("well", { result: '{"sent": 17, "rejected": []}', part: "REDIS" });
  await tells("ill", { fault: "the provider answered 502: bad gateway" }, "--retries", "0");
  await tells("retried", { fault: "the provider answered 503 after 1200 ms" });
  await world.sluice(["enqueue", "default", "tells", '{"tenant": "east"}', "--id", "later", "--in", "1h"]);
  await world.enqueue_many(3, "mail", { queue: "mail" });
  await world.sluice(["enqueue", "held", "noop", "{}", "--id", "in-held"]);
  await world.sluice(["pause", "held"]);
  await world.sluice(["enqueue", "mail", "noop", "{}", "--id", "gone"]);
  await world.sluice(["delete", "gone"]);
  await world.sluice(["recurring", "pause", "idle"]);
  await world.sluice(["recurring", "trigger", "nightly", "--id", "by-hand"]);
  await world.hold_a_lock();
  await world.reaches("waits", "throttled");
  await world.reaches("well", "succeeded");
  await world.reaches("ill", "failed");
  await world.reaches("retried", "scheduled");
  return server;
}
