// The threads that speak to a store.
#include "storage/shared_store.hpp"

#include <atomic>
#include <future>

#include "storage/contract.hpp"
#include "support/gated_store.hpp"
#include "support/passing_store.hpp"

using namespace sluice;
using namespace sluice::test;
using storage::shared_store;

namespace {

using std::chrono::steady_clock;

storage::request heavy(std::uint32_t weight) {
  storage::claim_request r;
  r.queue.value = "default";
  r.free = weight - 1;
  return r;
}

steady_point soon() { return steady_clock::now() + 20s; }
steady_point passed() { return steady_clock::now() - 1s; }

}  // namespace

TEST_CASE("Callers of many threads get their own answers, in their own order", "[runner]") {
  gate g;
  shared_store r(std::make_unique<gated_store>(g));
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 8; ++t)
    callers.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto id = "j" + std::to_string(t) + "-" + std::to_string(i);
        const auto got = r.call({get_of(id), enqueue_of(id), get_of(id)}, soon());
        if (got.size() != 3) continue;
        const auto* before = std::get_if<storage::get_answer>(&got[0]);
        const auto* stored = std::get_if<storage::enqueue_answer>(&got[1]);
        const auto* after = std::get_if<storage::get_answer>(&got[2]);
        right += before && before->code == errc::not_found && stored && stored->each.size() == 1 && after &&
                 after->found && after->found->id.value == id;
      }
    });
  for (auto& c : callers)
    c.join();
  CHECK(right == 8 * 50);
}

