#include "property_tests/impl/tracker/tracker_in_a_copy.hpp"

#include <filesystem>

#include <lastref/tracker_client.hpp>

#include "impl/tracker/daemon.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref::pretend {

using namespace tracker;

TrackerInACopy::TrackerInACopy(const MakeOs& make_os)
    : tree_(must(make_tree(os_, folder_.path("runtime")))) {
  testing::internal::CaptureStderr();
  pid_ = run_in_copy([&] {
    const std::unique_ptr<os::Os> os = make_os();
    auto daemon = must(Daemon::start(*os, tree_.paths, std::move(tree_.parts.listener)));
    return daemon->serve() ? 0 : 1;
  });
  tracker_ = os::UniqueFd(os_, must(os_.open_process(pid_)));
  link_.emplace(os_, connect());
}

os::UniqueFd TrackerInACopy::connect() {
  os::UniqueFd socket(os_, must(os_.make_socket()));
  EXPECT_TRUE(os_.connect(socket.get(), tree_.paths.socket()));
  return socket;
}

std::errc TrackerInACopy::ask(const Message& message, std::span<const os::Fd> fds) {
  say(message, fds);
  return answer_to(message.id);
}

std::errc TrackerInACopy::answer_to(std::uint32_t id) {
  Arrival arrival = link_->receive();
  for (; arrival == Arrival::nothing; arrival = link_->receive()) {
    EXPECT_TRUE(wait_until_readable(os_, link_->fd()));
  }
  EXPECT_EQ(arrival, Arrival::message);
  EXPECT_EQ(link_->received().verb, Verb::reply);
  EXPECT_EQ(link_->received().id, id);
  return static_cast<std::errc>(link_->received().status);
}

std::errc TrackerInACopy::announce(std::uint32_t nonce) {
  const os::UniqueFd self(os_, must(os_.open_process(os_.process_id())));
  const os::Fd fd = self.get();
  return ask({.verb = Verb::announce, .id = nonce, .entries = {}}, std::span(&fd, 1));
}

void TrackerInACopy::let_rounds_pass() {
  for (const std::uint32_t id : {1000U, 1001U}) {
    EXPECT_EQ(ask({.verb = Verb::counts, .id = id, .entries = {}}), std::errc{});
  }
}

std::string TrackerInACopy::end() {
  tree_.membership.lock.close_quietly();
  link_.reset();
  EXPECT_EQ(must(wait_for(os_, tracker_.get())), os::ChildExit{});
  std::filesystem::remove(folder_.path("runtime"));
  return testing::internal::GetCapturedStderr();
}

}  // namespace lastref::pretend
