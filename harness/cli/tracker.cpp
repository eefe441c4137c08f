// tracker: the daemon. Started by the product, or by loky with --loky-fd.
#include <array>

#include <lastref/kernel_os.hpp>
#include <lastref/loky.hpp>
#include <lastref/tracker.hpp>

#include "harness/cli/verbs.hpp"

namespace lastref::harness {

void run(const TrackerOptions& options, Invocation& invocation) {
  os::KernelOs os;
  if (options.loky_fd) {
    invocation.exit = tracker::run_loky(os, static_cast<os::Fd>(*options.loky_fd));
  } else if (options.tree) {
    invocation.exit = tracker::run(os, std::array{*options.tree});
  } else {
    invocation.refuse("tracker: give the folder of its tree, or --loky-fd");
  }
}

}  // namespace lastref::harness
