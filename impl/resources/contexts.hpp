// contexts: what a manager remembers of a context and of its folder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lastref/temporary_resources.hpp>

namespace lastref {

/// Guarded by the manager's monitor, but for `resource`, which never changes.
struct TemporaryResources::Folder {
  Resource resource;
  std::shared_ptr<os::UniqueFd> open;  ///< None when it has vanished and is to be made again.
  std::vector<std::shared_ptr<const TemporaryFile>> files = {};
  std::unique_ptr<os::ExitHook> finaliser = {};
  bool is_finalised = false;
};

struct TemporaryResources::Context {
  std::string id;
  bool is_open = true;
  bool has_file = false;  ///< Has had one: its place has proved itself.
  bool shared_memory_failed = false;
  std::optional<TempFolder> place = {};
  std::shared_ptr<Folder> folder = {};
};

}  // namespace lastref
