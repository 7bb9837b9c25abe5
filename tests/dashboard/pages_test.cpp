// What is served to browsers: the pages and their files.
#include <filesystem>
#include <set>

#include "core/text.hpp"
#include "dashboard/assets.hpp"
#include "dashboard/dashboard_world.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"

namespace sluice::test {
namespace {

const std::string pages[] = {"/",           "/queues",    "/queues/a",    "/jobs",    "/jobs/a%2Fb",
                             "/throttlers", "/recurring", "/recurring/a", "/servers", "/throttlers/semaphore/a",
                             "/groups",     "/locks",     "/quarantine",  "/errors",  "/log",
                             "/groups/a",   "/enqueue",   "/quarantine/a"};
const dashboard_world::header_list packed{{"accept-encoding", "br;q=1.0, gzip, deflate"}};

std::string unpacked(const std::string& bytes) {
  temp_dir folder;
  write_file(folder.file("packed.gz"), bytes);
  const auto done = run({"gzip", "-dc", folder.file("packed.gz")}, folder.path());
  if (done.exit_code != 0) throw std::runtime_error(done.err);
  return done.out;
}

// The files of the source tree as they are to be served.
std::map<std::string, std::string> files() {
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("dashboard/assets")))
    all[entry.path().filename().string()] = read_file(entry.path().string());
  auto& shell = all.at("index.html");
  const std::string mark = "@HASH@";
  for (auto at = shell.find(mark); at != std::string::npos; at = shell.find(mark))
    shell.replace(at, mark.size(), web::hash_of_assets());
  return all;
}

}  // namespace

TEST_CASE("the files of the pages are served as they stand in the source tree, plain and packed, and for ever") {
  dashboard_world w;
  const auto hash = web::hash_of_assets();
  CHECK(hash.size() == 16);
  std::size_t served = 0;
  for (const auto& [name, text] : files()) {
    const auto target = cat("/assets/", hash, "/", name);
    CAPTURE(target);
    const auto plain = w.ask("GET", target), small = w.ask("GET", target, nullptr, packed);
    CHECK(plain.status == 200);
    CHECK(plain.body == text);
    CHECK(header_of(plain, "Content-Encoding").empty());
    const bool is_packed = header_of(small, "Content-Encoding") == "gzip";
    CHECK((is_packed ? unpacked(small.body) : small.body) == text);
    const auto built = web::find_asset(name);
    REQUIRE(built);
    CHECK(is_packed == !built->packed.empty());
    for (const auto& said : {plain, small}) {
      CHECK(header_of(said, "Cache-Control") == "max-age=31536000, immutable");
      CHECK(header_of(said, "Vary") == "Accept-Encoding");
      CHECK(header_of(said, "X-Content-Type-Options") == "nosniff");
    }
    const auto again = w.ask("GET", target, nullptr, {{"if-none-match", header_of(plain, "ETag")}});
    CHECK(again.status == 304);
    ++served;
  }
  CHECK(served == web::built_in().all.size());
}

TEST_CASE("what is built in is what the source tree has, packed without a time or a name") {
  for (const auto& one : web::built_in().all) {
    CAPTURE(one.name);
    CHECK(one.packed.substr(0, 9) == std::string_view("\x1f\x8b\x08\0\0\0\0\0\x02", 9));
    CHECK(unpacked(std::string(one.packed)) == one.plain);
    if (one.name != "index.html") CHECK(one.plain == read_file(cat(source_path("dashboard/assets/"), one.name)));
  }
}

TEST_CASE("a browser says whether it takes packed files") {
  dashboard_world w;
  const auto target = cat("/assets/", web::hash_of_assets(), "/app.css");
  const bool is_packed = !web::find_asset("app.css")->packed.empty();
  for (const auto* takes : {"gzip", "gzip, br", "br,gzip;q=0.5", "deflate, gzip ; q=1"})
    CHECK((header_of(w.ask("GET", target, nullptr, {{"accept-encoding", takes}}), "Content-Encoding") == "gzip") ==
          is_packed);
  for (const auto* refuses : {"", "br", "identity", "gzip;q=0", "br, gzip;q=0.000", "notgzip", ";", ",,"})
    CHECK(header_of(w.ask("GET", target, nullptr, {{"accept-encoding", refuses}}), "Content-Encoding").empty());
}

