// One browser for the run, and visits to pages in it: each with a context of its own, and none of the faults that every
// page is free of.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { eventually } from "./processes.mjs";

// The folder into which npm put them, outside of the source tree.
const from_npm = createRequire(join(process.env.SLUICE_BROWSER_TOOLS ?? ".", "package.json"));
const puppeteer = from_npm("puppeteer-core");
const axe_source = from_npm("axe-core").source;

let browser;
let folder;

export async function open_browser() {
  folder = mkdtempSync(join(tmpdir(), "sluice-chromium-"));
  mkdirSync(join(folder, "home"));
  const quiet = ["quiet", "no-first-run", "background-networking", "component-update", "sync", "quic", "gpu", "dev-shm-usage"];
  browser = await puppeteer.launch({
    executablePath: process.env.SLUICE_BROWSER ?? "/usr/bin/chromium",
    userDataDir: join(folder, "profile"),
    env: { ...process.env, HOME: join(folder, "home"), TZ: "UTC", LANG: "en_US.UTF-8" },
    // Without its sandbox, which a container may not have: it sees our own pages only.
    args: ["--no-sandbox", "--no-first-run", "--lang=en-US"].concat(quiet.slice(2).map((word) => `--disable-${word}`)),
  });
}

export async function close_browser() {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

const is_ready = () => document.documentElement.dataset.ready === "yes";

// One tab at the pages of `at`, and what was wrong in it.
export class Visit {
  faults = [];
  expected = []; // patterns of faults that the test provokes

  static async begin(at, { width = 1280, height = 800, theme = "light", motion = "reduce" } = {}) {
    const visit = new Visit();
    visit.at = at;
    visit.context = await browser.createBrowserContext();
    await visit.new_tab({ width, height, theme, motion });
    return visit;
  }

  async new_tab({ width = 1280, height = 800, theme = "light", motion = "reduce" } = {}) {
    const page = await this.context.newPage();
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([
      { name: "prefers-color-scheme", value: theme },
      { name: "prefers-reduced-motion", value: motion },
    ]);
    await this.watch(page);
    this.page = page;
    return page;
  }

  async watch(page) {
    const own = new URL(this.at.url).host;
    const fault = (what) => this.faults.push(what);
    page.on("pageerror", (thrown) => fault(`thrown: ${thrown.stack ?? thrown}`));
    page.on("console", (said) => {
      if (["error", "assert"].includes(said.type())) fault(`console: ${said.text()} ${said.location().url ?? ""}`);
    });
    page.on("dialog", (dialog) => (fault(`dialog: ${dialog.message()}`), dialog.dismiss()));
    page.on("request", (request) => {
      const to = new URL(request.url());
      if (!["data:", "blob:"].includes(to.protocol) && to.host !== own) fault(`asked elsewhere: ${request.url()}`);
    });
    page.on("response", (answer) => {
      if (answer.status() >= 500) fault(`answer: ${answer.status()} ${answer.url()}`);
    });
    await page.exposeFunction("reportToTest", fault);
    await page.evaluateOnNewDocument(() =>
      addEventListener("securitypolicyviolation", (e) =>
        window.reportToTest(`CSP: ${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber} ${e.sample}`),
      ),
    );
  }

  // Opens a path afresh, and waits until the page has its data.
  async go(path) {
    await this.page.goto(this.at.url + path, { waitUntil: "load" });
    await this.ready();
  }

  async ready() {
    await this.page.waitForFunction(is_ready, { timeout: 15_000, polling: 20 });
  }

  // Waits until what `look` says in the page is true.
  async until(look, ...given) {
    try {
      return await this.page.waitForFunction(look, { timeout: 15_000, polling: 50 }, ...given);
    } catch (fault) {
      throw new Error(`it did not come: ${look} ${JSON.stringify(given)}\nthe page says: ${await this.text()}`, { cause: fault });
    }
  }

  async text() {
    return this.page.evaluate(() => document.body?.innerText ?? "");
  }

  // What axe finds, as texts.
  async axe() {
    await this.page.evaluate(axe_source);
    return this.page.evaluate(async () => {
      const found = await globalThis.axe.run(document, { resultTypes: ["violations"] });
      return found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target} ${node.failureSummary}`));
    });
  }

  async scrolls_sideways() {
    return this.page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  }

  async until_faulty(pattern) {
    await eventually(() => this.faults.some((fault) => pattern.test(fault)), `a fault like ${pattern}, not ${this.faults}`);
  }

  // Faults that this test provokes.
  expect(...patterns) {
    this.expected.push(...patterns);
  }

  async end() {
    if (!this.context.closed) await this.context.close();
    const unexpected = this.faults.filter((fault) => !this.expected.some((pattern) => pattern.test(fault)));
    if (unexpected.length > 0) throw new Error(`in the browser:\n${unexpected.join("\n")}`);
  }
}
