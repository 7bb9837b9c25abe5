// All tests of the pages in one process and one browser: node run.mjs [NAME_test.mjs...]
import { readdirSync } from "node:fs";

import { hold_all } from "./sentences.mjs";

const files = process.argv.slice(2);
if (files.length === 0) files.push(...readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith("_test.mjs")).sort());
for (const file of files) await import(new URL(file, import.meta.url));
hold_all();
