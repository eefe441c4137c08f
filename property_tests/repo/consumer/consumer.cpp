// consumer: a stranger's program, built against the installed package and nothing else.
#include <cstdio>
#include <string>
#include <vector>

#include <lastref/joblib.hpp>
#include <lastref/lastref.hpp>
#include <lastref/testing.hpp>

int half(int value) {
  return value / 2;
}

int main(int argc, char** argv) {
  lastref::init(argc, argv);
  const lastref::Resource resource = {.type = lastref::ResourceType::file, .name = "/a b"};
  const std::string text = lastref::to_text(resource);
  std::puts(text.c_str());
  lastref::Pool pool({.workers = 1});
  const auto halves = pool.map<half>(std::vector<int>{4});
  if (!halves) {
    return lastref::fail(halves.error());
  }
  return lastref::check_name(resource) && text == "file:/a b" && (*halves)[0] == 2 ? 0 : 1;
}
