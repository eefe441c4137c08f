// usual_signals: gives tests the default signal actions, whatever the process that starts them
// ignores. A script's "&" ignores SIGINT and SIGQUIT, and nohup(1) ignores SIGHUP. Children inherit
// that, and a test would wait indefinitely for the end of a process that it interrupts.
#include <csignal>

#include <gtest/gtest.h>

namespace lastref::pretend {
namespace {

/// Not before the tests begin: the program may be a child that a test has started.
class UsualSignals final : public testing::Environment {
 public:
  void SetUp() override {
    for (const int number : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) {
      struct sigaction action {};
      if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
        ::signal(number, SIG_DFL);
      }
    }
  }
};

const testing::Environment* const usual_signals =
    testing::AddGlobalTestEnvironment(new UsualSignals);

}  // namespace
}  // namespace lastref::pretend
