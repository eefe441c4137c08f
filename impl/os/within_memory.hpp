// within_memory: turns a failed allocation into an error.
//
// Code that allocates lets std::bad_alloc propagate, and owners undo their work. The boundary
// catches it: a public function, a thread's body, a callback, a destructor. The handlers call no
// Os: in the simulated kernel, processes share a thread, and a switch inside of a handler would mix
// them up.
#pragma once

#include <concepts>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <lastref/error.hpp>
#include <lastref/owners.hpp>

namespace lastref::os {

/// not_enough_memory, about `what`. Allocates nothing: a text that does not fit into an empty
/// std::string is left out.
inline tl::unexpected<Error> no_memory(std::string_view what) noexcept {
  Error error{.code = std::errc::not_enough_memory, .call = {}, .subject = {}, .injected = false};
  if (what.size() <= error.subject.capacity()) {
    error.subject = what;
  }
  return tl::unexpected<Error>(std::move(error));
}

/// Whether it is such an error, and not one of a system call with the same code.
inline bool is_no_memory(const Error& error) noexcept {
  return error.code == std::errc::not_enough_memory && error.call == Call::none;
}

/// Runs `body` with the monitors that the caller holds, and returns whether all of its allocations
/// succeeded. Other exceptions of your code propagate.
template <typename Body>
LASTREF_NOT_CHECKED bool had_memory(Body&& body) {
  try {
    std::forward<Body>(body)();
    return true;
  } catch (const std::bad_alloc&) {
  }
  return false;
}

/// Reports the message that `text` returns. One for which there is no memory counts as not read.
template <std::invocable Text>
void report_quietly(Os& os, Text&& text) noexcept {
  std::string line;
  if (had_memory([&] { line = std::forward<Text>(text)(); })) {
    report_quietly(os, std::string_view(line));
  } else {
    ++os.dropped_messages;
  }
}

/// Returns the result of `body`, a Result or Status; not_enough_memory, about `what`, if an
/// allocation failed in it. Other exceptions of your code propagate.
template <typename Body>
LASTREF_NOT_CHECKED auto within_memory(std::string_view what, Body&& body)
    -> std::invoke_result_t<Body> {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
  }
  return no_memory(what);
}

}  // namespace lastref::os
