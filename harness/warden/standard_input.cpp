#include "harness/warden/standard_input.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace lastref::harness::warden {

std::optional<std::int64_t> place_of_input() noexcept {
  struct stat status {};
  const bool is_file = ::fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
  const off_t place = is_file ? ::lseek(STDIN_FILENO, 0, SEEK_CUR) : -1;
  return place < 0 ? std::nullopt : std::optional<std::int64_t>(place);
}

void return_to(std::int64_t place) noexcept {
  ::lseek(STDIN_FILENO, place, SEEK_SET);
}

}  // namespace lastref::harness::warden
