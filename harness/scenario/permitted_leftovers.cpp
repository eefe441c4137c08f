#include "harness/scenario/permitted_leftovers.hpp"

#include <lastref/error.hpp>

namespace lastref::harness {
namespace {

constexpr std::string_view shared_memory_folder = "/dev/shm/";

}  // namespace

NameKind kind_of_name(std::string_view path) noexcept {
  if (path.find("/lastref_memmapping_folder_") != std::string_view::npos) {
    return NameKind::array;
  }
  const bool is_object = path.starts_with(shared_memory_folder) &&
                         path.find('/', shared_memory_folder.size()) == std::string_view::npos;
  if (!is_object) {
    return NameKind::file;
  }
  return path.substr(shared_memory_folder.size()).starts_with("sem.") ? NameKind::semaphore
                                                                      : NameKind::shared_memory;
}

}  // namespace lastref::harness
