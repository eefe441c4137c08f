// cached: values that are computed once, over all threads, processes and runs.
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <lastref/cache.hpp>

using Images = lastref::Cache<std::string, std::vector<std::byte>>;

std::vector<std::byte> decode(const std::string& path) {
  std::printf("decode %s\n", path.c_str());
  return std::vector<std::byte>(path.size() * 1000);
}

int main() {
  // The folder $XDG_CACHE_HOME/lastref/images, with what earlier runs have stored.
  auto images = Images::open("images", {.size_limit = 1 << 30}).value();
  std::printf("%zu from the last run\n", images.size());
  const auto use = [&images](const std::string& path) {
    const auto image = images.get_or_compute(path, [&] { return decode(path); }).value();
    return image.size();  // A view of the file; no copy.
  };
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < 4; ++number) {
      threads.emplace_back([&use] { use("a.png"); });
    }
  }
  for (const auto& [path, image] : images) {
    std::printf("%s has %zu bytes\n", path.c_str(), image.size());
  }
}
