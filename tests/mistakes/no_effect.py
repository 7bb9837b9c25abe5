#!/usr/bin/env python3
"""What is written and has no effect: each key of the configuration and each option and word of the commands, with what
is misspelt, names nothing that is there, or contradicts another. Each ends in a fault, a warning, or a sentence of
REASONS why nothing is said.

usage: no_effect.py SLUICE [--table]

The program is asked which keys there are, by its faults of unknown keys and of null, and which options, by its help.
"""
import copy
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

# What each key is tried in. Where keys are names, it has one.
BASE = {
    "storage": "sqlite:jobs.db", "allow_exec": True, "exec": {}, "retry": {},
    "retention": {"succeeded": {"age": "1h"}, "failed": {"age": "1h"}, "deleted": {"age": "1h"}},
    "queues": {"default": {"retry": {}}, "reports": {}},
    "jobs": {"noop": {"throttle": ["semaphore:api"], "retry": {}, "unique": {"by": "{customer}"}}},
    "throttlers": {
        "one": {"kind": "mutex"}, "api": {"kind": "semaphore", "limit": 4}, "own": {"kind": "custom"},
        "fixed": {"kind": "fixed_window", "limit": 4, "interval": "1h"},
        "sliding": {"kind": "sliding_window", "limit": 4, "interval": "1h", "buckets": 4},
        "tenants": {"kind": "dynamic_window", "key": "{tenant}", "capacity": 20, "min_limit": 2, "max_limit": 20,
                    "interval": "1h", "buckets": 4}},
    "recurring": {"nightly": {"job": "noop", "cron": "0 3 * * *", "headers": {"by": "me"}},
                  "pulse": {"job": "noop", "every": "90s"}},
    "dashboard": {"listen": "localhost:0", "allow_changes": True,
                  "users": {"anna": {"role": "admin", "secret_file": "secret"}}}}

# By what a key must be, in the words of a fault: what is tried. Faults of texts and lists come from KEYS, too.
TYPES = [
    (r"must be a text|must be a JSON object|must be an object", lambda: [8]),
    (r"must be true or false", lambda: ["ture", 1]),
    (r"must be a whole number from (\d+) to (\d+)", lambda least, most: ["four", 1.5, int(least) - 1, int(most) + 1]),
    (r"must be a number from 0 to 1", lambda: ["half", 1.5]),
    (r"must be a time", lambda: [30, "30 secs", "1h30m", "-1s", "99999d"]),
    (r"must be one of ([^,]+)", lambda word: [misspelt(word), 8]),
    (r"must be a list of texts", lambda: ["one", [8], [""]]),
]