TEST_CASE("each type of file is told as what it is") {
  dashboard_world w;
  const auto type = [&](const std::string& name) {
    return w.ask("GET", cat("/assets/", web::hash_of_assets(), "/", name)).type;
  };
  CHECK(type("app.js") == "text/javascript; charset=utf-8");
  CHECK(type("app.css") == "text/css; charset=utf-8");
  CHECK(type("icon.svg") == "image/svg+xml");
}

TEST_CASE("a file is known by its name and the hash of all, and nothing else leads to it or to any other file") {
  dashboard_world w;
  const auto hash = web::hash_of_assets();
  for (const auto& target : {cat("/assets/0000000000000000/app.js"), cat("/assets/", hash, "/other.js"),
                             cat("/assets/", hash, "/..%2Froutes.cpp"), cat("/assets/", hash, "/%2Fetc%2Fpasswd"),
                             cat("/assets/", hash, "/app.js/x"), cat("/assets/", hash, "/../app.js"),
                             cat("/assets/", hash), std::string("/assets/app.js"), std::string("/assets/@HASH@/app.js"),
                             std::string("/app.js"), std::string("/index.html"), std::string("/favicon.ico")}) {
    CAPTURE(target);
    const auto said = w.ask("GET", target);
    CHECK(said.status == 404);
    CHECK(said.type == "application/problem+json");
  }
}

TEST_CASE("every page is the same shell, whatever its query, never kept, and leads to files that are there") {
  dashboard_world w;
  const auto shell = files().at("index.html");
  CHECK(shell.find("@HASH@") == std::string::npos);
  for (const auto& page : pages)
    for (const auto* query : {"", "?state=failed&state=enqueued&nobody=knows"}) {
      CAPTURE(page, query);
      const auto said = w.ask("GET", page + query);
      CHECK(said.status == 200);
      CHECK(said.type == "text/html; charset=utf-8");
      CHECK(said.body == shell);
      CHECK(header_of(said, "Cache-Control") == "no-store");
      CHECK(header_of(said, "Content-Security-Policy").starts_with("default-src 'none'"));
      CHECK(w.ask("HEAD", page + query).status == 200);
      const auto refused = w.ask("POST", page, dashboard_world::json::object());
      CHECK(refused.status == 405);
      CHECK(header_of(refused, "Allow") == "GET, HEAD");
    }
  std::size_t links = 0;
  for (auto at = shell.find("/assets/"); at != std::string::npos; at = shell.find("/assets/", at + 1)) {
    CHECK(w.ask("GET", shell.substr(at, shell.find('"', at) - at)).status == 200);
    ++links;
  }
  CHECK(links >= 2);
  for (const auto* wrong : {"/queue", "/queues/a/b", "/throttlers/semaphore", "/jobs/a/args", "//"})
    CHECK(w.ask("GET", wrong).status == 404);
}

TEST_CASE("pages and their files are for those who may look, and are asked for by the dashboard's own name") {
  temp_dir secrets;
  write_file(secrets.file("vera"), "secret-of-vera\n");
  auto options = dashboard_world::changing();
  options.users = {{"vera", dashboard_role::viewer, secrets.file("vera"), {}}};
  dashboard_world w{options};
  for (const auto& target :
       {std::string("/"), std::string("/jobs/a"), cat("/assets/", web::hash_of_assets(), "/app.js")}) {
    CAPTURE(target);
    const auto said = w.ask("GET", target);
    CHECK(said.status == 401);
    CHECK(header_of(said, "WWW-Authenticate").starts_with("Basic"));
    CHECK(w.ask("GET", target, nullptr, {{"authorization", "Bearer secret-of-vera"}}).status == 200);
    CHECK(w.ask("GET", target, nullptr, {{"host", "evil.test:8080"}}).status == 421);
  }
}

TEST_CASE("pages are counted by their patterns") {
  dashboard_world w;
  for (int i = 0; i < 50; ++i) {
    w.ask("GET", cat("/jobs/job-", i));
    w.ask("GET", cat("/assets/", i, "/app.js"));
  }
  const auto seen = w.on->numbers.look().answered;
  CHECK(seen.at({"/jobs/{id}", 200}) == 50);
  CHECK(seen.at({"/assets/{hash}/{name}", 404}) == 50);
  CHECK(seen.size() == 2);
}

}  // namespace sluice::test
