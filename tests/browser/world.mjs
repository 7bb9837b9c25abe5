// A store, what the `sluice` command does to it, and processes that look at it or work on it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Process, eventually, run } from "./processes.mjs";

const programs = process.env.SLUICE_PROGRAMS; // the folder of the built ones
export const sluice_program = join(programs ?? "", "sluice");

export async function free_port() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

// `sluice dashboard`, and its API asked as a program asks it.
export class Dashboard {
  constructor(world, { allow_changes = true, port = 0 } = {}) {
    this.world = world;
    this.words = [sluice_program, "dashboard", "--store", world.url, ...(allow_changes ? ["--allow-changes"] : [])];
    this.port = port;
  }

  async start() {
    const log = this.world.file(`dashboard-${++this.world.logs}.log`);
    this.process = new Process([...this.words, "--listen", `127.0.0.1:${this.port}`], log);
    const port = await eventually(
      () => !this.process.alive || /listens at http:\/\/127\.0\.0\.1:(\d+)/.exec(this.process.said())?.[1],
      "a dashboard that listens",
    );
    if (port === true) throw new Error(`the dashboard did not start: ${this.process.said()}`);
    this.port = Number(port); // the same again when it is started again
    this.url = `http://127.0.0.1:${port}`;
    return this;
  }

  async ask(method, path, body) {
    const headers = { "Content-Type": "application/json" };
    return fetch(this.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  }

  // Lists are answered some times a second only.
  async get(path) {
    const answer = await eventually(async () => {
      const said = await this.ask("GET", `/api/v1${path}`);
      if (said.status !== 429 && said.status !== 503) return said;
      await said.text();
      return null;
    }, `an answer to ${path}`);
    return answer.json();
  }

  async end() {
    await this.process.end();
  }
}

export class World {
  logs = 0;
  ends = [];

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "sluice-browser-"));
    this.url = `sqlite:${this.file("jobs.db")}`;
  }

  static async on_redis() {
    const world = new World();
    for (let tries = 1; ; tries++) {
      world.redis_port = await free_port(); // which another may have by the time that Redis takes it
      world.url = `redis://127.0.0.1:${world.redis_port}/0`;
      try {
        await world.start_redis();
        return world;
      } catch (fault) {
        if (tries === 5) throw fault;
      }
    }
  }

  // With what it held before, when it was ended by a SIGTERM.
  async start_redis() {
    const program = (await run(["sh", "-c", "command -v redis-server || command -v valkey-server"])).out.trim();
    const words = ["--port", `${this.redis_port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"];
    const log = this.file(`redis-${++this.logs}.log`);
    this.redis = this.keep(new Process([program, ...words, "--dir", this.folder], log));
    await eventually(() => !this.redis.alive || this.redis.said().includes("Ready to accept connections"), "a Redis that is ready");
    if (!this.redis.alive) throw new Error(`Redis did not start: ${this.redis.said()}`);
  }

  file(name) {
    return join(this.folder, name);
  }

  keep(one) {
    this.ends.push(one);
    return one;
  }

  // The words after `sluice`; a failure is one of the test.
  async sluice(words, input) {
    const said = await run([sluice_program, ...words, "--store", this.url], input);
    if (said.code !== 0) throw new Error(`sluice ${words.join(" ").slice(0, 300)}: ${said.code} ${said.err}`);
    return said.out;
  }

  async json(words) {
    const lines = (await this.sluice([...words, "--json"])).split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line));
  }

  async job(id) {
    return (await this.json(["show", id]))[0];
  }

  // `count` jobs alike, with ids NAME:1, NAME:2 and so on.
  async enqueue_many(count, name = "job", { queue = "default", type = "noop", args = (n) => ({ n }) } = {}) {
    const lines = Array.from({ length: count }, (_, at) => JSON.stringify(args(at + 1)));
    await this.sluice(["enqueue", queue, type, "-", "--bulk", "--id", name], lines.join("\n") + "\n");
  }

  // A job that runs a command of the shell.
  async enqueue_exec(id, script, words = [], queue = "default") {
    await this.sluice(["enqueue", queue, "exec", JSON.stringify({ argv: ["sh", "-c", script] }), "--id", id, ...words]);
  }

  async dashboard(options) {
    return this.keep(await new Dashboard(this, options).start());
  }

  // A server that runs what is enqueued, until it is ended.
  async work(settings = {}) {
    const config = this.file(`sluice-${++this.logs}.json`);
    const common = { storage: this.url, allow_exec: true, lease: "2s", queues: { default: { workers: 4 } } };
    writeFileSync(config, JSON.stringify({ ...common, ...settings }));
    const server = this.keep(new Process([sluice_program, "work", config], config.replace(".json", ".log")));
    await this.is_known(server);
    return server;
  }

  // A server whose jobs of type `tells` say what their args say (tests/support/noop_worker.cpp), until it is ended.
  async tell(settings = {}) {
    const name = this.file(`teller-${++this.logs}`);
    writeFileSync(`${name}.json`, JSON.stringify({ storage: this.url, lease: "2s", queues: { default: { workers: 4 } }, ...settings }));
    const server = this.keep(new Process([join(programs, "noop_worker"), `${name}.json`, `${name}.runs`], `${name}.log`));
    server.let_go = () => writeFileSync(`${name}.runs.go`, ""); // those that are until_told
    await this.is_known(server);
    return server;
  }

  async is_known(server) {
    await eventually(async () => {
      if (!server.alive) throw new Error(`the server did not start: ${server.said()}`);
      const said = await run([sluice_program, "servers", "--json", "--store", this.url]); // the store may not be there yet
      return said.out.split("\n").some((line) => line && JSON.parse(line).pid === server.child.pid);
    }, "a server that the store knows");
  }

  // Until the job is in one of these states.
  async reaches(id, ...states) {
    return eventually(async () => {
      const job = await this.job(id);
      return states.includes(job.state) && job;
    }, `${id} is ${states.join(" or ")}`);
  }

  // What is stored of a job of a file cannot be read any more: its record, or its history, without which it can be
  // enqueued again.
  async harm(id, what = "record") {
    const field = what === "history" ? "field2" : "field1";
    const sql = `UPDATE members SET ${field}=x'00' WHERE name=CAST(? AS BLOB)`;
    const program = `import sqlite3, sys; d = sqlite3.connect(sys.argv[1], 20); d.execute("${sql}", (sys.argv[2],)); d.commit()`;
    const said = await run(["python3", "-c", program, this.file("jobs.db"), id]);
    if (said.code !== 0) throw new Error(said.err);
    await run([sluice_program, "show", id, "--store", this.url]); // who reads it puts it aside
  }

  // A lock that somebody holds for an hour, who does not go on.
  async hold_a_lock() {
    const log = this.file("locks");
    const holder = this.keep(new Process([join(programs, "lock_worker"), this.url, log, "somebody", "3600000"], `${log}.log`));
    await eventually(async () => {
      holder.kill("SIGSTOP");
      const is_held = (await this.json(["locks"])).length > 0;
      if (!is_held) holder.kill("SIGCONT");
      return is_held;
    }, "a lock that is held");
  }

  async end() {
    for (const one of this.ends.reverse()) await one.end("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