TEST_CASE("What waits meanwhile becomes one batch, answered in order", "[runner]") {
  gate g;
  g.open = false;
  std::vector<int> submission;
  {
    shared_store r(std::make_unique<gated_store>(g));
    const auto note = [&](int n) {
      return [&submission, n](const shared_store::answers&) { submission.push_back(n); };
    };
    r.submit({get_of("x")}, note(0));
    g.wait_entered(1);
    r.submit({enqueue_of("a"), enqueue_of("b")}, note(1));
    r.submit({get_of("a")}, [&](const shared_store::answers& got) {
      submission.push_back(2);
      CHECK(std::get<storage::get_answer>(got.at(0)).found.has_value());
    });
    r.submit({}, note(3));
    r.submit({enqueue_of("c")}, note(4));
    g.set(true);
  }
  CHECK(submission == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(g.batches == std::vector<std::size_t>{1, 4});
}

TEST_CASE("What may go beside does so while the first thread is busy, and passes what may not", "[runner]") {
  gate g;
  way_in way;
  g.open = false;
  std::promise<int> beside;
  std::vector<int> submission;
  std::promise<void> hint;
  {
    shared_store r(std::make_unique<two_connection_store>(g, way));
    auto listens = r.subscribe([&](const storage::hint&) { hint.set_value(); });
    const auto note = [&](int n) {
      return [&submission, n](const shared_store::answers&) { submission.push_back(n); };
    };
    r.submit({get_of("x")}, note(0), storage::priority::unordered);  // nobody is busy: the first thread takes it
    g.wait_entered(1);
    r.submit({enqueue_of("a")}, note(1));
    r.submit(
        {get_of("a")}, [&](const shared_store::answers& got) { beside.set_value(static_cast<int>(got.size())); },
        storage::priority::unordered);
    r.submit({get_of("b")}, note(2));
    CHECK(beside.get_future().get() == 1);
    CHECK(way.passing.batches == std::vector<std::size_t>{1});
    hint.get_future().wait();  // of the second thread: the first is still at the store
    listens.reset();
    g.set(true);
  }
  CHECK(submission == std::vector<int>{0, 1, 2});
  CHECK(g.batches == std::vector<std::size_t>{1, 2});
}

TEST_CASE("While the second connection is away the first thread does all, in order", "[runner]") {
  gate g;
  way_in way;
  g.open = false;
  way.up = false;
  std::vector<int> submission;
  {
    shared_store r(std::make_unique<two_connection_store>(g, way));
    const auto note = [&](int n) {
      return [&submission, n](const shared_store::answers&) { submission.push_back(n); };
    };
    r.submit({get_of("x")}, note(0));
    g.wait_entered(1);
    for (int i = 1; i < 5; ++i)
      r.submit({get_of("x")}, note(i), i % 2 == 0 ? storage::priority::unordered : storage::priority::in_order);
    const auto timeout = steady_clock::now() + 20s;
    while (way.looked < 3 && steady_clock::now() < timeout)
      std::this_thread::yield();
    CHECK(way.looked >= 3);  // it tries again
    g.set(true);
  }
  CHECK(submission == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(way.passing.batches.empty());
}

TEST_CASE("What is at the second connection is answered before the shared store ends", "[runner]") {
  gate g;
  way_in way;
  g.open = way.passing.open = false;
  std::atomic<int> answered = 0;
  {
    shared_store r(std::make_unique<two_connection_store>(g, way));
    const auto count = [&](const shared_store::answers&) { ++answered; };
    r.submit({get_of("x")}, count);
    g.wait_entered(1);
    r.submit({get_of("x")}, count, storage::priority::unordered);
    way.passing.wait_entered(1);
    for (int i = 0; i < 50; ++i)
      r.submit({get_of("x")}, count, i % 2 == 0 ? storage::priority::unordered : storage::priority::in_order);
  }
  CHECK(answered == 52);
}

TEST_CASE("A batch is bounded, and what is larger goes alone", "[runner]") {
  gate g;
  g.open = false;
  {
    shared_store r(std::make_unique<gated_store>(g));
    const auto ignore = [](const shared_store::answers&) {};
    r.submit({get_of("x")}, ignore);
    g.wait_entered(1);
    for (int i = 0; i < 4; ++i)
      r.submit({heavy(1'000)}, ignore);
    r.submit({heavy(5'000)}, ignore);
    r.submit({heavy(1)}, ignore);
    g.set(true);
  }
  CHECK(g.batches == std::vector<std::size_t>{1, 2, 2, 1, 1});
}

TEST_CASE("What goes first passes all that waits and little goes with it", "[runner]") {
  gate g;
  std::vector<int> submission;
  {
    shared_store r(std::make_unique<gated_store>(g));
    const auto note = [&](int n) {
      return [&submission, n](const shared_store::answers&) { submission.push_back(n); };
    };
    g.set(false);
    r.submit({get_of("x")}, note(0));
    g.wait_entered(1);
    r.submit({heavy(1'000)}, note(1));
    r.submit({get_of("x")}, note(2));
    r.submit({get_of("x")}, note(3), storage::priority::urgent);
    r.submit({get_of("x"), get_of("y")}, note(4), storage::priority::urgent);
    g.set(true);
  }
  CHECK(submission == std::vector<int>{0, 3, 4, 1, 2});
  CHECK(g.batches == std::vector<std::size_t>{1, 3, 2});
}

TEST_CASE("What goes first passes what the second connection may not take", "[runner]") {
  gate g;
  way_in way;
  g.open = false;
  std::promise<void> answered;
  shared_store r(std::make_unique<two_connection_store>(g, way));
  const auto ignore = [](const shared_store::answers&) {};
  r.submit({heavy(5'000)}, ignore);
  g.wait_entered(1);
  r.submit({heavy(5'000)}, ignore);
  r.submit(
      {get_of("x")}, [&](const shared_store::answers&) { answered.set_value(); }, storage::priority::urgent);
  CHECK(answered.get_future().wait_for(20s) == std::future_status::ready);
  CHECK(g.batches == std::vector<std::size_t>{1});  // the first thread is still at it
  g.set(true);
}

TEST_CASE("A call that could not begin by its deadline is withdrawn", "[runner]") {
  gate g;
  g.open = false;
  shared_store r(std::make_unique<gated_store>(g));
  std::promise<void> first;
  r.submit({get_of("x")}, [&](const shared_store::answers&) { first.set_value(); });
  g.wait_entered(1);
  const auto got = r.call({enqueue_of("a"), get_of("a")}, passed());
  REQUIRE(got.size() == 2);
  for (const auto& a : got)
    CHECK(code_of(a) == errc::storage_busy);
  g.set(true);
  first.get_future().wait();
  CHECK(std::get<storage::get_answer>(r.call({get_of("a")}, soon()).at(0)).code == errc::not_found);
}

TEST_CASE("A call whose deadline passed while the store was at it says that it does not know", "[runner]") {
  gate g;
  g.open = false;
  shared_store r(std::make_unique<gated_store>(g));
  const auto got = r.call({enqueue_of("a")}, steady_clock::now() + 300ms);
  const bool begun = [&] {
    const std::lock_guard hold(g.mutex);
    return g.entered == 1;
  }();
  CHECK(code_of(got.at(0)) == (begun ? errc::unknown_outcome : errc::storage_busy));
  g.set(true);
  const auto after = std::get<storage::get_answer>(r.call({get_of("a")}, soon()).at(0));
  CHECK(after.found.has_value() == begun);
}

TEST_CASE("A caller waits for room, and is told when there is none in time", "[runner]") {
  gate g;
  g.open = false;
  shared_store r(std::make_unique<gated_store>(g));
  const auto ignore = [](const shared_store::answers&) {};
  r.submit({get_of("x")}, ignore);
  g.wait_entered(1);
  r.submit({heavy(100'000)}, ignore);
  CHECK(code_of(r.call({enqueue_of("a")}, passed()).at(0)) == errc::overloaded);
  auto late = std::async(std::launch::async, [&] { return r.call({enqueue_of("b")}, soon()); });
  r.submit({enqueue_of("c")}, ignore);  // never refused
  g.set(true);
  CHECK(code_of(late.get().at(0)) == errc::none);
  CHECK(std::get<storage::get_answer>(r.call({get_of("a")}, soon()).at(0)).code == errc::not_found);
  CHECK(std::get<storage::get_answer>(r.call({get_of("c")}, soon()).at(0)).found.has_value());
}

TEST_CASE("What was submitted is answered before the shared store ends", "[runner]") {
  gate g;
  g.open = false;
  int answered = 0;
  {
    shared_store r(std::make_unique<gated_store>(g));
    for (int i = 0; i < 50; ++i)
      r.submit({enqueue_of("j" + std::to_string(i))},
               [&](const shared_store::answers& got) { answered += code_of(got.at(0)) == errc::none; });
  }  // opens the gate: the store is told to stop waiting
  CHECK(answered == 50);
}

TEST_CASE("Listeners are told of new work, once each commit, until they leave", "[runner]") {
  gate g;
  int first = 0, second = 0;
  {
    shared_store r(std::make_unique<gated_store>(g));
    const auto listens = r.subscribe([&](const storage::hint&) { ++first; });
    {
      const auto leaves = r.subscribe([&](const storage::hint&) { ++second; });
      r.call({get_of("a")}, soon());
      r.call({enqueue_of("a")}, soon());
      r.call({get_of("a")}, soon());  // behind the hint of the commit before
    }
    r.call({enqueue_of("b")}, soon());
    r.call({get_of("b")}, soon());
  }
  CHECK(first == 2);
  CHECK(second == 1);
}

TEST_CASE("Listeners are told once the store is free for others", "[runner]") {
  gate g;
  errc meanwhile = errc::storage_busy;
  {
    shared_store r(std::make_unique<gated_store>(g));
    const auto listens = r.subscribe([&](const storage::hint&) {
      std::thread([&] { meanwhile = code_of(r.call({get_of("a")}, soon()).at(0)); }).join();
    });
    r.call({enqueue_of("a")}, soon());
  }
  CHECK(meanwhile == errc::none);
}

TEST_CASE("A shared store on a file hears of work of other processes", "[runner]") {
  sqlite_file_world other;
  const auto r = storage::open_shared_store(other.url());
  REQUIRE(r.ok());
  std::mutex mutex;
  std::condition_variable told;
  bool hinted = false;
  const auto listens = (*r)->subscribe([&](const storage::hint&) {
    const std::lock_guard hold(mutex);
    hinted = true;
    told.notify_all();
  });
  put_all(other, {"a"});
  std::unique_lock hold(mutex);
  CHECK(told.wait_for(hold, 20s, [&] { return hinted; }));
}

namespace {

// A store that hears of others' work when a test says so.
class told_store final : public passing_store {
public:
  using tell = std::function<void(const storage::hint&)>;
  explicit told_store(tell& into) : passing_store(std::move(*storage::open_store("sqlite::memory:"))), into_(into) {}

  std::unique_ptr<storage::watch> watch_others(tell callback) override {
    into_ = std::move(callback);
    return nullptr;
  }

private:
  tell& into_;
};

}  // namespace

TEST_CASE("What a listener asks for as it hears of others' work is carried out on that thread", "[runner]") {
  told_store::tell tell;
  shared_store r(std::make_unique<told_store>(tell));
  REQUIRE(code_of(r.call({enqueue_of("a")}, soon()).at(0)) == errc::none);
  std::promise<std::thread::id> answered;
  const auto listens = r.subscribe([&](const storage::hint&) {
    r.submit({get_of("a")},
             [&](const storage::shared_store::answers&) { answered.set_value(std::this_thread::get_id()); });
  });
  // Once its own thread sleeps, which it may not do yet.
  CHECK(eventually([&] {
    answered = {};
    tell(storage::hint::for_everybody());
    return answered.get_future().get() == std::this_thread::get_id();
  }));
}

TEST_CASE("All that several listeners ask for as they hear of others' work is carried out", "[runner]") {
  std::atomic<int> answered{0};
  told_store::tell tell;
  shared_store r(std::make_unique<told_store>(tell));
  const auto ask = [&](const storage::hint&) {
    for (int i = 0; i < 3; ++i)
      r.submit({storage::queues_request{}}, [&](const storage::shared_store::answers&) { ++answered; });
  };
  const auto first = r.subscribe(ask), second = r.subscribe(ask);
  tell(storage::hint::for_everybody());
  CHECK(eventually([&] { return answered == 6; }));
}

TEST_CASE("Others are not kept waiting by whoever hears of others' work", "[runner]") {
  told_store::tell tell;
  shared_store r(std::make_unique<told_store>(tell));
  errc meanwhile = errc::storage_busy;
  const auto listens = r.subscribe([&](const storage::hint&) {
    r.submit({get_of("a")}, [](const storage::shared_store::answers&) {});
    std::thread([&] { meanwhile = code_of(r.call({get_of("a")}, soon()).at(0)); }).join();
  });
  tell(storage::hint::for_everybody());
  CHECK(meanwhile == errc::none);
}

TEST_CASE("What others submitted is not carried out by whoever hears of others' work", "[runner]") {
  told_store::tell tell;
  shared_store r(std::make_unique<told_store>(tell));
  std::promise<std::thread::id> answered;
  const auto listens = r.subscribe([&](const storage::hint&) {
    std::thread([&] {
      r.submit({get_of("a")},
               [&](const storage::shared_store::answers&) { answered.set_value(std::this_thread::get_id()); });
    }).join();
  });
  tell(storage::hint::for_everybody());
  CHECK(answered.get_future().get() != std::this_thread::get_id());
}

TEST_CASE("A shared store whose last share is let go by the thread that hears of work ends as any other", "[runner]") {
  sqlite_file_world other;
  auto r = storage::open_shared_store(other.url()).value();
  const std::weak_ptr<shared_store> seen = r;
  struct shares {
    std::shared_ptr<shared_store> store;
    std::unique_ptr<shared_store::subscription> listens;
  };
  auto last = std::make_shared<shares>();
  auto* const asked = r.get();
  std::optional<std::promise<std::shared_ptr<shares>>> given(std::in_place);
  auto taken = given->get_future().share();
  std::atomic<bool> heard{false};
  last->listens = asked->subscribe([asked, taken, &heard](const storage::hint&) {
    if (heard.exchange(true)) return;
    asked->submit({storage::queues_request{}},
                  [last = taken.get()](const storage::shared_store::answers&) { last->listens.reset(); });
  });
  last->store = std::move(r);
  given->set_value(std::move(last));
  given.reset();
  taken = {};  // only the listener's is left
  put_all(other, {"a"});
  REQUIRE(eventually([&] { return seen.expired(); }));
  CHECK(storage::open_shared_store(other.url()).ok());
}

TEST_CASE("One file has one shared store in a process, however it is named", "[runner]") {
  const temp_dir folder;
  const auto r = storage::open_shared_store(folder.url());
  REQUIRE(r.ok());
  CHECK(storage::open_shared_store(folder.url()).value() == r.value());
  CHECK(storage::open_shared_store("sqlite:" + folder.file("./jobs.db")).value() == r.value());
  CHECK(storage::open_shared_store(folder.url("other.db")).value() != r.value());
  std::filesystem::create_symlink(folder.file("jobs.db"), folder.file("link.db"));
  CHECK(storage::open_shared_store(folder.url("link.db")).value() == r.value());
  CHECK((*r)->durability() == (folder.is_in_memory() ? durability::volatile_ : durability::power_safe));
}

TEST_CASE("A file has one shared store although its size is bounded", "[runner]") {
  const temp_dir folder;
  const auto r = storage::open_shared_store(folder.url());
  REQUIRE(r.ok());
  CHECK(storage::open_shared_store(folder.url() + "?max_pages=1000").value() == r.value());
}

TEST_CASE("A file whose runner ended gets a new one", "[runner]") {
  const temp_dir folder;
  {
    const auto r = storage::open_shared_store(folder.url());
    CHECK(code_of((*r)->call({enqueue_of("a")}, soon()).at(0)) == errc::none);
  }
  const auto again = storage::open_shared_store(folder.url());
  REQUIRE(again.ok());
  CHECK(std::get<storage::get_answer>((*again)->call({get_of("a")}, soon()).at(0)).found.has_value());
}

TEST_CASE("A shared store whose last share is let go by what it answers ends as any other", "[runner]") {
  const temp_dir folder;
  auto r = storage::open_shared_store(folder.url()).value();
  const std::weak_ptr<shared_store> seen = r;
  std::promise<void> answered;
  auto* const asked = r.get();
  asked->submit({storage::queues_request{}},
                [&answered, last = std::move(r)](const storage::shared_store::answers&) { answered.set_value(); });
  answered.get_future().wait();
  REQUIRE(eventually([&] { return seen.expired(); }));
  CHECK(storage::open_shared_store(folder.url()).ok());
}

TEST_CASE("A store in memory is shared by its name", "[runner]") {
  const auto one = storage::open_shared_store("sqlite::memory:").value();
  CHECK(storage::open_shared_store("sqlite::memory:").value() == one);
  CHECK(storage::open_shared_store("sqlite::memory:other").value() != one);
  CHECK(storage::open_shared_store("mysql:x").error().code == errc::invalid_argument);
  const temp_dir folder;
  CHECK(storage::open_shared_store(folder.url("no/jobs.db")).error().code == errc::io_error);
}
