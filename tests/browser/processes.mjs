// Processes of a test, each with a group of its own, so that none outlives the run.
import { spawn } from "node:child_process";
import { readFileSync, openSync, closeSync } from "node:fs";

const running = new Set();

process.on("exit", () => {
  for (const one of running) one.kill("SIGKILL");
});
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => process.exit(1));

export class Process {
  // What it says stands in the file `log`.
  constructor(argv, log, environment = {}) {
    this.log = log;
    const said = openSync(log, "a");
    this.child = spawn(argv[0], argv.slice(1), {
      detached: true,
      stdio: ["ignore", said, said],
      env: { ...process.env, ...environment },
    });
    closeSync(said);
    running.add(this);
    this.ended = new Promise((done) => {
      this.child.on("error", (fault) => (running.delete(this), (this.fault = fault), done()));
      this.child.on("exit", () => (running.delete(this), done()));
    });
  }

  get alive() {
    return running.has(this);
  }

  said() {
    return readFileSync(this.log, "utf8");
  }

  kill(signal) {
    try {
      process.kill(-this.child.pid, signal);
    } catch (fault) {
      if (fault.code !== "ESRCH") throw fault;
    }
  }

  async end(signal = "SIGTERM") {
    if (this.alive) this.kill(signal);
    await this.ended;
  }
}

// What a program said and how it ended; `input` is what it reads.
export function run(argv, input = "") {
  const child = spawn(argv[0], argv.slice(1), { stdio: ["pipe", "pipe", "pipe"] });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (said.out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (said.err += text));
  child.stdin.on("error", () => {}); // it may end without reading all
  child.stdin.end(input);
  return new Promise((done, failed) => {
    child.on("error", failed);
    child.on("close", (code) => done({ ...said, code }));
  });
}

// Asks `look` again and again until it answers something true, and gives that.
export async function eventually(look, what = String(look), patience = 20_000) {
  for (const end = Date.now() + patience; ; ) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`it did not come within ${patience / 1000} s: ${what}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}
