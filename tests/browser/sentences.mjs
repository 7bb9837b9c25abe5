// A test is a sentence that is true of the pages. It gets what opens visits; these end with it, and their faults are
// its faults.
import test from "node:test";

import { Visit } from "./browser.mjs";
import { World } from "./world.mjs";

const patience = 60_000;

// sentence("...", async ({ visit, world }) => ...): visit(at, options) begins one, world() and world("redis") make one.
export function sentence(words, body) {
  test(words, { timeout: patience }, async () => {
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
  });
}
