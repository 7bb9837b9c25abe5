// That what every visit looks for is found where it is: on a page that stands in for ours.
import { createServer } from "node:http";
import assert from "node:assert/strict";

import { sentence } from "./sentences.mjs";

// Serves one page, and what else is named by its path; ends when the test ends.
async function stand_in(body, more = {}) {
  const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src *; img-src * data:";
  const page = `<!doctype html><html lang="en" data-ready="yes"><meta charset="utf-8"><title>Stand-in</title>
    <link rel="icon" href="data:,"><main><h1>Stand-in</h1>${body}</main></html>`;
  const server = createServer((request, answer) => {
    const [status, type, text] = more[request.url] ?? [200, "text/html", page];
    answer.writeHead(status, { "Content-Type": type, "Content-Security-Policy": policy }).end(text);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref();
  return { url: `http://127.0.0.1:${server.address().port}` };
}

const script = (text) => ({ "/s.js": [200, "text/javascript", text] });
const with_script = (text) => stand_in('<script src="/s.js"></script>', script(text));

sentence("a page without a fault has none", async ({ visit }) => {
  const at = await visit(await stand_in("<p>Nothing.</p>"));
  await at.go("/");
  assert.deepEqual(await at.axe(), []);
  assert.equal(await at.scrolls_sideways(), false);
  await at.end();
});

const wrong = {
  "an error in the console": [/^console: oh/, () => with_script("console.error('oh')")],
  "what is thrown": [/^thrown: .*oh/, () => with_script("throw new Error('oh')")],
  "a promise that nobody caught": [/^thrown: .*oh/, () => with_script("Promise.reject(new Error('oh'))")],
  "an inline style": [/^CSP: style-src/, () => stand_in('<p style="color: red">Red.</p>')],
  "an inline handler": [/^CSP: script-src/, () => stand_in('<p onclick="x()">No.</p>')],
  "a dialog": [/^dialog: oh/, () => with_script("alert('oh')")],
  "a request to another host": [/^asked elsewhere/, () => with_script("fetch('http://localhost:1/').catch(() => 0)")],
  "an answer that tells a failure": [
    /^answer: 503/,
    () => stand_in('<img alt="" src="/gone">', { "/gone": [503, "text/plain", "gone"] }),
  ],
};
for (const [what, [pattern, page]] of Object.entries(wrong))
  sentence(`${what} is a fault of the visit`, async ({ visit }) => {
    const at = await visit(await page());
    await at.go("/");
    await at.until_faulty(pattern);
    await assert.rejects(() => at.end(), /^Error: in the browser:/);
    at.expect(/./);
  });

sentence("axe and the width of a page find what is wrong there", async ({ visit }) => {
  const at = await visit(await stand_in('<img src="data:,"><pre>' + "long ".repeat(500) + "</pre>"), { width: 320 });
  await at.go("/");
  assert.match((await at.axe()).join("\n"), /image-alt/);
  assert.equal(await at.scrolls_sideways(), true);
});
