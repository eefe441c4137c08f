// consumer: a stranger's program, built against the installed package and nothing else.
#include <cstdio>
#include <string>

#include <lastref/resource.hpp>
#include <lastref/tracker_client.hpp>

int main() {
  const lastref::Resource resource = {.type = lastref::ResourceType::file, .name = "/a b"};
  const std::string text = lastref::to_text(resource);
  std::puts(text.c_str());
  return lastref::check_name(resource) && text == "file:/a b" ? 0 : 1;
}
