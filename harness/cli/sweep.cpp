// sweep: cleans up orphaned trees.
#include <iostream>

#include <fmt/format.h>

#include <lastref/kernel_os.hpp>
#include <lastref/temporary_resources.hpp>
#include <lastref/tracker.hpp>

#include "harness/cli/verbs.hpp"

namespace lastref::harness {

void run(const SweepOptions& options, Invocation& invocation) {
  os::KernelOs os;
  const auto swept = sweep(os, options.runtime);
  if (!swept) {
    invocation.refuse("sweep: " + describe(swept.error()));
    return;
  }
  std::cout << fmt::format(
      "removed {} dead trees and {} of their leftovers; {} things could not be removed; "
      "{} trees are alive\n",
      swept->trees,
      swept->names,
      swept->kept,
      swept->alive);
  for (const std::string& folder : swept->unjudged) {
    std::cout << fmt::format(
        "{} was left alone: its lock was removed, so its tree may be alive or dead\n", folder);
  }
  invocation.end(swept->kept == 0 && swept->unjudged.empty() ? Exit::clean : Exit::incomplete);
}

}  // namespace lastref::harness