# By how the pointer of a key ends: what else is tried. A text or a list that has no entry has no trial.
KEYS = {
    "/storage": ["sqlit:jobs.db", "sqlite:no/such.db", "sqlite:jobs.db?modee=0660", "sqlite:jobs.db?prefix=a",
                 "sqlite::memory:?max_pages=99", "sqlite::memory:?mode=0660", "redis://127.0.0.1:1?max_pages=99",
                 "redis://127.0.0.1:1?ca=no.pem", "rediss://127.0.0.1:1?cert=no.pem"],
    "/server_name": ["web 1", ""], "/queue": ["defualt", "a b", ""], "/job": ["nop", "a b", ""],
    "/args": ["{}", {"argv": ["date"]}], "/cron": ["0 3 * * MOM", "@dayly", "0 0 30 2 *", ""],
    "/zone": ["Europe/Lodon", ""], "/stagger": ["evne", "true", 1, None],
    "/headers": [{"a b": "c"}, {"a": 8}, {"sluice-signature": "a"}],
    "/throttle": [["semaphore:apy"], ["semaphor:api"], ["api"], ["fixed_window:api"], ["custom:onw"], ["mutex:noe"],
                  ["mutex:a", "mutex:A"], []],
    "/without_overlap": ["customer", "{customer", "", 1],
    "/by": ["customer", "{customer", ""], "/until": ["sart", "10x", "0s", ""], "/key": ["tenant", "{tenant", ""],
    "/allow": [["date"], ["/usr/bin/dtae"], []], "/user": ["nobodyy", ""], "/folder": ["/no/such", ""],
    "/variables": [["NO_SUCH"], ["A B"], ["SLUICE_LEASE"], ["PATH"], ["*", "A"], []],
    "/key_file": ["no.key", "short.key", ""], "/listen": ["localhots:80", "localhost", "192.0.2.1:80", ""],
    "/user_header": ["X User", ""], "/hosts": [["a b"], ["http://jobs.example.org"], []],
    "/proxies": [["192.0.2.x"], ["192.0.2.1"], []], "/secret_file": ["no.secret", "short.key", ""],
    "/proxy_secret_file": ["no.secret", ""], "/metrics_token_file": ["no.secret", ""],
    "/secret_variable": ["NO_SUCH", ""], "/metrics_token_variable": ["NO_SUCH", ""],
}
# Keys that contradict others, are the same as others, or have no effect beside them: the first is the key in question.
CONTRADICTIONS = [
    {"renew_every": "20s"}, {"wait_replicas": 1}, {"threads": 1}, {"special_queue_workers": 3},
    {"retry/jitter": 0.5, "retry/backoff": "fixed"}, {"retry/delay": "1m", "retry/backoff": "polynomial"},
    {"retry/max_delay": "1s", "retry/delay": "1m"}, {"retry/delay": "1m", "retry/attempts": 0},
    {"require_durability": "power_safe", "storage": "sqlite::memory:"}, {"retention/failed": {}},
    {"exec/folder": "/tmp", "allow_exec": False}, {"exec/allow": ["/usr/bin/date", "/usr/bin/date"]},
    {"queues": {}}, {"queues/re*": {}}, {"queues/re**": {}}, {"queues/a b": {}}, {"queues/defualt": {}},
    {"queues": {"reports": {}}}, {"queues/default/start_within": "9m", "queues/default/finish_within": "1m"},
    {"queues/default/finish_within": "1m", "queues/default/timeout": "9m"}, {"queues/default/finish_within": "0s"},
    {"jobs/nop": {}}, {"jobs/exce": {}}, {"jobs/exec/timeout": "1m", "allow_exec": False},
    {"jobs/noop/start_within": "9m", "jobs/noop/finish_within": "1m"}, {"jobs/noop/finish_within": "0s"},
    {"jobs/noop/timeout": "9m", "jobs/noop/finish_within": "1m"},
    {"jobs/noop/throttle_delay": "9m"}, {"jobs/noop/throttle_delay": "9m", "jobs/noop/throttle": []},
    {"jobs/noop/when_throttled": "delete", "jobs/noop/throttle": []},
    {"jobs/noop/strict": True, "jobs/noop/throttle": []},
    {"jobs/noop/strict": True, "jobs/noop/throttle": ["fixed_window:fixed"]},
    {"jobs/noop/without_overlap": True, "jobs/noop/throttle": ["mutex:overlap:noop"]},
    {"jobs/noop/unique/at_most": "1m"}, {"jobs/noop/unique/then": "coalesce", "jobs/noop/unique/until": "start"},
    {"jobs/noop/unique/at_most": "0s", "jobs/noop/unique/then": "extend"},
    {"throttlers/lonely": {"kind": "semaphore", "limit": 1}}, {"throttlers/API": {"kind": "semaphore", "limit": 1}},
    {"throttlers/api/mode": "release"}, {"throttlers/sliding/buckets": 9, "throttlers/sliding/interval": "2s"},
    {"throttlers/tenants/min_limit": 9, "throttlers/tenants/max_limit": 3},
    {"throttlers/tenants/limit": 3}, {"throttlers/tenants/capacity": 3},
    {"recurring/pulse/cron": "@daily"}, {"recurring/pulse/zone": "Europe/London"}, {"recurring/pulse/zone": "UTC"},
    {"recurring/pulse/catch_up_max": 9}, {"recurring/pulse/catch_up_max": 9, "recurring/pulse/catch_up": "none"},
    {"recurring/pulse/every": "1s", "recurring/pulse/stagger": "even"},
    {"recurring/nightly/stagger": "even", "recurring/nightly/cron": "0 0 3 * * *"},
    {"recurring/nightly/stagger": True, "recurring/nightly/cron": "0 0 3 * * *"},
    {"recurring/nightly/overlap": "skip", "jobs/noop/without_overlap": True},
    {"recurring/nightly/job": "exec", "exec/allow": ["/usr/bin/date"], "recurring/nightly/args": {"argv": ["ls"]}},
    {"recurring/nightly/job": "exec", "recurring/nightly/args": {"argb": ["date"]}},
    {"prune_recurring": True, "recurring": {}},
    {"dashboard/users": {}}, {"dashboard/users/anna/secret_variable": "PATH"}, {"dashboard/users/anna": {}},
    {"dashboard/allow_exec": True, "dashboard/allow_changes": False}, {"dashboard/allow_exec": True},
    {"dashboard/allow_exec": True, "dashboard/users/anna/role": "viewer"}, {"dashboard/allow_changes": False},
    {"dashboard/allow_changes": True, "dashboard/users/anna/role": "viewer"},
    {"dashboard/proxies": ["192.0.2.1"]}, {"dashboard/user_header": "X-User"},
    {"dashboard/proxy_secret_file": "secret"},
    {"dashboard/user_header": "X User", "dashboard/proxies": ["192.0.2.1"], "dashboard/proxy_secret_file": "secret"},
    {"dashboard/proxies": ["192.0.2.x"], "dashboard/user_header": "X-User", "dashboard/proxy_secret_file": "secret"},
    {"dashboard/hosts": ["localhost"]}, {"dashboard/listen": "0.0.0.0:0"},
    {"dashboard/behind_tls_proxy": True, "dashboard/users/anna/secret_file": "secret"},
]

