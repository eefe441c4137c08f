// TrackerInACopy: a tracker in a copy of this process. This process is the root of its tree and
// sends it messages one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

#include "impl/tracker/link.hpp"
#include "impl/tracker/tree.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::pretend {

class TrackerInACopy : public testing::Test {
 protected:
  /// Makes the Os of the tracker, in the tracker's process.
  using MakeOs = std::function<std::unique_ptr<os::Os>()>;

  explicit TrackerInACopy(const MakeOs& make_os = std::make_unique<os::KernelOs>);

  os::UniqueFd connect();
  void say(const tracker::Message& message, std::span<const os::Fd> fds = {}) {
    link_->post(encode_message(message), fds);
  }
  /// Sends a message and returns the status of the answer.
  std::errc ask(const tracker::Message& message, std::span<const os::Fd> fds = {});
  /// The status of the next answer, which is to the message `id`.
  std::errc answer_to(std::uint32_t id);
  std::errc announce(std::uint32_t nonce);
  /// Announces the membership of the tree's root.
  std::errc announce() { return announce(tree_.membership.nonce); }
  std::errc ask_for(tracker::Verb verb, std::uint32_t id, const Resource& resource) {
    return ask({.verb = verb, .id = id, .entries = {{.resource = resource}}});
  }
  /// Asks for counts two times. They are answered only after a whole round, so earlier releases
  /// have been acted on.
  void let_rounds_pass();

  /// Ends the tree, which the tracker detects at the end of its last connection. Returns what it
  /// reported.
  std::string end();

  FreshFolder folder_;
  os::KernelOs os_;
  tracker::OwnTree tree_;
  os::Pid pid_ = 0;  ///< The tracker's
  os::UniqueFd tracker_;
  std::optional<tracker::Link> link_;
  const Resource name_ = {.type = ResourceType::file, .name = folder_.path("name")};
};

}  // namespace lastref::pretend
