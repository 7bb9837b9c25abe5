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

// One tab at the pages of `at`, and what was wrong in it.
export class Visit {
  faults = [];
  asked = []; // all requests of its tabs
  // Patterns of faults that the test provokes; and of the one that a page may meet at any time.
  expected = [/^console: .* status of 429 /];

  static async begin(at, how) {
    const visit = new Visit();
    visit.at = at;
    visit.context = await browser.createBrowserContext();
    await visit.new_tab(how);
    return visit;
  }

  async new_tab(how) {
    this.page = await this.context.newPage();
    await this.watch(this.page);
    await this.resemble(how ?? {});
    // Each page has the keyboard, though the browser shows several.
    const session = await this.page.createCDPSession();
    await session.send("Emulation.setFocusEmulationEnabled", { enabled: true });
    return this.page;
  }

  // The screen, and what its person prefers.
  async resemble({ width = 1280, height = 800, theme = "light", motion = "reduce" }) {
    await this.page.setViewport({ width, height });
    await this.page.emulateMediaFeatures([
      { name: "prefers-color-scheme", value: theme },
      { name: "prefers-reduced-motion", value: motion },
    ]);
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
      this.asked.push(request);
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

  // The page has its data, and no banner in its place: the store may be asked some times a second only.
  async ready() {
    await this.until(() => document.documentElement.dataset.ready === "yes" && !document.querySelector("main > [role=alert]"));
  }

  // Waits until what `look` says in the page is true, and gives it.
  async until(look, ...given) {
    try {
      return await this.page.waitForFunction(look, { timeout: 15_000, polling: 50 }, ...given);
    } catch (fault) {
      const where = `${this.page.url()} says: ${(await this.text()).slice(0, 3000)}`;
      throw new Error(`it did not come: ${look} ${JSON.stringify(given)}\n${where}`, { cause: fault });
    }
  }

  async until_says(words, within = "body") {
    await this.until((said, where) => document.querySelector(where)?.innerText.includes(said), words, within);
  }

  // What is seen of a part.
  async text(of = "body") {
    return this.page.evaluate((where) => document.querySelector(where)?.innerText ?? "", of);
  }

  // Asked of the page itself: puppeteer hears of a change of the address later than the page's own keys do.
  async path() {
    return this.page.evaluate(() => location.pathname + location.search);
  }

  // Rows of the table with this name, as objects of what its columns say.
  async rows(label) {
    return this.page.evaluate((name) => {
      const table = document.querySelector(`main table[aria-label="${name}"]`);
      const columns = [...(table?.tHead.rows[0].cells ?? [])].map((cell) => cell.innerText);
      return [...(table?.tBodies[0].rows ?? [])].map((row) => Object.fromEntries([...row.cells].map((cell, at) => [columns[at], cell.innerText])));
    }, label);
  }

  // The button, link or box of this name, once it can be used: of the dialog that is open, or else within a part.
  async control(name, within = "body") {
    const found = await this.until(
      (words, where) => {
        const part = document.querySelector("dialog[open]") ?? document.querySelector(where);
        const all = [...(part?.querySelectorAll("button, a[href], input, select, textarea, summary") ?? [])];
        const name_of = (one) => one.ariaLabel ?? (one.labels?.[0]?.querySelector("span") ?? one.labels?.[0] ?? one).innerText;
        return all.find((one) => name_of(one).trim() === words && !one.disabled && one.checkVisibility());
      },
      name,
      within,
    );
    return found.asElement();
  }

  async click(name, within) {
    const control = await this.control(name, within);
    await control.click();
  }

  // What can be pressed there, by name.
  async buttons(within = "main") {
    return this.page.evaluate((where) => [...document.querySelectorAll(`${where} button`)].map((one) => one.textContent.trim()), within);
  }

  async press(...keys) {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  // What axe finds, as texts.
  async axe() {
    if (!(await this.page.evaluate(() => "axe" in globalThis))) await this.page.evaluate(axe_source);
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