SELECTED = "--all --state scheduled --yes"
# Words that each command takes, each of which its options are tried beside.
COMMANDS = {
    "check": ["sluice.json"], "work": ["sluice.json --set /storage=sqlite:no/such/folder.db"],
    "enqueue": ["default noop '{\"customer\": 5}'"], "enqueue-all": ["jobs.jsonl"], "jobs": [""], "errors": [""],
    "requeue": ["order-7", SELECTED], "delete": ["order-7", SELECTED], "cancel": ["order-7", SELECTED],
    "show": ["order-7"], "queues": [""], "locks": [""], "log": [""], "quarantine": [""], "quarantine list": [""],
    "quarantine show": ["order-7"], "quarantine requeue": ["order-7", "--all --yes"],
    "quarantine drop": ["order-7", "--all --yes"], "totals": [""], "servers": [""], "pause": ["default"],
    "resume": ["default"], "top": [""], "dashboard": ["--listen localhost:0"], "throttlers": [""],
    "throttler set": ["semaphore:api limit=4"], "throttler remove": ["semaphore:api"],
    "throttler show": ["semaphore:api"], "throttler holders": ["semaphore:api"],
    "throttler waiters": ["semaphore:api"], "explain": ["order-7"], "groups": [""], "group create": ["another"],
    "group seal": ["batch"], "group show": ["batch"], "group cancel": ["batch"], "group requeue-failed": ["batch"],
    "recurring list": [""], "recurring show": ["nightly"], "recurring set": ["pulse job=noop every=90s"],
    "recurring remove": ["nightly"], "recurring trigger": ["nightly"], "recurring pause": ["nightly"],
    "recurring resume": ["nightly"], "cron": ["'0 3 * * *'"], "audit": [""], "upgrade": [""],
    "completion": ["bash"], "manual": [""]}
SERVES = ("work", "dashboard")  # until it is ended
WITHOUT_STORE = ("check", "work", "cron", "completion", "manual")

