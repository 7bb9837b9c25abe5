// What users store is shown as the text that it is.
import { writeFileSync } from "node:fs";
import assert from "node:assert/strict";

import { sentence } from "./sentences.mjs";

const nasty = [
  "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"><svg onload=alert(1)>", "'><iframe srcdoc='<script>alert(1)</script>'>",
  "</title><script>alert(1)</script>", "</textarea><script>alert(1)</script>", "javascript:alert(1)", "{{constructor.constructor('alert(1)')()}}",
  "${alert(1)}", "<!--<img src=x onerror=alert(1)>-->", "<a href='javascript:alert(1)'>x</a>", "<style>*{display:none}</style>", "&lt;script&gt;",
  "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>", "<base href=//evil.example>", "<meta http-equiv=refresh content=0>",
  "\u2028\u2029", "\u0000", "\u202e\u2066gnirts\u2069", "\ufeff", "\ud83d\udca9", "e\u0301".repeat(50), "\r\n\t\u0007\u001b[31m",
  "<form action=//evil.example><input name=x>", "<object data=x>", "<embed src=x>", "<link rel=stylesheet href=//evil.example>", "<video src=x onerror=alert(1)>",
];
const all = nasty.join(" ");
const long = "x".repeat((1 << 20) - 5000); // without a space, nearly all that args may have

// What may only come from our own files.
const made = "script, iframe, object, embed, style, base, meta, link, video, math, textarea:not([name=args]), img, body form input[name=x]";
const count_made = (at) => at.page.evaluate((selector) => document.querySelectorAll(selector).length, made);

