#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr const char* claim = "R13: a planted object is neither used nor changed";

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource temp = product.folder("temp");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(temp));
  LASTREF_CHECK(product.make(temp));
  LASTREF_TRY(parent, Parent::make(stage, {.root = temp.name}));
  const std::string target = temp.name + "/target";
  stage.outside().make_folder(target, 0700);
  for (const std::string context : {"symlink", "open", "file"}) {
    LASTREF_CHECK(parent.begin(context));
    LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
    if (context == "symlink") {
      stage.outside().symlink(target, folder.path);
    } else if (context == "open") {
      stage.outside().make_folder(folder.path, 0777);
    } else {
      stage.outside().write(folder.path, "planted");
    }
    if (parent.send(context, numbered())) {
      stage.refute(claim, "an array was sent through a " + context);
    }
    if (!stage.outside().list(target).empty() || !stage.outside().list(folder.path).empty()) {
      stage.refute(claim, "a file was made in it");
    }
    if (!stage.os().status_at(folder.path) && stage.is_undisturbed()) {
      stage.refute(claim, "the " + context + " was removed");
    }
    stage.outside().unlink(folder.path);
    stage.outside().rmdir(folder.path);
  }
  stage.outside().rmdir(target);
  return product.release(temp);
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "An outsider puts a symlink, a folder open to all, or a file at the path of a context's "
          "folder. Each causes an error, no file is created through it, and it remains unchanged.",
      .rows = {"R13", "M3"},
      .roles = {{"root", root}},
      .failing_operations = {"reduce"},
  };
});

}  // namespace
}  // namespace lastref::harness