# What is tried of an option or a word, besides what its type in the help tells; of one command alone where it is named.
OPTIONS = {
    "--store": ["sqlit:jobs.db", "sqlite:jbos.db"], "--queue": ["defualt", "a b"], "--type": ["nop", "a b"],
    "--id-begins": ["ordre"], "--server": ["web-9"], "--header": ["customer", "customer=5"],
    "enqueue --header": ["customer"],
    "--error": ["tiemout"],
    "--since": ["yesterday", "2 hours", "2099-01-01T00:00Z"], "--until": ["yesterday", "1999-01-01T00:00Z"],
    "--match": ["customer", "custmoer=5"], "--after": ["zzz"], "--config": ["no.json", "wrong.json"],
    "--exec-key": ["no.key", "short.key"], "--name": ["nigtly"], "--sort": [], "--id": ["a b"], "--by": [],
    "--set": ["/leese=1s", "/lease=1x", "lease=1s", "/lease", "/queues/defualt/workers=2", "/lease/a=1"],
    "--listen": ["localhots:80", "localhost"], "--zone": ["Europe/Lodon"], "--from": ["tomorrow", "2 h"],
    "cron --name": ["nigtly"], "--in": ["5x", "2030-01-01T00:00Z"], "group create --in": ["bacth"],
    "--at": ["tomorrow", "5s", "2000-01-01T00:00Z"], "--timeout": ["0s", "5x"], "enqueue --after": ["ordre-7", "a b"],
    "--after-group": ["bacth"], "--group": ["bacth"], "--unique-by": ["customer", "{custmoer}", "{customer"],
    "--start-within": ["5x"], "--finish-within": ["5x", "0s"], "--at-most": ["5x"], "--seal-within": ["1x", "99999d"],
    "enqueue --until": ["sart"], "CONFIG": ["no.json", "wrong.json"],
    "QUEUE": ["defualt", "a b"], "TYPE": ["nop", "a b"],
    "JSON": ["{", "{customer: 5}", "@no.json"], "JOBS": ["no.jsonl", "queeu.jsonl", "defualt.jsonl"],
    "ID": ["ordre-7", "a b"],
    "THROTTLER": ["semaphore:apy", "semaphor:api", "api"], "DEFINITION": ["limt=4", "limit=four", "limit"],
    "recurring set DEFINITION": ["evrey=90s", "every=90", "every=90s"], "EXPR": ["@dayly", "0 0 30 2 *", "0 3 * *"],
    "NAME": ["nigtly", "a b"], "recurring set NAME": ["a b"], "group create NAME": ["a b", "batch"],
}
# Words beside the first of COMMANDS, after the command; what stands before it is a variable of the environment.
PAIRS = """
SLUICE_LEESE=1s check
SLUICE_LEASE=1x check
SLUICE_PORT=80 check
SLUICE_QUEUES__DEFUALT__WORKERS=2 check
SLUICE_STORAGE=sqlite:jbos.db jobs
SLUICE_EXEC__KEY_FILE=no.key recurring set job=exec
enqueue --on failed
enqueue --need 0
enqueue --need 2 --after order-7
enqueue --after order-7,order-7
enqueue --after order-7 --on succeeded,finished
enqueue --after order-7 --on first-failure
enqueue --after order-7 --on finished --unless run
enqueue --after-group bacth --if-missing run
enqueue --in 1s --at 2099-01-01T00:00Z
enqueue --in 1h --finish-within 1m
enqueue --start-within 9m --finish-within 1m
enqueue --timeout 9m --finish-within 1m
enqueue --unique-by * --at-most 1m
enqueue --unique-by * --then extend
enqueue --unique-by * --then coalesce --until start
enqueue --header a=1 --header a=2
enqueue --config sluice.json --store sqlite:jobs.db
enqueue --exec-key good.key
recurring set --exec-key good.key
recurring set zone=Europe/London
recurring set zone=UTC
recurring set catch_up_max=9
recurring set queue=defualt
recurring set queue=a%b
recurring set cron=@daily
recurring list --sort next --after nightly
throttler set interval=1h
throttler set mode=relaese
jobs --since 1h --until 2h
errors --since 1h --until 2h
totals --since 1h --until 2h
jobs --state failed --since 2099-01-01T00:00Z
totals --since 200d
totals --by minute --since 80h
jobs --state enqueued --error tiemout
jobs --type nop --state scheduled
requeue order-7
requeue --all --state failed
quarantine --limit 5 show order-7
quarantine drop --all
jobs --queue= --limit 5
delete --queue= --yes
"""

