#include "cache_refresh/cache.hpp"

#include <fstream>
#include <stdexcept>

namespace sample {

cache::cache(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
}

void cache::write(const std::string& name, sluice::fence fence, const std::string& text) const {
  const auto entry = folder_ / (name + ".json");
  const auto on_its_way = folder_ / (name + ".json." + std::to_string(fence.value));
  {
    std::ofstream out(on_its_way, std::ios::binary);
    out << text;
    if (!out.flush()) throw std::runtime_error("cannot write " + on_its_way.string());
  }
  std::filesystem::rename(on_its_way, entry);
}

}  // namespace sample
