#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr const char* claim = "E11: a folder that others may rename is refused";

/// Sends through a folder of ours in a parent with this mode, and cleans up.
Status send_below(Stage& stage, const std::string& name, std::uint32_t mode) {
  const std::string above = stage.folder() + '/' + name;
  stage.outside().make_folder(above, mode);
  stage.outside().make_folder(above + "/temp", 0700);
  LASTREF_TRY(parent, Parent::make(stage, {.root = above + "/temp"}));
  LASTREF_CHECK(parent.send(name, numbered()));
  return first_failure({parent.arrived(name), parent.clean_up({.force = true})});
}

/// Checks that the array was refused for the claimed reason, and that nothing remains.
void must_be_refused(Stage& stage, const std::string& name, const Status& sent) {
  if (sent) {
    stage.refute(claim, name + " may rename, and an array was sent");
    return;
  }
  if (!stage.is_undisturbed()) {
    return;
  }
  if (sent.error().code != std::errc::permission_denied) {
    stage.refute(claim, describe(sent.error()));
  }
  if (!stage.outside().list(stage.folder() + '/' + name + "/temp").empty()) {
    stage.refute(claim, "a file or folder is in " + name);
  }
}

void remove(Stage& stage, const std::string& name) {
  stage.outside().rmdir(stage.folder() + '/' + name + "/temp");
  stage.outside().rmdir(stage.folder() + '/' + name);
}

/// A link is as safe as its target, and the folders above that.
void send_through_a_link(Stage& stage) {
  const std::string above = stage.folder() + "/target";
  const std::string target = above + "/private";
  const std::string link = stage.folder() + "/a link's";
  stage.outside().make_folder(above, 0703);
  stage.outside().make_folder(target, 0700);
  stage.outside().symlink(target, link);
  must_be_refused(stage, "a link's", send_below(stage, "a link's", 0));
  stage.outside().rmdir(link + "/temp");
  stage.outside().unlink(link);
  stage.outside().rmdir(target);
  stage.outside().rmdir(above);
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  must_be_refused(stage, "a group's", send_below(stage, "a group's", 0770));
  remove(stage, "a group's");
  must_be_refused(stage, "all users'", send_below(stage, "all users'", 0703));
  remove(stage, "all users'");
  send_through_a_link(stage);
  // A sticky folder, where users may rename only their own files, is as good as any.
  Status sent = send_below(stage, "sticky", 01777);
  remove(stage, "sticky");
  return sent;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A group, or all users, may rename the temporary folder, even if it is reached through a "
          "symlink. It is refused, and nothing is made there. In a sticky parent it is used.",
      .rows = {"E11", "R13"},
      .roles = {{"root", root}},
      .failing_operations = {"reduce"},
      .stays = {"folder:a group's",
                "folder:all users'",
                "folder:sticky",
                "folder:target",
                "folder:target/private",
                "file:a link's"},
  };
});

}  // namespace
}  // namespace lastref::harness