# Where and what was written, as patterns: why it is right that nothing is said.
REASONS = [
    (r"^storage: .*memory:.max_pages", "it limits a store in memory, too"),
    (r"^exec/variables: .*NO_SUCH", "a variable may be set where the server runs, and not where it is checked"),
    (r"^exec/variables: .*(PATH|\*)", "it is passed on anyway, as is asked for"),
    (r"^exec/allow: .*/date", "one program twice is that program"),
    (r"^(exec/variables|jobs/noop/throttle|dashboard/(hosts|proxies)): \S+: \[\]$", "an empty list is as none"),
    (r"^jobs/noop/throttle: .*mutex:noe", "a mutex needs no definition and is made on first use"),
    (r"^jobs/noop/without_overlap: .*overlap:noop", "both are the same mutex, and a job takes it once"),
    (r"^jobs/noop/unique/by: ", "empty is as '*', all of the args, as docs/unique.md says"),
    (r"/args: .*\"argv\": \[\"date", "args are for the handler, which knows what it takes"),
    (r"/headers: .*sluice-signature", "a schedule that was signed elsewhere has its signature there"),
    (r"^queues/re\*+: ", "an exact name wins over a pattern; the pattern is for queues to come"),
    (r"^queues/defualt: ", "a file names its queues itself; two that are alike may be meant"),
    (r"^throttlers/lonely: ", "types of other servers of the store may name it"),
    (r"^throttlers/api/mode: ", "that it limits nothing is what `release` is for; `sluice throttlers` shows it"),
    (r"zone(: \S+: \"|=)UTC", "UTC is what it is without it"),
    (r"^recurring/pulse/every: .*even", "with an interval of 1 s the instant is in that second"),
    (r"^recurring/nightly/overlap: ", "both hold: the schedule leaves out, and other jobs of the type wait"),
    (r"^prune_recurring: ", "the start removes the schedules that are not there any more: that is its effect"),
    (r"^dashboard/allow_changes: .*false$", "the roles stay as they are for when changes are allowed again"),
    (r"^dashboard/proxies: .*2\.1\"\]$", "of proxies an address may have more connections, as docs/dashboard.md says"),
    (r"^recurring/nightly/stagger: \S+ true,", "true is what it is without it; seconds in the expression stay"),
    (r"^dashboard/hosts: .*localhost", "it has that name already; no harm is in saying so"),
    (r"^dashboard/behind_tls_proxy: ", "names without a port are answered then, on a loopback address too"),
    (r"^sluice check: .* --store$", "the store has nothing else to say where the file defines all throttlers"),
    (r"^sluice enqueue: default nop ", "only servers know which types have handlers; `sluice top` and `explain` tell"),
    (r"^sluice (jobs|requeue|delete|cancel): .*--(id-begins|header|match|error)[ =]",
     "what is looked for in jobs need not be there: none is an answer"),
    (r"^sluice (jobs|requeue|delete|cancel): .*--server", "a server that has ended is known by its jobs alone"),
    (r"^sluice (jobs|errors|requeue|delete|cancel): .*--until=1999", "nothing is as old: none is an answer"),
    (r"^sluice (jobs|requeue|delete|cancel): .*--since=2099", "of scheduled jobs it is when they are due"),
    (r"^sluice [a-z ]+: order-7 --yes", "nothing is asked of ids, so the answer is not needed"),
    (r"^sluice quarantine [a-z]+: .*--json$", "what is not there is told as without, on standard error"),
    (r"^sluice top: --once", "where the output is no terminal it is once anyway, as the help says"),
    (r"^sluice recurring set: nigtly", "`set` makes what is not there"),
    (r"^sluice group create: batch$", "a command that was cut off may be repeated: the group is there"),
    (r"^sluice (groups|recurring list): --after=zzz", "a list by name goes on behind any name"),
    (r"^sluice recurring list: --name=", "what is looked for in names need not be there: none is an answer"),
    (r"^sluice audit: --repair", "nothing was wrong, and so it says"),
    (r"^sluice upgrade: --yes", "there was no library to delete, and `upgrade` names those there are"),
    (r"^sluice enqueue: .* --after-group bacth --if-missing run", "that is what it is for: the job runs"),
    (r"^sluice enqueue: .* --then extend$", "without a delay the other is due at once, as docs/unique.md says"),
]
# --- How it is tried

UNKNOWN = "zzqqzzqq"  # like no key, so that the fault lists all
FILES = {"sluice.json": json.dumps(BASE), "wrong.json": '{"leese": "1s"}', "short.key": "x", "good.key": "k" * 40,
         "secret": "s" * 40, "jobs.jsonl": '{"type": "noop"}', "queeu.jsonl": '{"type": "noop", "queeu": "a"}',
         "defualt.jsonl": '{"type": "noop", "queue": "defualt"}'}
STORED = ["enqueue default noop '{\"customer\": 5}' --id order-7 --in 1h", "group create batch",
          "recurring set nightly job=noop cron='0 3 * * *'", "throttler set semaphore:api limit=4"]


