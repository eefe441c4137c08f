#include <lastref/owners.hpp>

#include "fault_scenarios/arrays/arrays.hpp"

namespace lastref::harness {
namespace {

/// Registers and makes it, and says which thing it is.
bool make_known(Stage& stage, const Resource& resource) {
  if (!stage.register_name(resource) || !stage.make(resource)) {
    return false;
  }
  const auto status = stage.os().status_at(resource.name);
  return status &&
         stage.word_with_answer("identify", to_text(resource), [&]() -> Result<std::string> {
           LASTREF_CHECK(stage.client().identify(resource, os::identity_of(*status)));
           return to_text(resource);
         });
}

/// Another thing gets the name. From the end of that word on it has to stay, whoever dies.
void replace(Stage& stage, const Resource& resource) {
  static_cast<void>(
      stage.word_with_answer("replace", to_text(resource), [&]() -> Result<std::string> {
        const bool is_done = resource.type == ResourceType::file
                                 ? stage.outside_unlink(resource.name) &&
                                       stage.outside_write(resource.name, "another's")
                                 : stage.outside_rmdir(resource.name) &&
                                       stage.outside_make_folder(resource.name, 0700) &&
                                       stage.outside_write(resource.name + "/file", "another's");
        if (!is_done) {
          return failure(std::errc::io_error, resource.name);
        }
        return to_text(resource);
      }));
}

void root(Stage& stage) {
  const Resource file = stage.file("replaced.bin");
  const Resource folder = stage.folder_of("replaced");
  if (!stage.lead() || !make_known(stage, file) || !make_known(stage, folder)) {
    return;
  }
  replace(stage, file);
  replace(stage, folder);
  static_cast<void>(stage.release(file));
  static_cast<void>(stage.release(folder));
  static_cast<void>(stage.client().probe());
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
