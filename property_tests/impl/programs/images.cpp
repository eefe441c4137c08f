// images: values that are computed once, over all processes and runs, also after a crash.
#include <cstdio>
#include <string>
#include <vector>

#include <lastref/cache.hpp>
#include <lastref/pool.hpp>

using Images = lastref::Cache<std::string, std::vector<std::byte>>;

std::vector<std::byte> decode(const std::string& path) {
  return std::vector<std::byte>(path.size() * 1000);
}

std::size_t bytes_of(Images& images, const std::string& path) {
  return images.get_or_compute(path, [&] { return decode(path); }).value().size();  // No copy
}

int main(int argc, char** argv) {
  lastref::init(argc, argv);
  // The folder $XDG_CACHE_HOME/lastref/images, with what earlier runs have stored.
  auto images = Images::open("images", {.size_limit = 1 << 30}).value();
  std::printf("%zu from the last run\n", images.size());
  lastref::Pool pool({.workers = 4});
  const std::vector<std::string> paths(200, "a.png");
  pool.map<bytes_of>(images, paths).value();  // One process decodes it.
  for (const auto& [path, image] : images) {
    std::printf("%s %zu\n", path.c_str(), image.size());
  }
}