class Program:
    """Runs the program, each time in a new folder with the files and the store."""

    def __init__(self, path, folder):
        self.path, self.folder, self.numbers, self.known = path, folder, itertools.count(), {}
        self.first = os.path.join(folder, "first")
        os.mkdir(self.first)
        for name, text in FILES.items():
            with open(os.path.join(self.first, name), "w", opener=lambda p, how: os.open(p, how, 0o600)) as file:
                file.write(text + "\n")
        for line in STORED:
            code, _, told = self.run_in(self.first, shlex.split(line) + ["--store", "sqlite:jobs.db"])
            if code != 0:
                sys.exit(f"the store to try with cannot be made: {line}: {told}")

    def run_in(self, folder, words):
        variables = [word for word in words if word.startswith("SLUICE_")]
        words = words[len(variables):]
        environment = dict([variable.split("=", 1) for variable in variables], PATH=os.environ["PATH"], HOME=folder)
        deadline = ["timeout", "2"] if words[0] in SERVES else []  # which ends it as a person does
        ran = subprocess.run([*deadline, self.path, *words], cwd=folder, env=environment, capture_output=True,
                             stdin=subprocess.DEVNULL, text=True, timeout=10, check=False)
        return ran.returncode, *(self.plain(text, folder) for text in (ran.stdout, ran.stderr))

    def run(self, words, config=BASE):
        folder = os.path.join(self.folder, str(next(self.numbers)))
        shutil.copytree(self.first, folder)
        with open(os.path.join(folder, "sluice.json"), "w") as file:
            json.dump(config, file)
        got = self.run_in(folder, words)
        shutil.rmtree(folder)
        return got

    # What is run without a trial, and so for many.
    def run_known(self, words, config=BASE):
        of = json.dumps([words, config])
        if of not in self.known:
            self.known[of] = self.run(words, config)
        return self.known[of]

    @staticmethod
    def plain(text, folder):  # without what is another each time
        text = re.sub(r"(?m)^\d{4}-\S+Z ", "", text.replace(os.path.realpath(folder) + "/", ""))
        text = re.sub(r"\b01[0-9a-z]{24}\b", "ID", text)
        return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z?|(?<=localhost:)\d{5}|(?<=pid )\d+", "…", text)


def misspelt(word):
    at = next((i for i in range(len(word) - 2, -1, -1) if word[i:i + 2].isalpha() and word[i] != word[i + 1]), 0)
    return word[:at] + word[at:at + 2][::-1] + word[at + 2:]


def at(tree, pointer):
    for part in pointer.strip("/").split("/") if pointer.strip("/") else []:
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def changed(tree, changes):
    tree = copy.deepcopy(tree)
    for pointer, value in changes.items():
        *way, last = pointer.strip("/").split("/")
        inner = tree
        for part in way:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return tree


# In which words it may be told: as it was written, or a part of it.
def names_in(words):
    parts = {part.strip("-") for word in words for part in [word, *re.split(r"[:=,./?]", word)]}
    return {name for part in parts if len(part) > 1 for name in (part, part.replace("-", "_"))}


# What was said that is not said without the trial: whether it is a fault, and the first line that names what was tried.
def judge(got, without, names):
    (code, out, told), (_, out_before, told_before) = got, without
    lines = [line for line in told.splitlines() if line not in told_before.splitlines()]
    if code == 124:  # it served until it was ended
        code, lines = 0, [line for line in lines if not line.startswith("info ")]
    lines += [line for line in out.splitlines() if line not in out_before.splitlines()
              and re.search("^  types that need|already$|was not there$", line)]
    lines = [line for line in lines if not re.match("warning store .* is volatile", line)]  # of any in memory
    naming = [line for line in lines if any(name.lower() in line.lower() for name in names_in(names))]
    sentence = re.sub(r"^(sluice(\.json|[a-z -]*): |warning: |warning |error )+", "", (naming + lines + [""])[0])
    if not naming:
        return "", f"(without naming it) {sentence}" if sentence else ""
    return "fault" if code != 0 else "warning", sentence


# --- The configuration

# All keys by their pointers, and what a fault says that each must be.
def learn_keys(program, wrong):
    def faults(changes):
        told = program.run(["check", "sluice.json"], changed(BASE, changes))[2]
        return dict(re.findall(r"(?m)^sluice\.json: (/[^:]*): (.*)$", told)[::-1])

    keys, objects = {}, [""]
    while objects:
        told = faults({f"{pointer}/{UNKNOWN}": 1 for pointer in objects})
        found = [f"{pointer}/{key}" for pointer in objects for key in dict.fromkeys(
            told[f"{pointer}/{UNKNOWN}"].partition("known here: ")[2].split(", "))]
        told, objects = faults(dict.fromkeys(found)), []
        for pointer in found:
            keys[pointer] = told.get(pointer, "")
            if not keys[pointer]:
                wrong.append(f"{pointer}: null is taken without a fault")
            elif keys[pointer].startswith("must be an object, not"):
                objects.append(pointer)
            elif re.match("must be an object(?! of texts)", keys[pointer]):  # by names, for which BASE has some
                entries = at(BASE, pointer) or {}
                objects += [f"{pointer}/{name}" for name in entries if isinstance(entries[name], dict)]
                if not entries:
                    wrong.append(f"{pointer}: no trial; give it a name in BASE")
    return keys


