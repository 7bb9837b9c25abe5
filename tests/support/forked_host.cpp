// forked_host URL: opens a client that watches a job, a server and a lock, and forks. The child uses and ends what it
// inherited. Then it opens a server and a client of its own on Redis, which goes on when the parent has closed
// everything; the parent's file is refused until then. Says what went otherwise than it must, and exits 1 then.
#include <array>
#include <chrono>
#include <cstdio>
#include <future>
#include <optional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <sluice/client.hpp>
#include <sluice/lock.hpp>
#include <sluice/server.hpp>

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

int faults = 0;

void must(bool holds, const std::string& what) {
  if (holds) return;
  ++faults;
  std::fprintf(stderr, "forked_host %d: not so: %s\n", static_cast<int>(::getpid()), what.c_str());
}

// One way, between two processes.
class word {
public:
  word() { must(::pipe(ends_.data()) == 0, "there is a pipe"); }
  void say() const { must(::write(ends_[1], "x", 1) == 1, "the other process is told"); }
  void await() const {
    char said = 0;
    must(::read(ends_[0], &said, 1) == 1, "the other process tells");
  }

private:
  std::array<int, 2> ends_{-1, -1};
};

void enqueue(sluice::client& c, const std::string& name, int count) {
  for (int i = 0; i < count; ++i) {
    sluice::new_job job;
    job.type = sluice::job_type("noop");
    job.id = sluice::job_id(name + std::to_string(i));
    const auto stored = c.enqueue(std::move(job));
    must(stored.ok(), name + " is stored" + (stored ? "" : ": " + to_string(stored.error())));
  }
}

template <class Result>
void must_be_refused(const Result& told, pid_t parent, const std::string& what) {
  must(!told, what + " is refused");
  if (told) return;
  must(told.error().code == sluice::errc::not_running, what + " is told not_running: " + to_string(told.error()));
  must(told.error().message == "it was opened in another process (PID " + std::to_string(parent) +
                                   ") and cannot be used after fork(); open a new one here",
       what + " is told why: " + told.error().message);
}

struct opened {
  std::optional<sluice::client> client;
  std::future<sluice::result<sluice::job>> end;  // of a job that nobody runs
  std::optional<sluice::server> server;
  std::optional<sluice::lock_manager> locks;
  std::optional<sluice::held_lock> held;
};

// Of a queue without jobs.
sluice::server_options options_of(const std::string& url) {
  sluice::server_options made;
  made.storage = url;
  made.queues["other"].workers = 1;
  return made;
}

// Its deadlines are long: what is refused is so at once.
void open_all(opened& all, const std::string& url) {
  all.client.emplace(std::move(sluice::client::open({.storage = url, .deadline = 60s}).value()));
  all.server.emplace(options_of(url));
  const auto up = all.server->start();
  must(up.ok(), "the server starts");
  sluice::lock_options lock;
  lock.storage = url;
  lock.deadline = 60s;
  all.locks.emplace(std::move(sluice::lock_manager::open(lock).value()));
  all.held.emplace(std::move(all.locks->take("resource", 60s).value()));
}

void close_all(opened& all) {
  all.held.reset();
  all.locks.reset();
  all.server.reset();
  all.client.reset();
}

void use_inherited(opened& all, pid_t parent) {
  const auto began = steady_clock::now();
  sluice::new_job job;
  job.type = sluice::job_type("noop");
  must_be_refused(all.client->enqueue(std::move(job)), parent, "enqueue");
  must_be_refused(all.client->get(sluice::job_id("before0")), parent, "get");
  must_be_refused(all.client->queues(), parent, "queues");
  must_be_refused(all.client->when_ended(sluice::job_id("before0")).get(), parent, "when_ended");
  must_be_refused(all.locks->take("another", 60s), parent, "take");
  must(!all.held->still_held(), "the lock is its parent's");
  must_be_refused(all.held->release(), parent, "release");
  must_be_refused(all.server->start(), parent, "start");
  must(all.server->stop().unfinished == 0, "stop does nothing");
  must(steady_clock::now() - began < 20s, "it is refused at once");
  close_all(all);
}

int child(opened& all, const std::string& url, pid_t parent, const word& opened_anew, const word& parent_closed) {
  ::alarm(60);  // instead of hanging
  use_inherited(all, parent);
  auto fresh = sluice::client::open({.storage = url, .deadline = 20s});
  if (url.starts_with("sqlite:")) {
    must(!fresh && fresh.error().code == sluice::errc::not_running, "the parent's file is not_running");
    const auto why = fresh ? std::string() : fresh.error().message;
    must(why.find("process " + std::to_string(parent) + " had this file open when it forked") != std::string::npos,
         "the parent's file is refused: " + why);
    fresh = sluice::client::open({.storage = url + ".child", .deadline = 20s});
  }
  must(fresh.ok(), "a new client opens" + (fresh ? "" : ": " + to_string(fresh.error())));
  if (fresh) enqueue(*fresh, "child", 5);
  {
    sluice::server own(options_of(url + (url.starts_with("sqlite:") ? ".child" : "")));
    const auto up = own.start();
    must(up.ok(), "a new server starts" + (up ? "" : ": " + to_string(up.error())));
  }
  opened_anew.say();
  parent_closed.await();
  if (fresh) enqueue(*fresh, "late", 5);
  return faults > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("forked_host URL\n", stderr), 1;
  ::alarm(120);
  const std::string url = argv[1];
  opened all;
  open_all(all, url);
  enqueue(*all.client, "before", 1);
  all.end = all.client->when_ended(sluice::job_id("before0"));
  const word opened_anew, parent_closed;
  const auto parent = ::getpid();
  const auto made = ::fork();
  if (made == 0) ::_exit(child(all, url, parent, opened_anew, parent_closed));
  opened_anew.await();
  enqueue(*all.client, "parent", 5);
  const auto locks = all.client->locks(10);
  must(locks && locks->locks.size() == 1, "the child has freed no lock of its parent");
  must(all.held->still_held(), "the lock is held still");
  must(all.client->servers()->size() == 1, "the server is there still");
  must(all.end.wait_for(0s) == std::future_status::timeout, "the child's end of the client tells nobody");
  close_all(all);
  must(all.end.wait_for(0s) == std::future_status::ready, "who waits for an end is told when the client is destroyed");
  parent_closed.say();
  int status = 0;
  ::waitpid(made, &status, 0);
  must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends well");
  return faults > 0 ? 1 : 0;
}
