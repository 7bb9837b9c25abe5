// Signing up for a newsletter, and three jobs that end otherwise than by being run to their end:
//
// - Who clicks twice signs up once. Jobs with the same address have the same unique key, and one at a time is stored.
// - A welcome must be sent soon, or not at all. Its queue is paused, so the welcome expires; the receipt beside it has
//   time, and is sent when the queue goes on.
// - A newsletter goes to ten thousand readers when somebody sees the mistake in it, and cancels the job. The handler
//   looks whether it is to stop, and the job is not tried again.
//
// A program that was killed does the same again, and nothing is there twice.
//
//   sign_up [--folder PATH] [--store URL] [--careless]
#include <cstdio>

#include <sluice/sluice.hpp>

#include "common/book.hpp"
#include "common/folder.hpp"
#include "common/promises.hpp"
#include "common/work.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* usage = R"(usage: sign_up [--folder PATH] [--store URL] [--careless]

Somebody signs up with two clicks at once, a welcome mail expires since its queue is paused, and a newsletter is
cancelled while it is sent. Exit code 1: a promise was broken.

  --folder PATH   where the book of what happened is kept, and the store. A program that was killed goes on with what
                  it finds there. Default: a new temporary folder
  --store URL     as redis://localhost. Default: an SQLite file in the folder
  --careless      the same without a unique key and without a time to start, to see what they are for
  --help          this text
)";

constexpr unsigned readers = 10'000;
constexpr std::uint32_t links = 20'000;  // of the chain that makes a letter

struct sign_up {
  std::string email;
  std::string page;  // where somebody clicked
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(sign_up, email, page)

struct mail {
  std::string to;
  std::string text;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(mail, to, text)

struct letters {
  unsigned count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(letters, count)

sluice::server_options options_of(const std::string& store) {
  sluice::server_options options;
  options.storage = store;
  options.lease = 1s;  // short, so that a killed program is soon made up for; 30 s is usual
  options.queues["default"].workers = 2;
  options.queues["mail"].workers = 1;
  return options;
}

void handle_all(sluice::server& server, sample::book& book) {
  // The key keeps clicks apart while a job has it; an account that was made is known to the book.
  server.handle("create_account", [&](const sign_up& args) {
    return book.note("account", args.email) ? "created" : "was there already";
  });
  server.handle("send_mail", [&](const mail& args) { book.note(args.text, args.to); });
  server.handle("send_letters", [&](const letters& args, sluice::job_context& job) {
    for (unsigned n = 1; n <= args.count; ++n) {
      if (job.stop_requested()) {
        if (job.stop_reason() == sluice::stop_reason::cancelled) book.note("stopped", job.id().value);
        job.throw_if_stop_requested();  // the run ends; as it was cancelled, so does the job
      }
      const auto reader = "reader " + std::to_string(n);
      book.note("letter", reader + ": " + std::to_string(sample::checksum_chain(reader, links)));
    }
  });
}

class demonstration {
public:
  demonstration(sluice::client& client, sample::book& book, bool careless)
      : client_(client), book_(book), careless_(careless) {}

  int run() {
    click_twice();
    welcome_too_late();
    cancel_the_letters();
    return promises_.exit_code();
  }

private:
  sluice::new_job click_on(const std::string& page) const {
    auto job = sluice::make_job("create_account", sign_up{"ada@example.org", page});
    // Alike is who has the same address, wherever the click was. The key is free again when the job has ended.
    if (!careless_) job.unique = {.by = "{email}", .until = sluice::unique_until::end};
    return job;
  }

  void click_twice() {
    if (book_.entries("account") > 0) return;  // signed up before this program was killed; a page would say so
    const auto told = client_.enqueue_reporting({click_on("front"), click_on("footer")});
    const auto first = sample::must(told[0]), second = sample::must(told[1]);
    std::printf("the first click is %s, the second %s\n", std::string(name_of(first.what)).c_str(),
                std::string(name_of(second.what)).c_str());
    sample::must(client_.wait(first.id, 60s));
    sample::must(client_.wait(second.id, 60s));
    promises_.check(first.id == second.id, "two clicks at once are one job");
    promises_.check(book_.entries("account") == 1, "there is one account");
  }

  sluice::new_job mail_of(const sluice::job_id& id, const std::string& text) const {
    auto job = sluice::make_job("send_mail", mail{"ada@example.org", text});
    job.id = id;
    job.queue = "mail";
    return job;
  }

  void welcome_too_late() {
    sample::must(client_.pause("mail"));  // as when the mail provider is down
    auto welcome = mail_of("welcome-ada", "welcome");
    if (!careless_) welcome.start_within = 300ms;  // an hour would be usual
    for (auto& stored : client_.enqueue({welcome, mail_of("receipt-ada", "receipt")}))
      sample::must(std::move(stored));
    if (!careless_) sample::must(client_.wait("welcome-ada", 60s));
    sample::must(client_.resume("mail"));
    const auto late = sample::must(client_.wait("welcome-ada", 60s));
    const auto receipt = sample::must(client_.wait("receipt-ada", 60s));
    std::printf("the welcome is %s: %s\n", std::string(name_of(late.state)).c_str(), late.reason.c_str());
    promises_.check(ended_as_deleted(late, "expired") && book_.entries("welcome") == 0,
                    "the welcome expired, and was not sent");
    promises_.check(receipt.state == sluice::job_state::succeeded && book_.entries("receipt") == 1,
                    "the receipt was sent when the queue went on");
  }

  void cancel_the_letters() {
    auto job = sluice::make_job("send_letters", letters{readers});
    job.id = "letters-march";
    sample::must(client_.enqueue(std::move(job)));
    const bool begun = sample::until([&] { return book_.entries("letter") > 0; }, 60s);
    sample::must(client_.cancel("letters-march"));  // it runs: this asks, and does not wait
    const auto ended = sample::must(client_.wait("letters-march", 60s));
    const auto sent = book_.entries("letter");
    std::printf("the letters are %s: %s\n", std::string(name_of(ended.state)).c_str(), ended.reason.c_str());
    promises_.check(begun && sent < readers, "not all letters were sent: " + std::to_string(sent) + " of 10000");
    promises_.check(book_.entries("stopped") == 1 || was_lost(ended), "their handler was told that they are cancelled");
    promises_.check(ended_as_deleted(ended, "cancelled"), "their job is deleted, and not tried again");
  }

  static bool ended_as_deleted(const sluice::job& job, const std::string& cause) {
    return job.state == sluice::job_state::deleted && !job.history.empty() && job.history.back().cause == cause;
  }
  // Its program was killed between the cancel and the handler's next look.
  static bool was_lost(const sluice::job& job) { return job.losses > 0; }

  sluice::client& client_;
  sample::book& book_;
  const bool careless_;
  sample::promises promises_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto words = sample::read_words(
      argc, argv, usage, {.store = "", .switches = {{"--careless", false}}, .texts = {{"--folder", ""}}});
  sluice::set_log_level(sluice::log_level::error);  // runs that are stopped or lost are expected here
  const sample::folder folder(words.texts.at("--folder"));
  sample::book book(folder.file("book.db"));
  const auto options = options_of(words.store.empty() ? "sqlite:" + folder.file("jobs.db") : words.store);

  auto client = sample::must(sluice::client::open(options));
  sluice::server server(options);
  handle_all(server, book);
  sample::must(server.start());
  const auto code = demonstration(client, book, words.switches.at("--careless")).run();
  server.stop();
  return code;
}
