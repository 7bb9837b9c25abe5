// Certificates of a test's own, made by the openssl program: an authority, and whom it signs.
#pragma once

#include <stdexcept>
#include <string>

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {

class certificate_authority {
public:
  certificate_authority() { make("ca", {"-subj", "/CN=Sluice tests", "-addext", "basicConstraints=critical,CA:TRUE"}); }

  std::string ca() const { return folder_.file("ca.crt"); }
  std::string cert(const std::string& name) const { return folder_.file(name + ".crt"); }
  std::string key(const std::string& name) const { return folder_.file(name + ".key"); }

  // For hosts as in "DNS:localhost,IP:127.0.0.1".
  void sign(const std::string& name, const std::string& hosts) {
    make(name, {"-subj", "/CN=" + name, "-addext", "subjectAltName=" + hosts, "-CA", ca(), "-CAkey", key("ca")});
  }

private:
  void make(const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> argv{
        "openssl", "req",   "-x509", "-newkey", "ec",      "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes",  "-days", "2",     "-keyout", key(name), "-out",     cert(name)};
    argv.insert(argv.end(), more.begin(), more.end());
    if (const auto made = run(argv, folder_.path().string()); made.exit_code != 0)
      throw std::runtime_error("openssl: " + made.err);
  }

  temp_dir folder_;
};

}  // namespace sluice::test