async function look_at(at, path, must_say) {
  await at.go(path);
  if (must_say) await at.until((text) => document.body.textContent.includes(text), must_say);
  assert.equal(await count_made(at), at.own, `${path} has an element that is not ours`);
  assert.equal(await at.scrolls_sideways(), false, `${path} scrolls sideways`);
  const handlers = await at.page.evaluate(() => [...document.querySelectorAll("*")].filter((one) => [...one.attributes].some((a) => /^(on|style$)/.test(a.name))).length);
  assert.equal(handlers, 0);
  const links = await at.page.evaluate(() => [...document.querySelectorAll("a[href]")].map((a) => a.getAttribute("href")).filter((href) => !/^[/#?]/.test(href) || href.startsWith("//")));
  assert.deepEqual(links, []);
}

sentence("a job whose every field is hostile is shown as text on each page", async ({ visit, world }) => {
  const w = await world();
  // One line of args each, since a command line bears no NUL and no megabyte.
  const enqueue = (id, args, ...words) => {
    writeFileSync(w.file("args"), JSON.stringify(args));
    return w.sluice(["enqueue", "default", "tells", `@${w.file("args")}`, "--id", id, "--retries", "0", ...words]);
  };
  await w.sluice(["throttler", "set", `semaphore:${nasty[1]}`, "limit=1"]);
  const server = await w.tell({ server_name: "a:-_.b", throttlers: { [nasty[0]]: { kind: "semaphore", limit: 1 } }, jobs: { noop: { throttle: [`semaphore:${nasty[0]}`] } } });
  const header = ["--header", `tenant=${all.replaceAll("\0", "")}`, "--header", `x-a.b:c=${nasty[0]}`];
  await w.sluice(["enqueue", "default", "noop", '{"until_told": true}', "--id", "holds"]);
  await w.reaches("holds", "processing");
  await w.sluice(["enqueue", "default", "noop", "{}", "--id", "waits"]);
  await enqueue("ill", { fault: all, [nasty[0]]: nasty, [all]: all }, ...header);
  await enqueue("well", { result: all, part: nasty[1].slice(0, 60), nested: { [nasty[1]]: [all] } }, ...header);
  await enqueue("long", { result: long, words: long.slice(0, 2000), progress: 1 });
  await enqueue("long-ill", { fault: long });
  await enqueue("works", { until_told: true, progress: 0.5, words: all });
  await w.sluice(["recurring", "set", "nasty", "job=tells", "cron=0 3 * * *", `args=${JSON.stringify({ [nasty[0]]: nasty[1] })}`]);
  for (const id of ["ill", "long-ill"]) await w.reaches(id, "failed");
  for (const id of ["well", "long"]) await w.reaches(id, "succeeded");
  await w.reaches("works", "processing");
  await w.reaches("waits", "throttled");
  const at = await visit(await w.dashboard());
  await at.go("/locks"); // which shows nothing of theirs
  at.own = await count_made(at);
  for (const [path, says] of [
    ["/", nasty[0]], ["/jobs", nasty[0]], ["/jobs?state=failed", nasty[0]], ["/jobs/ill", nasty[0]], ["/jobs/well", nasty[1]], ["/jobs/long"], ["/jobs/long-ill"],
    ["/jobs/works", nasty[0]], ["/jobs/waits", nasty[0]], ["/errors", "<script>alert(#)</script>"], ["/queues"], ["/queues/default"], ["/throttlers", nasty[1]],
    [`/throttlers/semaphore/${encodeURIComponent(nasty[0])}`, nasty[0]], ["/recurring"], ["/recurring/nasty", nasty[1]], ["/enqueue?like=ill", nasty[0]], ["/servers", "a:-_.b"], ["/log"], ["/quarantine"],
    [`/jobs?error=${encodeURIComponent(nasty[0])}&type=${encodeURIComponent("tells")}`],
    [`/jobs?queue=${encodeURIComponent("default")}&id_begins=${encodeURIComponent("ill")}`],
  ])
    await look_at(at, path, says);
  await at.resemble({ width: 320 });
  for (const path of ["/jobs", "/jobs/ill", "/jobs/long", "/jobs/long-ill", "/errors", "/throttlers"]) await look_at(at, path);
  server.let_go();
});

sentence("words of an address that are hostile are shown as text, or refused", async ({ visit, world }) => {
  const w = await world();
  await w.enqueue_many(1);
  const dashboard = await w.dashboard();
  const at = await visit(dashboard);
  at.expect(/status of 40[04]/);
  await at.go("/locks");
  at.own = await count_made(at);
  for (const text of nasty.filter((one) => !one.includes("\0"))) {
    const word = encodeURIComponent(text);
    await at.page.goto(`${dashboard.url}/jobs?queue=${word}&error=${word}&after=${word}&range=${word}`);
    await at.until(() => document.documentElement.dataset.ready === "yes");
    assert.equal(await count_made(at), at.own, text);
  }
});

const secrets = {
  password: "s1", PASSWD: "s2", client_secret: "s3", "api-key": "s4", api_key: "s5", apikey: "s6", access_token: "s7",
  Authorization: "s8", Cookie: "s9", "set-cookie": "s10",
};

sentence("values of keys that are secrets by their names are not shown", async ({ visit, world }) => {
  const w = await world();
  const server = await w.tell();
  const args = { ...secrets, deep: { list: [{ token: { a: "s11", b: ["s12"] }, next: "plain-1" }], pass: ["s13", "s14"] }, plain: "plain-2", passed: null, text: "the token is plain-3", result: JSON.stringify(secrets) };
  const headers = Object.entries(secrets).flatMap(([name, value]) => ["--header", `${name}=${value}`]);
  await w.sluice(["enqueue", "default", "tells", JSON.stringify(args), "--id", "job", "--header", "tenant=plain-4", ...headers]);
  await w.reaches("job", "succeeded");
  await server.end();
  const at = await visit(await w.dashboard());
  await at.go("/jobs/job");
  const shown = (await at.page.evaluate(() => document.querySelector("main").textContent)).replaceAll(JSON.stringify(JSON.stringify(secrets)), "");
  for (const plain of ["plain-1", "plain-2", "plain-3", "plain-4"]) assert.ok(shown.includes(plain), plain);
  assert.doesNotMatch(shown.replace(/"result": ".*"/, ""), /\bs\d+\b/);
  assert.ok(shown.includes("***"));
  await at.click("Enqueue another like it", "main");
  await at.ready();
  const [form, typed] = await at.page.evaluate(() => [document.querySelector("main").textContent, [...document.querySelectorAll("main textarea")]]);
  assert.doesNotMatch(form.replace(/"result": ".*"/, ""), /\bs\d+\b/);
  assert.equal(typed.length, 0);
  await at.click("Show what is masked, and change it", "main");
  await at.until(() => document.querySelector("main textarea").value.includes('"password":"s1"'));
});

sentence("arguments over 64 KiB are cut, and all there at a click; numbers are shown as they are written", async ({ visit, world }) => {
  const w = await world();
  const text = `{"big": 12345678901234567890.100, "list": [${Array.from({ length: 30_000 }, (_, at) => at).join(",")}], "last": 1.50}`;
  writeFileSync(w.file("args"), text);
  await w.sluice(["enqueue", "default", "noop", `@${w.file("args")}`, "--id", "big"]);
  const at = await visit(await w.dashboard());
  await at.go("/jobs/big");
  const shown = () => at.page.evaluate(() => document.querySelector("main pre[data-part=args]").textContent);
  assert.ok((await shown()).includes("12345678901234567890.100"));
  assert.ok(!(await shown()).includes("29999"));
  const [more] = (await at.buttons("main")).filter((words) => words.startsWith("Show all"));
  await at.click(more, "main");
  await at.until(() => document.querySelector("main pre[data-part=args]").textContent.includes('"last": 1.50'));
  await at.until(() => document.querySelector("main pre[data-part=args]").textContent.includes("29999"));
});