def config_trials(keys, wrong):
    for pointer, must in keys.items():
        types = [make(*re.match(pattern, must).groups()) for pattern, make in TYPES if re.match(pattern, must)]
        ends = max((end for end in KEYS if pointer.endswith(end)), key=len, default="")
        if not (ends if not types or re.match("must be a (text|list)", must) else types):
            wrong.append(f"{pointer}: no trial; it {must}")
        yield from ({pointer: value} for value in sum(types, []) + KEYS.get(ends, []))
        parent, _, key = pointer.rpartition("/")
        yield {f"{parent}/{misspelt(key)}": at(BASE, pointer) or 1}
    for changes in CONTRADICTIONS:
        pointer = "/" + next(iter(changes))
        if not any(pointer.startswith(key) for key in keys):
            wrong.append(f"{pointer}: a contradiction of a key that is not there")
        yield changes


def texts_of(value):
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else None
    return [str(value)] if parts is None else [text for part in parts for text in texts_of(part)]


# Trials of one key each, many in one file, since a check tells all faults: those that it tells at their keys.
def try_together(program, trials):
    rows, left = {}, [changes for changes in trials if len(changes) == 1 and "/" == [*changes][0][0]]
    while left:
        some, later = {}, []
        for changes in left:
            (pointer, value), = changes.items()
            if any(f"{one}/".startswith(f"{pointer}/") or f"{pointer}/".startswith(f"{one}/") for one in some):
                later.append(changes)
            else:
                some[pointer] = value
        told = program.run(["check", "sluice.json"], changed(BASE, some))[2]
        for pointer, sentence in re.findall(r"(?m)^sluice\.json: (/[^:]*): (.*)$", told):
            if pointer in some:
                rows[json.dumps({pointer: some[pointer]})] = "fault", sentence
        left = later
    return rows


def try_config(program, changes, told):
    written = ", ".join(f"{pointer.strip('/')}: {json.dumps(value)}" for pointer, value in changes.items())
    where = next(iter(changes)).strip("/")
    if json.dumps(changes) in told:
        return where, written, *told[json.dumps(changes)]
    names = [word for pointer, value in changes.items() for word in [*pointer.split("/")[-2:], *texts_of(value)]]
    verdict = sentence = ""
    for command, storage in [("check", {}), ("work", {"storage": "sqlite:no/such/folder.db"})]:
        config = changed(BASE, {**storage, **changes})
        line = [command, "sluice.json"]
        verdict, sentence = judge(program.run(line, config), program.run_known(line, changed(BASE, storage)), names)
        if verdict:
            break
    return where, written, verdict, f"(work) {sentence}" if verdict and command == "work" else sentence


# --- The commands

# Each command, with its options and words and what each takes, as its help says.
def learn_commands(program, path=()):
    text = program.run([*path, "--help"])[1]
    takes = re.findall(r"(?m)^  (?:-h,)?(--[a-z-]+|[A-Z]+)((?: \S+)*)(?:  .*)?$", text.partition("\nUsage: ")[2])
    below = re.findall(r"(?m)^  ([a-z-]+).*$", text.partition("\nSubcommands:\n")[2])
    if not below or not path or "[SUBCOMMAND]" in text:
        yield " ".join(path), [(name, kind.strip()) for name, kind in takes if name not in ("--help", "--version")]
    for name in below:
        yield from learn_commands(program, (*path, name))


# What is tried of an option or a word; none: nothing is known of it.
def words_for(command, name, kind):
    own = OPTIONS.get(f"{command} {name}", OPTIONS.get(name))
    choices, ends = re.search(r"\{([^,}]*)", kind), re.search(r"\[(\d+) - (\d+)\]", kind)
    if choices:
        return [misspelt(choices[1]), *(own or [])]
    if kind.startswith("UINT"):
        return ["four", "-1", *([str(int(ends[1]) - 1), str(int(ends[2]) + 1)] if ends else []), *(own or [])]
    return own


