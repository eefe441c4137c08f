#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource victim = stage.file("victim.bin");
  const std::vector<Resource> odd = {
      stage.file("a:file\nMAYBE_UNLINK:victim.bin:file\n"),
      stage.file("donn\xc3\xa9"
                 "es avec accent"),
      stage.file(std::string(255, 'n')),
      stage.file("\x01\xff\x7f"),
  };
  if (!stage.lead() || !stage.register_name(victim) || !stage.make(victim)) {
    return;
  }
  for (const Resource& resource : odd) {
    if (!stage.register_name(resource) || !stage.make(resource)) {
      return;
    }
  }
  for (const Resource& resource : odd) {
    static_cast<void>(stage.release(resource));
  }
  static_cast<void>(stage.client().probe());
  stage.must_exist(victim);
  const Resource empty{.type = ResourceType::file, .name = ""};
  const Resource with_nul{.type = ResourceType::file, .name = std::string("a\0b", 3)};
  const Resource long_one{.type = ResourceType::file, .name = std::string(name_size_max + 1, 'x')};
  for (const Resource& impossible : {empty, with_nul, long_one}) {
    if (stage.client().register_name(impossible) || stage.client().hold(impossible) ||
        stage.client().release(impossible) || stage.client().forget(impossible)) {
      stage.refute("T2: a name that cannot be carried is a typed error", to_text(impossible));
    }
  }
  static_cast<void>(stage.release(victim));
}

}  // namespace

Scenario names_of_any_bytes() {
  return {
      .name = "tracker/names_of_any_bytes",
      .sentence =
          "Names with line breaks, colons, commands and bytes beyond ASCII name "
          "themselves and nothing else.",
      .rows = {"T2"},
      .roles = {{"root", root}},
  };
}

}  // namespace lastref::harness
