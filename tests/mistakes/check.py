#!/usr/bin/env python3
"""What a compiler says first to whoever uses the headers in a way that comes to mind: what to write instead, or nothing,
since it compiles.

usage: check.py COMPILER INCLUDE_FOLDER
"""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

# Read once and kept as the compiler keeps it.
PLAIN = """
#include <sluice/client.hpp>
#include <sluice/config.hpp>
#include <sluice/server.hpp>
struct report { int day = 0; };
struct service { void run(const report&) {} };
"""
JSON = """
#include <sluice/sluice.hpp>
struct report { int day = 0; };
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(report, day)
struct mail { std::string to; };  // without JSON
struct sealed { explicit sealed(int n) : n(n) {} int n; };
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(sealed, n)
"""
ACTORS = "#include <sluice/actors.hpp>\n#include <sluice/client.hpp>\n"

MACRO = "write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TYPE, MEMBERS...)"
HEADER = "write #include <sluice/json.hpp>"
MEANING = "write sluice::queue_name(text), job_type(text), job_id(text), group_name(text) or server_id(text)"

# What was tried, what the first error must say, and the body of a function that has a server, a client and a text.
MISTAKES = [
    # Functions that are no handlers.
    ("args that are not const", "write (const ARGS& args)", PLAIN, "server.handle<report>(\"x\", [](report&) {});"),
    ("args that are not const, and not named", "write (const ARGS& args)", PLAIN, "server.handle(\"x\", [](report&) {});"),
    ("the context before the args", "write (const ARGS& args, sluice::job_context& job)", PLAIN,
     "server.handle<report>(\"x\", [](sluice::job_context&, const report&) {});"),
    ("a member function", "write handle(\"type\", [&object]", PLAIN, "server.handle<report>(\"x\", &service::run);"),
    ("a stop token behind the args", "take sluice::job_context& job, and ask job.stop()", PLAIN,
     "server.handle<report>(\"x\", [](const report&, std::stop_token) {});"),
    ("the context by value", "write sluice::job_context& job", PLAIN, "server.handle(\"x\", [](sluice::job_context) {});"),
    ("a function that cannot be copied", "hold what is not by std::shared_ptr", PLAIN,
     "server.handle(\"x\", [held = std::make_unique<int>(1)](sluice::job_context&) {});"),
    ("other args than those named", "[](const ARGS& args) { ... }", PLAIN,
     "server.handle<report>(\"x\", [](const service&) {});"),
    ("the args as a text", "read job.args()", PLAIN, "server.handle(\"x\", [](const std::string&) {});"),
    ("no function at all", "a handler is a function: write", PLAIN, "server.handle(\"x\", 42);"),
    ("one parameter too many", "a handler takes (const ARGS& args), (sluice::job_context& job), or both", PLAIN,
     "server.handle(\"x\", [](const report&, sluice::job_context&, int) {});"),
    ("a generic function", "write handle<ARGS>", PLAIN, "server.handle(\"x\", [](auto&, auto) {});"),
    ("an actor that is no throttler", "spawn a function that returns sluice::throttler_actor::behavior_type", ACTORS,
     "sluice::handler_registry all; sluice::throttle_by_actor(all, \"x\", caf::actor());"),
    # JSON.
    ("args without the header", HEADER, PLAIN, "server.handle(\"x\", [](const report&) {});"),
    ("a job without the header", HEADER, PLAIN, "(void)client.enqueue(\"x\", report{1});"),
    ("a result without the header", HEADER, PLAIN, "server.handle(\"x\", [] { return report{1}; });"),
    ("args without JSON", MACRO, JSON, "server.handle<mail>(\"x\", [](const mail&) {});"),
    ("a job of args without JSON", MACRO, JSON, "(void)client.enqueue(\"x\", mail{});"),
    ("a result without JSON", MACRO, JSON, "server.handle(\"x\", [] { return mail{}; });"),
    ("args that cannot be made from nothing", "needs a default constructor", JSON,
     "server.handle(\"x\", [](const sealed&) {});"),
    # Names.
    ("a text where a queue is wanted", MEANING, PLAIN, "sluice::new_job job{.queue = text};"),
    ("a text where a type is wanted", MEANING, PLAIN, "sluice::recurring nightly{.job = text.c_str()};"),
    ("a text where an id is wanted", MEANING, PLAIN, "(void)client.get(text);"),
    ("a queue where a type is wanted", "queue_name", PLAIN, "sluice::new_job job{.type = sluice::queue_name(\"slow\")};"),
    ("a literal that is no name", "the name of a queue must be 1 to 200 characters of A-Z a-z 0-9 _ . : -", PLAIN,
     "const auto queue = \"slow queue\"_queue;"),
    ("a literal without a letter", "the id of a job must be 1 to 200 characters", PLAIN, "const auto none = \"\"_id;"),
]

