// kernel_os_error: errno, translated once.
#pragma once

#include <string>

#include <lastref/os.hpp>

namespace lastref::os {

/// The error in errno, read before anything else can change it. "fd 7" and "pid 12" fit into a
/// short string, so a call that would block allocates nothing. A subject for which there is no
/// memory is left out.
tl::unexpected<Error> failed(Call call, const std::string& subject) noexcept;
tl::unexpected<Error> failed_with_code(int code, Call call, const std::string& subject) noexcept;
tl::unexpected<Error> failed(Call call, Fd fd) noexcept;
tl::unexpected<Error> failed_process(Call call, Pid pid) noexcept;

/// The result of a call that returns 0, or -1 and errno.
inline Status status_of(int result, Call call, const std::string& subject) noexcept {
  return result < 0 ? Status(failed(call, subject)) : ok();
}
inline Status status_of(int result, Call call, Fd fd) noexcept {
  return result < 0 ? Status(failed(call, fd)) : ok();
}

/// Whether the path has no NUL: it would name another file, up to the NUL. If false, errno is set.
bool is_path(const std::string& text) noexcept;

inline int number(Fd fd) noexcept {
  return static_cast<int>(fd);
}

}  // namespace lastref::os
