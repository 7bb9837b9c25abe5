// A test is a sentence that is true of the pages. It gets what opens visits; these end with it, and their faults are
// its faults.
import test from "node:test";

import { Visit, close_browser, open_browser } from "./browser.mjs";
import { World } from "./world.mjs";

const patience = 180_000;
const at_a_time = 3; // they wait for the next question of a page most of the time

const all = [];

// sentence("...", async ({ visit, world }) => ...): visit(at, options) begins one, world() and world("redis") make one.
export function sentence(words, body) {
  all.push([words, () => hold(body)]);
}

async function hold(body) {
  const visits = [];
  const worlds = [];
  const tools = {
    visit: async (at, options) => visits[visits.push(await Visit.begin(at, options)) - 1],
    world: async (store) => worlds[worlds.push(store === "redis" ? await World.on_redis() : new World()) - 1],
  };
  const faults = [];
  const without_fault = async (step) => {
    try {
      await step();
    } catch (fault) {
      faults.push(fault);
    }
  };
  await without_fault(() => body(tools));
  for (const one of visits) await without_fault(() => one.end());
  for (const one of worlds) await without_fault(() => one.end());
  if (faults.length === 1) throw faults[0];
  if (faults.length > 1) throw new Error(faults.map((fault) => fault.stack).join("\n"));
}

// Tells at the end how many held, in the words that `./dev test` counts.
export function hold_all() {
  test("the dashboard's pages", { concurrency: at_a_time }, async (run) => {
    if (all.length === 0) throw new Error("no sentence was read");
    let passed = 0;
    await open_browser();
    try {
      await Promise.all(all.map(([words, body]) => run.test(words, { timeout: patience }, async () => (await body(), passed++))));
    } finally {
      await close_browser();
    }
    const failed = all.length - passed;
    console.log(`test cases: ${all.length} | ${passed} passed${failed > 0 ? ` | ${failed} failed` : ""}`);
  });
}
