#!/usr/bin/env python3
"""Runs a tenth of the cases of a Catch2 program, drawn by a seed: PROGRAM_SEED, or one of its own, which it prints.

usage: drawn.py PROGRAM CASES [WORDS...]    CASES: in the words of Catch2. WORDS: for the program
"""
import os
import random
import subprocess
import sys
import tempfile

program, cases, words = sys.argv[1], sys.argv[2], sys.argv[3:]


def listed(*how):
    # Catch2 2 ends with the number of cases as its exit code.
    return [line for line in subprocess.run([program, *how, cases], capture_output=True, text=True).stdout.splitlines() if line]


names = listed("--list-test-names-only") or listed("--list-tests", "--verbosity", "quiet")
if not names:
    sys.exit(f"{program} has no case {cases}")
seed = int(os.environ.get("PROGRAM_SEED") or random.randrange(2**32))
drawn = random.Random(seed).sample(sorted(names), -(-len(names) // 10))
print(f"{len(drawn)} of {len(names)} cases; the same again: PROGRAM_SEED={seed}", flush=True)
with tempfile.NamedTemporaryFile("w", suffix=".cases") as chosen:
    # A comma ends a name for Catch2, also in quotes.
    chosen.write("".join(name.replace("\\", "\\\\").replace(",", "\\,") + "\n" for name in drawn))
    chosen.flush()
    sys.exit(subprocess.run([program, *words, "-f", chosen.name]).returncode)
