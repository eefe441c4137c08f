#include <algorithm>

#include <lastref/npy.hpp>
#include <lastref/owners.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Registers and makes it, and reports its identity.
Status make_known(Stage& stage, const Resource& resource) {
  Product& product = stage.product();
  LASTREF_CHECK(product.register_name(resource));
  LASTREF_CHECK(product.make(resource));
  LASTREF_TRY(status, stage.os().status_at(resource.name));
  const std::string text = to_text(resource);
  return product.operation_with_answer("identify", text, [&]() -> Result<std::string> {
    LASTREF_CHECK(product.client().identify(resource, os::identity_of(status)));
    return text;
  });
}

/// Another object gets the name. From the end of that operation on it has to remain, whichever
/// process dies.
Status replace(Stage& stage, const Resource& resource) {
  const std::string text = to_text(resource);
  return stage.product().operation_with_answer("replace", text, [&]() -> Result<std::string> {
    const bool is_done = resource.type == ResourceType::file
                             ? stage.outside().unlink(resource.name) &&
                                   stage.outside().write(resource.name, "another's")
                             : stage.outside().rmdir(resource.name) &&
                                   stage.outside().make_folder(resource.name, 0700) &&
                                   stage.outside().write(resource.name + "/file", "another's");
    if (!is_done) {
      return failure(std::errc::io_error, resource.name);
    }
    return text;
  });
}

/// A file replaces one that a manager has made, and that needed no further identification. In the
/// end it is removed with the folder, which is the manager's.
Status replace_temporary(Stage& stage, Parent& parent) {
  Product& product = stage.product();
  TemporaryResources& resources = parent.resources();
  std::shared_ptr<const TemporaryFile> file;
  LASTREF_CHECK(product.operation("publish", [&]() -> Status {
    LASTREF_TRY(made, resources.publish([&](os::Fd fd) {
      return write_npy(stage.os(), fd, few_numbered());
    }));
    file = std::move(made);
    return ok();
  }));
  const std::string path = file->path();
  stage.outside().unlink(path);
  stage.outside().write(path, "another's");
  // Two requests, so that the second one is sent after the round that read the release.
  const Status released = first_failure(
      {product.operation("release the file", [&] { return resources.release(*file); }),
       product.client().probe(),
       product.client().probe()});
  const std::size_t slash = path.rfind('/');
  const std::vector<std::string> names = stage.outside().list(path.substr(0, slash));
  if (stage.is_undisturbed() && std::ranges::count(names, path.substr(slash + 1)) == 0) {
    stage.refute("E4: what is removed is what was made", "another's file was removed");
  }
  return released;
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("replaced.bin");
  const Resource folder = product.folder("replaced");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(make_known(stage, file));
  LASTREF_CHECK(make_known(stage, folder));
  const Status replaced = first_failure({replace(stage, file), replace(stage, folder)});
  LASTREF_TRY(parent, Parent::make(stage));
  return first_failure({replaced,
                        replace_temporary(stage, parent),
                        parent.clean_up(),
                        product.release(file),
                        product.release(folder),
                        product.client().probe()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "An outsider replaces a counted file and a counted folder with its own. At the end of "
          "their names the new ones are left alone and reported, now and at the next start.",
      .rows = {"E4"},
      .roles = {{"root", root}},
      .expected_noise = {"is left alone: it is not what was counted by that name"},
      .stays = {"file:replaced.bin", "folder:replaced"},
  };
});

}  // namespace
}  // namespace lastref::harness
