// Message: what the library reports to the user, and a hook for a program with a log of its own.
#pragma once

#include <functional>
#include <string_view>

namespace lastref {

struct Message {
  std::string_view text;  ///< One line, without its end. Valid during the call.
};

/// From now on calls `hook` for each message of this process instead of writing it on standard
/// error; an empty hook restores that. Any thread may call the hook, also while it holds locks of
/// the library: the hook may not throw, and may not use the library. Workers, the tracker and
/// processes that are forked later write on standard error.
void on_message(std::function<void(const Message&)> hook);

}  // namespace lastref