# What comes to mind and is right.
RIGHT = """
  server.handle("x", [](const report&) {});
  server.handle("x", [](report, sluice::job_context&) { return 1; });
  server.handle("x", [] {});
  server.handle<report>("x", [](const report& args) { return args; });
  sluice::new_job job{.type = "report", .queue = "slow"};
  sluice::recurring nightly{.name = "nightly", .job = "report"};
  (void)client.get("order-7"), (void)client.requeue("order-7"), (void)client.enqueue("report", report{1});
  sluice::new_job named{.type = "report"_type, .queue = "slow"_queue, .id = "order-7"_id};
  sluice::retry_policy retry{.attempts = 3, .delay = 5s};
  sluice::server_options options{.lease = 30s, .jobs = {{"mail", {.queue = "slow", .retry = {.attempts = 1}}}}};
  (void)sluice::client::open(options), (void)sluice::client::open(sluice::load_options("sluice.json"));
  (void)sluice::client::open({.storage = "sqlite:x.db", .deadline = 1s}), (void)sluice::client::open({});
"""


class Compiler:
    def __init__(self, program, headers, folder):
        self.folder = folder
        self.words = [program, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-I", headers]

    def run(self, *words):
        return subprocess.run(self.words + list(words), cwd=self.folder, capture_output=True, text=True, check=False)

    def keep(self, prelude):
        name = self.name_of(prelude)
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(prelude)
        kept = self.run("-x", "c++-header", name, "-o", name + ".gch")
        if kept.returncode != 0:
            sys.exit(f"the headers alone do not compile:\n{kept.stderr}")

    def name_of(self, prelude):
        return {PLAIN: "plain.hpp", JSON: "json.hpp", ACTORS: "actors.hpp"}[prelude]

    # What it says of the headers in C++17: so many lines.
    def said_of_cpp17(self):
        return self.run("-std=c++17", "-fsyntax-only", "-x", "c++", "json.hpp").stderr.splitlines()

    # The first line that tells of an error; empty: it compiles.
    def first_error(self, number, prelude, body):
        source = f"attempt_{number}.cpp"
        with open(os.path.join(self.folder, source), "w") as file:
            file.write("using namespace std::chrono_literals;\nusing namespace sluice::literals;\n"
                       "void use(sluice::server& server, sluice::client& client, std::string text) {\n"
                       f"{body}\n(void)server, (void)client, (void)text;\n}}\n")
        said = self.run("-include", self.name_of(prelude), "-fsyntax-only", source)
        errors = [line.replace('\\"', '"') for line in said.stderr.splitlines() if "error: " in line]
        return errors[0] if errors else said.stderr if said.returncode != 0 else ""


def main(program, headers):
    with tempfile.TemporaryDirectory(prefix="sluice-test-") as folder, ThreadPoolExecutor(2) as two:
        compiler = Compiler(program, headers, folder)
        list(two.map(compiler.keep, [ACTORS, JSON, PLAIN]))
        right = two.submit(compiler.first_error, "right", JSON, RIGHT)
        said = list(two.map(lambda at: compiler.first_error(at, *MISTAKES[at][2:]), range(len(MISTAKES))))
        wrong = [f"what is right: {right.result()}"] if right.result() else []
        cpp17 = compiler.said_of_cpp17()
        if not any("error: " in line and "Sluice needs C++20: compile with" in line for line in cpp17) or len(cpp17) > 20:
            wrong.append(f"C++17: it must be told in 20 lines that C++20 is needed, but is in {len(cpp17)}: {cpp17[:3]}")
        for (tried, must, _, _), first in zip(MISTAKES, said):
            if must not in first:
                wrong.append(f"{tried}: the first error must say '{must}' but is: {first or 'none'}")
    print("\n".join(wrong) or f"{len(MISTAKES)} mistakes are told what to write")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], os.path.abspath(sys.argv[2])))
