#include <cstdio>
#include <sluice/sluice.hpp>

struct greet {
  std::string name;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(greet, name)

int main(int argc, char**) {
  if (argc > 1) return std::puts("usage: hello    (runs one job of a store that it makes here: hello.db)"), 0;
  const sluice::server_options options{.storage = "sqlite:hello.db"};  // or what load_options reads from a file
  sluice::server server(options);
  server.handle("greet", [](const greet& args) { return "hello, " + args.name; });
  if (const auto up = server.start(); !up) return std::puts(sluice::to_string(up.error()).c_str()), 1;
  auto client = sluice::client::open(options);  // here, or in any other process
  if (!client) return std::puts(sluice::to_string(client.error()).c_str()), 1;
  const auto id = client->enqueue("greet", greet{"Ada"});  // on the disk once it has answered
  const auto job = id ? client->wait(*id, std::chrono::seconds(10)) : id.error();
  std::puts(job ? job->result.c_str() : sluice::to_string(job.error()).c_str());
}
