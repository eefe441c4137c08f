// TrackerInACopy: a tracker in a copy of this process, which is the root of its tree and speaks to
// it by hand, packet by packet.
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
  /// What the tracker has for its operating system, made where it runs.
  using MakeOs = std::function<std::unique_ptr<os::Os>()>;

  explicit TrackerInACopy(const MakeOs& make_os = std::make_unique<os::KernelOs>);

  os::UniqueFd connect();
  void say(const tracker::Message& message, std::span<const os::Fd> fds = {}) {
    link_->post(encode(message), fds);
  }
  /// The answer's status.
  std::errc ask(const tracker::Message& message, std::span<const os::Fd> fds = {});
  /// The status of the next answer, which is to the message `id`.
  std::errc answer_to(std::uint32_t id);
  std::errc announce(std::uint32_t nonce);
  /// The membership of the tree's root.
  std::errc announce() { return announce(tree_.membership.nonce); }
  std::errc ask_for(tracker::Verb verb, std::uint32_t id, const Resource& resource) {
    return ask({.verb = verb, .id = id, .entries = {{.resource = resource}}});
  }
  /// Asks for counts, which are told only after a whole round, two times: what was released before
  /// has been acted on.
  void let_rounds_pass();

  /// Lets the tree end, which the tracker sees at the end of its last connection. What it has said.
  std::string end();

  FreshFolder folder_;
  os::KernelOs os_;
  tracker::OwnTree tree_;
  os::UniqueFd tracker_;
  std::optional<tracker::Link> link_;
  const Resource name_ = {.type = ResourceType::file, .name = folder_.path("name")};
};

}  // namespace lastref::pretend
