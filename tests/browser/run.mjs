// All tests of the pages in one process and one browser: node run.mjs [NAME_test.mjs...]
import { after, before } from "node:test";
import { readdirSync } from "node:fs";

import { close_browser, open_browser } from "./browser.mjs";

before(open_browser);
after(close_browser);

const files = process.argv.slice(2);
if (files.length === 0) files.push(...readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith("_test.mjs")).sort());
for (const file of files) await import(new URL(file, import.meta.url));