def command_trials(commands, wrong):
    shared, seen = commands.pop(""), set()
    wrong += [f"sluice {command}: is tried and is not there" for command in COMMANDS if command not in commands]
    wrong += [f"sluice {command}: no trial; give it words in COMMANDS" for command in commands.keys() - COMMANDS.keys()]
    for command, takes in commands.items():
        places = [one for one in takes if one[0][0] != "-"]
        options = [one for one in takes if one[0][0] == "-"]
        options += [one for one in shared if one[0] not in [name for name, _ in options]]
        all_words = [shlex.split(words) for words in COMMANDS.get(command, [])]
        for words, (name, kind) in itertools.product(all_words, options):
            # What the parser refuses for any command: once for each option.
            is_first = (name, kind) not in seen
            seen.add((name, kind))
            if not re.match("TEXT|UINT|FILE", kind):
                yield from [(command, words, [*words, f"{name}=maybe"], [name])] if is_first else []
                yield from [(command, words, [*words, name], [])] if name not in words else []
                continue
            values = words_for(command, name, kind)
            if values is None:
                wrong.append(f"sluice {command} {name}: no trial")
            yield from ((command, words, [*words, f"{name}={value}"], [name, value]) for value in values or [])
            if is_first:
                yield command, words, [*words, name, ""], [name]
            if is_first and "..." not in kind and values:
                yield command, words, [*words, name, values[0], name, values[0]], [name]
        words = (all_words or [[]])[0]
        yield command, words, [*words, "--" + UNKNOWN], [UNKNOWN]
        for place, (name, kind) in enumerate(places):
            values = words_for(command, name, kind)
            if values is None:
                wrong.append(f"sluice {command} {name}: no trial")
            for value in values or []:
                yield command, words, [*words[:place], value, *words[place + 1:]], [name, value]
        if not any("..." in kind for _, kind in places):
            yield command, words, [*words, *["extra"] * max(1, len(places) + 1 - len(words))], ["extra"]
    for line in PAIRS.strip().splitlines():
        words = line.split()
        variables = [word for word in words if word.startswith("SLUICE_")]
        words = words[len(variables):]
        command = " ".join(words[:2]) if " ".join(words[:2]) in commands else words[0]
        more = words[len(command.split()):]
        first = shlex.split(COMMANDS[command][0])
        yield command, first, [*variables, *first, *more], [w for w in variables + more if w not in first]


def try_command(program, command, before, words, names):
    def whole(words):
        named = any(word.startswith(("--store", "--config", "SLUICE_STORAGE")) for word in words)
        variables = [word for word in words if word.startswith("SLUICE_")]
        line = [*variables, *command.split(), *words[len(variables):]]
        return line if named or command in WITHOUT_STORE else [*line, "--store=sqlite:jobs.db"]

    got, without = program.run(whole(words)), program.run_known(whole(before))
    verdict, sentence = judge(got, without, names or words[-1:])
    if not verdict and not names and got != without:
        verdict = "effect"  # of a flag, and to be seen
    return f"sluice {command}", shlex.join(words), verdict, sentence


def main(path, shows_table):
    wrong, counts = [], dict.fromkeys(["fault", "warning", "why not", "NOTHING"], 0)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where nothing waits for a disk
    with tempfile.TemporaryDirectory(prefix="sluice-test-", dir=memory) as folder, ThreadPoolExecutor(2) as two:
        program = Program(os.path.abspath(path), folder)
        trials = list(config_trials(learn_keys(program, wrong), wrong))
        told = try_together(program, trials)
        tried = [two.submit(try_config, program, one, told) for one in trials]
        trials = command_trials(dict(learn_commands(program)), wrong)
        tried += [two.submit(try_command, program, *one) for one in trials]
        rows = [one.result() for one in tried]
    if shows_table:
        print("| where | what was written | what is said | the sentence |\n|---|---|---|---|")
    for where, written, verdict, sentence in rows:
        if verdict == "effect":
            continue
        row = f"{where}: {written}"
        if not verdict:
            why = next((why for pattern, why in REASONS if re.search(pattern, row)), None)
            verdict, sentence = ("why not", why) if why else ("NOTHING", sentence)
        counts[verdict] += 1
        if shows_table or verdict == "NOTHING":
            cells = [where, f"`{written}`", verdict, sentence[:100]]
            print("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    for sentence in sorted(wrong):
        print(sentence)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if wrong or counts["NOTHING"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--table" in sys.argv[2:]))
