#include "property_tests/support/waiting.hpp"

#include <array>
#include <optional>
#include <thread>

#include <lastref/owners.hpp>

namespace lastref::pretend {

Status wait_until_readable(os::Os& os, os::Fd fd) {
  std::array items = {os::PollItem{.fd = fd, .want_read = true}};
  LASTREF_CHECK(os::retry_interrupted([&] { return os.poll(items, std::nullopt); }));
  return ok();
}

bool read_all(os::Os& os, os::Fd fd, os::Buffer into) {
  while (!into.empty() && wait_until_readable(os, fd)) {
    const auto size = os.read(fd, into);
    if (size && *size > 0) {
      into = into.subspan(*size);
    } else if (size || size.error().code != std::errc::resource_unavailable_try_again) {
      return false;
    }
  }
  return into.empty();
}

Result<os::ChildExit> wait_for(os::Os& os, os::Fd process) {
  for (;;) {
    LASTREF_CHECK(wait_until_readable(os, process));
    LASTREF_TRY(ended, os.wait_child(process));
    if (ended) {
      return *ended;
    }
    // Killed while it was traced, as by the leak sanitizer at its exit.
    std::this_thread::yield();
  }
}

}  // namespace lastref::pretend
