#include "harness/scenario/unpromised.hpp"

#include <lastref/error.hpp>

namespace lastref::harness {
namespace {

constexpr std::string_view shared_memory_folder = "/dev/shm/";

}  // namespace

std::string_view name_of(WhyUnpromised why) noexcept {
  switch (why) {
    case WhyUnpromised::no_ledger:
      return "the tracker of a protocol without a ledger died or failed";
    case WhyUnpromised::said_to_be_gone:
      return "each look at them was made to say that nothing is there";
    case WhyUnpromised::scenario:
      return "the scenario leaves them on purpose, or they are another's";
  }
  LASTREF_ASSERT(false);
}

std::string_view name_of(NameKind kind) noexcept {
  switch (kind) {
    case NameKind::file:
      return "file";
    case NameKind::array:
      return "array";
    case NameKind::shared_memory:
      return "shared memory";
    case NameKind::semaphore:
      return "semaphore";
  }
  LASTREF_ASSERT(false);
}

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
