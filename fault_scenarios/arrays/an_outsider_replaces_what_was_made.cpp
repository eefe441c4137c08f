#include <lastref/owners.hpp>

#include "fault_scenarios/arrays/arrays.hpp"

namespace lastref::harness {
namespace {

/// Registers and makes it, and says which thing it is.
bool make_known(Stage& stage, const Resource& resource) {
  if (!stage.product().register_name(resource) || !stage.product().make(resource)) {
    return false;
  }
  const auto status = stage.os().status_at(resource.name);
  return status &&
         stage.product().operation_with_answer(
             "identify", to_text(resource), [&]() -> Result<std::string> {
               LASTREF_CHECK(stage.product().client().identify(resource, os::identity_of(*status)));
               return to_text(resource);
             });
}

/// Another thing gets the name. From the end of that word on it has to stay, whoever dies.
void replace(Stage& stage, const Resource& resource) {
  static_cast<void>(stage.product().operation_with_answer(
      "replace", to_text(resource), [&]() -> Result<std::string> {
        const bool is_done = resource.type == ResourceType::file
                                 ? stage.outside().unlink(resource.name) &&
                                       stage.outside().write(resource.name, "another's")
                                 : stage.outside().rmdir(resource.name) &&
                                       stage.outside().make_folder(resource.name, 0700) &&
                                       stage.outside().write(resource.name + "/file", "another's");
        if (!is_done) {
          return failure(std::errc::io_error, resource.name);
        }
        return to_text(resource);
      }));
}

void root(Stage& stage) {
  const Resource file = stage.product().file("replaced.bin");
  const Resource folder = stage.product().folder("replaced");
  if (!stage.product().lead() || !make_known(stage, file) || !make_known(stage, folder)) {
    return;
  }
  replace(stage, file);
  replace(stage, folder);
  static_cast<void>(stage.product().release(file));
  static_cast<void>(stage.product().release(folder));
  static_cast<void>(stage.product().client().probe());
}

}  // namespace

Scenario an_outsider_replaces_what_was_made() {
  return {
      .name = "arrays/an_outsider_replaces_what_was_made",
      .sentence =
          "Somebody puts a file and a folder of his own where the ones were that are counted: at "
          "the end of the names they are left alone and told of, now and at the next start.",
      .rows = {"E4"},
      .roles = {{"root", root}},
      .expected_noise = {"is left alone: it is not what was counted by that name"},
      .stays = {"file:replaced.bin", "folder:replaced"},
  };
}

}  // namespace lastref::harness
