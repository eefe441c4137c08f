#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

constexpr const char* claim = "E11: a folder below which others may rename is refused";

/// Sends through a folder of ours whose parent has this mode. False if that is refused.
bool sends_below(Stage& stage, const std::string& name, std::uint32_t mode) {
  const std::string above = stage.folder() + '/' + name;
  stage.outside().make_folder(above, mode);
  stage.outside().make_folder(above + "/temp", 0700);
  Parent parent(stage, {.root = above + "/temp"});
  const Status sent = parent ? parent.send(name, numbered()) : failure(std::errc::io_error, name);
  if (!sent && stage.is_undisturbed()) {
    if (sent.error().code != std::errc::permission_denied) {
      stage.refute(claim, describe(sent.error()));
    }
    if (!stage.outside().list(above + "/temp").empty()) {
      stage.refute(claim, "there is something in " + name);
    }
  }
  if (sent) {
    parent.arrived(name);
    static_cast<void>(parent.clean_up({.force = true}));
  }
  return sent.has_value();
}

void remove(Stage& stage, const std::string& name) {
  stage.outside().rmdir(stage.folder() + '/' + name + "/temp");
  stage.outside().rmdir(stage.folder() + '/' + name);
}

void root(Stage& stage) {
  if (!stage.product().lead()) {
    return;
  }
  if (sends_below(stage, "a group's", 0770)) {
    stage.refute(claim, "a group may rename, and an array was sent");
  }
  remove(stage, "a group's");
  if (sends_below(stage, "anybody's", 0703)) {
    stage.refute(claim, "anybody may rename, and an array was sent");
  }
  remove(stage, "anybody's");
  if (!sends_below(stage, "sticky", 01777) && stage.is_undisturbed()) {
    stage.refute("E11: where each may rename his own alone is as good as any", "refused");
  }
  remove(stage, "sticky");
}

}  // namespace

Scenario others_may_rename_the_folder() {
  return {
      .name = "arrays/others_may_rename_the_folder",
      .sentence =
          "The temporary folder lies in one where a group, or anybody, may rename it: that is "
          "refused, and nothing is made there. In a sticky one it is used.",
      .rows = {"E11", "R13"},
      .roles = {{"root", root}},
      .failing_operations = {"reduce"},
      .stays = {"folder:a group's", "folder:anybody's", "folder:sticky"},
  };
}

}  // namespace lastref::harness
