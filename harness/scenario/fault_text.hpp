// fault_text: the grammar of faults, as --fault takes them and reports print them.
//
//   child.2/openat(/dev/shm/*)#3 fail_once ENOSPC   role, call, object, number, action
//   write#2-4 shorten                               lastref run: of any process, on any object
//   openat:error=ENOSPC:when=3                      lastref run: the syntax of strace(1)
//
// Scenarios and `lastref run` differ in what they accept of it: see parse_fault(), and
// parse_tree_fault() of the warden.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <lastref/error.hpp>

#include "harness/scenario/fault.hpp"

namespace lastref::harness {

/// Of the matching calls, from 1, the first and the last that a fault applies to.
struct CallRange {
  static constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t first = 1;
  std::uint64_t last = 1;

  bool operator==(const CallRange&) const = default;
};

/// What is injected: a kind, with its errno, with whole_tree or with its time.
struct FaultAction {
  FaultKind kind = FaultKind::kill_before;
  int error = 0;            ///< errno, if its kind takes one
  bool whole_tree = false;  ///< With a kill or a signal
  /// Of a pause in lastref run; 0: until no other process makes calls
  std::uint32_t seconds = 0;

  bool operator==(const FaultAction&) const = default;
};

/// Where a fault is injected. What the text leaves out has no value.
struct SiteText {
  std::optional<std::string_view> role = {};
  std::string_view call;
  std::optional<std::string_view> object = {};
  std::optional<CallRange> calls = {};
};

struct FaultText {
  SiteText site;
  FaultAction action;
  /// Counts the calls of each thread, as strace(1) does, and is written in its syntax.
  bool is_of_strace = false;
};

/// The kinds that exist there, for messages: "kill_before [whole_tree], ..., fail_once ERROR, ...".
std::string names_of_faults(FaultWhere where);

/// Errors          invalid_argument, with what is wrong in the text.
Result<SiteText> parse_site_text(std::string_view text);

/// `where` is gated or watched. A failure without an end is a fail_always, however it is written.
///
/// Errors          invalid_argument, with the text and what is wrong in it.
Result<FaultText> parse_fault_text(std::string_view text, FaultWhere where);

/// "root/openat(/a)#3-5": a range only if it is more than one call.
std::string to_text(const SiteText& site);
/// "kill_before whole_tree"
std::string to_text(const FaultAction& action);
std::string to_text(const FaultText& fault);

}  // namespace lastref::harness
