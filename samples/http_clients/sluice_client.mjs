// A producer's client of the API of Sluice. It needs Node 18 or newer and no package; README.md says how to run it.
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const sleep = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));
const seconds = () => performance.now() / 1000;

export class SluiceError extends Error {
  constructor(status, problem) {
    const { code = "", title = "", detail = title } = problem; // a refused login has no code
    super(`${status} ${code}: ${detail}`);
    Object.assign(this, { name: "SluiceError", status, code, detail });
  }
}

export class Sluice {
  constructor(url = "http://localhost:8080", { token, deadline = 30 } = {}) {
    this.url = url.replace(/\/+$/, "") + "/api/v1";
    this.headers = token ? { Authorization: `Bearer ${token}` } : {};
    this.deadline = deadline;
  }

  async ask(method, path, body) {
    const headers = body ? { ...this.headers, "Content-Type": "application/json" } : this.headers;
    const end = seconds() + this.deadline;
    for (;;) {
      const signal = AbortSignal.timeout(Math.ceil(1000 * Math.max(1, end - seconds())));
      const answer = await fetch(this.url + path, { method, headers, signal, body: body && JSON.stringify(body) });
      if (answer.ok) return answer.json();
      const told = answer.headers.get("Content-Type")?.includes("problem+json");
      const problem = told ? await answer.json() : (await answer.text(), {}); // read, so that the connection is free
      const pause = Number(answer.headers.get("Retry-After") ?? 1) || 1;
      if (![429, 503].includes(answer.status) || seconds() + pause > end) throw new SluiceError(answer.status, problem);
      await sleep(pause);
    }
  }

  // Saying it again with the same id makes no second job. `more`: queue, headers, in_ms, at and so on.
  async enqueue(type, args, { id = randomUUID(), ...more } = {}) {
    return (await this.ask("POST", "/jobs", { type, id, args_text: JSON.stringify(args), ...more })).id;
  }

  get = (id) => this.ask("GET", `/jobs/${encodeURIComponent(id)}`);
  requeue = (id) => this.ask("POST", `/jobs/${encodeURIComponent(id)}/requeue`, {});
  explain = (id) => this.ask("GET", `/jobs/${encodeURIComponent(id)}/explanation`);

  // The job once it is final; or as it is when patience has ended.
  async wait(id, patience = 60) {
    for (const end = seconds() + patience; ; await sleep(1)) { // the same question within a second has the same answer
      const job = await this.get(id);
      if (["succeeded", "failed", "deleted"].includes(job.state) || seconds() >= end) return job;
    }
  }

  // All jobs that a filter finds, as jobs({ state: "failed", header: ["tenant=north"] }); a page at a time.
  async *jobs(filter = {}) {
    const words = Object.entries(filter).flatMap(([name, said]) => [said].flat().map((one) => [name, one]));
    let after = "";
    do { // a page may be empty, and not be the last
      const page = await this.ask("GET", `/jobs?${new URLSearchParams([...words, ["after", after]])}`);
      yield* page.jobs;
      after = page.next;
    } while (after);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const text = (usual) => ({ type: "string", default: usual });
  const options = { url: text("http://localhost:8080"), type: text("noop"), args: text("{}") };
  const said = parseArgs({ options }).values;
  const sluice = new Sluice(said.url, { token: process.env.SLUICE_TOKEN });
  const job = await sluice.wait(await sluice.enqueue(said.type, JSON.parse(said.args)), 10);
  console.log(job.id, job.state);
  if (job.finished_at === null) console.log((await sluice.explain(job.id)).text);
}
