#include "bench/tree.hpp"

#include <unistd.h>

#include <array>

namespace lastref::bench {
namespace {

std::string beside_us(const std::string& name) {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string self(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return self.substr(0, self.rfind('/') + 1) + name;
}

}  // namespace

Tree::Tree(const std::string& program)
    : kernel_({.program = program.empty() ? beside_us("lastref") : program}),
      slowed_(slowness().is_asked_for() ? std::make_unique<SlowedOs>(kernel_, slowness())
                                        : nullptr) {
  client_ = tracker::Client::lead(os(), {.runtime_folder = folder_.path()});
}

Session Tree::session() {
  return {.os = &os(), .references = references_of(client_), .tree = [client = client_] {
            return client->tree();
          }};
}

}  // namespace lastref::bench
