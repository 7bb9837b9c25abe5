#include <algorithm>
#include <filesystem>
#include <utility>

#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"
#include "tidy/class_size.hpp"

using namespace sluice::tidy;

TEST_CASE("no class of execution/ and actors/ has more than 12 fields or 20 methods") {
  int seen = 0;
  for (const std::string folder : {"execution", "actors"})
    for (const auto& entry : std::filesystem::directory_iterator(sluice::test::source_path(folder)))
      for (const auto& one : class_sizes(sluice::test::read_file(entry.path()))) {
        INFO(entry.path().filename().string() << ": " << one.name);
        CHECK(one.fields <= 12);
        CHECK(one.methods <= 20);
        ++seen;
      }
  CHECK(seen > 40);
}

TEST_CASE("fields and methods are counted, whatever they look like") {
  const auto all = class_sizes(R"(
    // struct comment { int a; };
    enum class kind : int { one, two };
    class SLUICE_CHECKED_BY_CLANG(capability("mutex")) sample final : public base<int> {
    public:
      sample(int a) : a_(a) {}
      ~sample();
      sample(const sample&) = delete;
      int look() const { return a_; }
      template <class T>
      void take(T&& what, std::function<void()> then = nullptr) SLUICE_REQUIRES(lock_);
      static int limit();
      bool operator==(const sample&) const = default;
      struct inner {
        int x = 1, y{};
        std::map<int, std::pair<int, char>> z;
      };

    private:
      using names = std::vector<int>;
      friend class other;
      static constexpr int most = 3;
      std::function<void(int, char)> call_;
      int a_ SLUICE_GUARDED_BY(lock_){0};
      struct {
        bool open = false;
      } asked_;
      time_point at_ = time_point::max();
    };)");
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "sample");
  CHECK(all[0].fields == 4);
  CHECK(all[0].methods == 3);
  CHECK(all[1].name == "inner");
  CHECK(all[1].fields == 3);
  CHECK(all[1].methods == 0);
}
