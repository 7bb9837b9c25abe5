// Enqueues one job and prints its id.
#include <cstdio>
#include <string_view>

#include <sluice/client.hpp>
#include <sluice/json.hpp>
#include <sluice/version.hpp>

static_assert(std::string_view(SLUICE_VERSION) == PACKAGE_VERSION, "the header tells another version than the package");

struct greet {
  std::string name;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(greet, name)

int main() {
  auto client = sluice::client::open({.storage = "sqlite:jobs.db"});
  if (!client) return std::fputs(sluice::to_string(client.error()).c_str(), stderr), 1;
  const auto id = client->enqueue("greet", greet{"Ada"});
  if (!id) return std::fputs(sluice::to_string(id.error()).c_str(), stderr), 1;
  std::puts(id->value.c_str());
}
