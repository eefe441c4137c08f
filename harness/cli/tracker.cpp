// tracker: the daemon. Started by the product, or by loky with --loky-fd.
#include <array>
#include <memory>

#include <lastref/kernel_os.hpp>
#include <lastref/tracker.hpp>

#include "harness/cli/verbs.hpp"

namespace lastref::harness {
namespace {

constexpr int fd_most = 1 << 20;

struct TrackerOptions {
  std::string tree;
  int loky_fd = -1;
};

}  // namespace

void add_tracker(CLI::App& app, Session& session) {
  auto options = std::make_shared<TrackerOptions>();
  CLI::App* verb = app.add_subcommand("tracker", "The daemon that counts; the product starts it");
  CLI::Option* tree = verb->add_option("tree", options->tree, "Folder of its tree");
  CLI::Option* loky =
      verb->add_option("--loky-fd", options->loky_fd, "Speak loky's line protocol on this pipe")
          ->check(CLI::Range(0, fd_most));
  tree->excludes(loky);
  verb->callback([options, tree, loky, &session] {
    os::KernelOs os;
    if (loky->count() > 0) {
      session.exit = tracker::run_loky(os, static_cast<os::Fd>(options->loky_fd));
    } else if (tree->count() > 0) {
      session.exit = tracker::run(os, std::array{options->tree});
    } else {
      session.refuse("tracker: give the folder of its tree, or --loky-fd");
    }
  });
}

}  // namespace lastref::harness
