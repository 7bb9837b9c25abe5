// What the files of the pages may not have, and what they may weigh.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import assert from "node:assert/strict";

import { sentence } from "./sentences.mjs";

const folder = new URL("../../dashboard/assets/", import.meta.url);
const files = readdirSync(folder).map((name) => ({ name, text: readFileSync(new URL(name, folder), "utf8") }));

sentence("text enters the pages as text, and no code is made of it", async () => {
  assert.ok(files.length > 5);
  const forbidden = [/innerHTML/i, /outerHTML/i, /insertAdjacentHTML/i, /document\s*\.\s*write/, /\beval\s*\(/, /new\s+Function\b/, /setHTML/,
    /createContextualFragment/, /DOMParser/, /srcdoc/, /javascript:/i, /set(Timeout|Interval)\s*\(\s*["'`]/];
  for (const { name, text } of files) for (const word of forbidden) assert.doesNotMatch(text, word, name);
});

sentence("no file of the pages has a style or a handler inline, or names another host", async () => {
  for (const { name, text } of files) {
    if (/\.(html|svg)$/.test(name)) assert.doesNotMatch(text, /<style|\sstyle\s*=|\son[a-z]+\s*=|<script(?![^>]*\ssrc=)/i, name);
    if (name.endsWith(".js")) assert.doesNotMatch(text, /setAttribute\(\s*["'`](style|on)|\bstyle:|\.style\b/, name);
    assert.doesNotMatch(text.replaceAll("http://www.w3.org/2000/svg", ""), /(https?:)?\/\/[a-z0-9-]+\.[a-z]/i, name);
  }
});

sentence("the pages weigh less than 120 kB, packed", async () => {
  const packed = files.reduce((sum, { text }) => sum + gzipSync(text).length, 0);
  assert.ok(packed < 120_000, `${packed} bytes`);
});
