#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource victim = stage.product().file("victim.bin");
  const std::vector<Resource> odd = {
      stage.product().file("a:file\nMAYBE_UNLINK:victim.bin:file\n"),
      stage.product().file("donn\xc3\xa9"
                           "es avec accent"),
      stage.product().file(std::string(255, 'n')),
      stage.product().file("\x01\xff\x7f"),
  };
  if (!stage.product().lead() || !stage.product().register_name(victim) ||
      !stage.product().make(victim)) {
    return;
  }
  for (const Resource& resource : odd) {
    if (!stage.product().register_name(resource) || !stage.product().make(resource)) {
      return;
    }
  }
  for (const Resource& resource : odd) {
    static_cast<void>(stage.product().release(resource));
  }
  static_cast<void>(stage.product().client().probe());
  stage.product().must_exist(victim);
  const Resource empty{.type = ResourceType::file, .name = ""};
  const Resource with_nul{.type = ResourceType::file, .name = std::string("a\0b", 3)};
  const Resource long_one{.type = ResourceType::file, .name = std::string(name_size_max + 1, 'x')};
  for (const Resource& impossible : {empty, with_nul, long_one}) {
    if (stage.product().client().register_name(impossible) ||
        stage.product().client().hold(impossible) || stage.product().client().release(impossible) ||
        stage.product().client().forget(impossible)) {
      stage.refute("T2: a name that cannot be carried is a typed error", to_text(impossible));
    }
  }
  static_cast<void>(stage.product().release(victim));
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
