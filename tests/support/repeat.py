#!/usr/bin/env python3
"""Runs tests of a build again and again beside busy processors, and tells which cases failed, and how often.

usage: repeat.py BUILD SUITE TIMES    SUITE: a regular expression that the names of tests of ctest begin with
Two loops keep two processors busy meanwhile. What a failed run printed stays in BUILD/repeat/.
"""
import collections
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

build, suite, times = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3])
kept = os.path.join(build, "repeat")
os.makedirs(kept, exist_ok=True)
listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", "-R", f"^({suite})"],
                        check=True, capture_output=True, text=True)
tests = [t for t in json.loads(listed.stdout)["tests"] if "command" in t]
if not tests:
    sys.exit(f"no test begins with {suite}")


def run(test, name):
    """The cases that failed, and how many there were."""
    properties = {p["name"]: p["value"] for p in test["properties"]}
    environment = os.environ | dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))
    argv = test["command"]
    told = os.path.join(kept, f"{name}.xml")
    if "-#" in argv:
        argv = argv + ["-r", "junit", "-o", told]
    log = os.path.join(kept, f"{name}.log")
    with open(log, "w") as out:
        try:
            code = subprocess.run(argv, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=environment,
                                  cwd=properties.get("WORKING_DIRECTORY"),
                                  timeout=4 * properties.get("TIMEOUT", 900)).returncode
        except subprocess.TimeoutExpired:
            code = "no end"
    failed, count = set(), 1
    if "-#" in argv and os.path.exists(told):
        try:
            cases = xml.parse(told).findall(".//testcase")
            count = len({c.get("name").split("/")[0] for c in cases})
            failed = {c.get("name") for c in cases if c.find("failure") is not None or c.find("error") is not None}
        except xml.ParseError:
            pass  # it was killed
    words = open(log, errors="replace").read()
    expected = properties.get("PASS_REGULAR_EXPRESSION", [])
    is_well = any(re.search(e, words) for e in expected) if expected else code == 0
    if not is_well and not failed:
        failed = {f"{test['name']} as a whole (exit {code})"}
    if not failed:
        os.remove(log)
        if os.path.exists(told):
            os.remove(told)
    return failed, count


busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
failures, ran, begun = collections.Counter(), 0, time.monotonic()
try:
    for time_of_it in range(1, times + 1):
        for test in tests:
            failed, count = run(test, re.sub(r"\W+", "_", test["name"]) + f".{time_of_it}")
            ran += count
            failures.update(failed)
            for case in failed:
                print(f"run {time_of_it}: failed: {case}", flush=True)
finally:
    for one in busy:
        one.kill()
for case, often in failures.most_common():
    print(f"{often} of {times}: {case}")
print(f"{suite}: {len(tests)} tests {times} times, {ran} cases in {time.monotonic() - begun:.0f} s: "
      f"{sum(failures.values())} failed")
sys.exit(1 if failures else 0)
