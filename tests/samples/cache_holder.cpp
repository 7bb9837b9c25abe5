// cache_holder STORE FILE KEY LOCK_MS: begins to rebuild the list KEY of the cache in FILE, stores its first page, says
// "loading", and never ends by itself.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "samples/two_level_cache/sqlite_level.hpp"
#include "samples/two_level_cache/two_level_cache.hpp"

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "cache_holder STORE FILE KEY LOCK_MS\n"), 2;
  auto locks = sluice::lock_manager::open({.storage = argv[1]});
  if (!locks) return std::fprintf(stderr, "cache_holder: %s\n", to_string(locks.error()).c_str()), 1;
  sample::sqlite_level shared(argv[2]);
  sample::cache_times times;
  times.lock = std::chrono::milliseconds(std::atoi(argv[4]));
  sample::two_level_cache cache(shared, *locks, times);
  const auto got = cache.page(argv[3], 1, [](std::uint32_t number) -> sample::loaded_page {
    if (number == 1) return {"of the holder", 2};
    std::printf("loading\n");
    std::fflush(stdout);
    for (;;)
      ::pause();
  });
  std::fprintf(stderr, "cache_holder: did not load: %s\n", got.failure.c_str());
  return 1;
}
