"""A producer's client of the API of Sluice. It needs the standard library alone; README.md says how to run it."""
import argparse
import json
import os
import time
import uuid
from urllib import error, parse, request


class SluiceError(Exception):
    def __init__(self, status, problem):
        self.status, self.code = status, problem.get("code", "")  # a refused login has no code
        self.detail = problem.get("detail", problem.get("title", ""))
        super().__init__(f"{status} {self.code}: {self.detail}")


class Sluice:
    def __init__(self, url="http://localhost:8080", token=None, deadline=30):
        self.url, self.deadline = url.rstrip("/") + "/api/v1", deadline
        self.headers = {"Authorization": "Bearer " + token} if token else {}

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = self.headers | ({"Content-Type": "application/json"} if data else {})
        end = time.monotonic() + self.deadline
        while True:
            try:
                asked = request.Request(self.url + path, data, headers, method=method)
                with request.urlopen(asked, timeout=max(1, end - time.monotonic())) as answer:
                    return json.load(answer)
            except error.HTTPError as refused:
                pause = refused.headers.get("Retry-After", "1")
                pause = max(1, int(pause)) if pause.isdigit() else 1
                if refused.code not in (429, 503) or time.monotonic() + pause > end:
                    told = "problem+json" in refused.headers.get("Content-Type", "")
                    raise SluiceError(refused.code, json.load(refused) if told else {}) from None
            time.sleep(pause)

    def enqueue(self, type, args, id=None, **more):
        """Saying it again with the same id makes no second job. `more`: queue, headers, in_ms, at and so on."""
        # As a text, so that each number is kept as it is written here.
        job = {"type": type, "id": id or uuid.uuid4().hex, "args_text": json.dumps(args), **more}
        return self.ask("POST", "/jobs", job)["id"]

    def enqueue_group(self, name, jobs, then):
        """Stores jobs, each a (type, args), as a group, and one that runs when all of them have ended: its id."""
        group = "/groups/" + parse.quote(name, safe="")
        self.ask("PUT", group, {})
        for n, (type, args) in enumerate(jobs):
            self.enqueue(type, args, id=f"{name}-{n}", group=name)
        last = self.enqueue(*then, id=f"{name}-then", after_groups=[name])
        self.ask("POST", group + "/seal", {})
        return last

    def get(self, id):
        return self.ask("GET", "/jobs/" + parse.quote(id, safe=""))

    def wait(self, id, patience=60):
        """The job once it is final; or as it is when patience has ended."""
        end = time.monotonic() + patience
        while (job := self.get(id))["state"] not in ("succeeded", "failed", "deleted") and time.monotonic() < end:
            time.sleep(1)  # the same question within a second has the same answer
        return job

    def jobs(self, **filter):
        """All jobs that a filter finds, as jobs(state="failed", header=["tenant=north"]); a page at a time."""
        after = ""
        while True:
            page = self.ask("GET", "/jobs?" + parse.urlencode({**filter, "after": after}, doseq=True))
            yield from page["jobs"]
            if not (after := page["next"]):  # a page may be empty, and not be the last
                return

    def requeue(self, id):
        return self.ask("POST", "/jobs/" + parse.quote(id, safe="") + "/requeue", {})

    def explain(self, id):
        return self.ask("GET", "/jobs/" + parse.quote(id, safe="") + "/explanation")


if __name__ == "__main__":
    words = argparse.ArgumentParser(description="Enqueues one job, waits for it and prints its state.")
    words.add_argument("--url", default="http://localhost:8080")
    words.add_argument("--type", default="noop")
    words.add_argument("--args", type=json.loads, default={}, help="as JSON")
    said = words.parse_args()
    sluice = Sluice(said.url, os.environ.get("SLUICE_TOKEN"))
    job = sluice.wait(sluice.enqueue(said.type, said.args), patience=10)
    print(job["id"], job["state"])
    if job["finished_at"] is None:
        print(sluice.explain(job["id"])["text"])
