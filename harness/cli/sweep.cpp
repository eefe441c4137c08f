// sweep: cleans up behind trees whose every process is gone.
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include <lastref/kernel_os.hpp>
#include <lastref/temporary_resources.hpp>
#include <lastref/tracker.hpp>

#include "harness/cli/verbs.hpp"

namespace lastref::harness {

void add_sweep(CLI::App& app, Session& session) {
  auto runtime = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand(
      "sweep", "Removes what trees left behind of which every process was killed");
  verb->add_option("--runtime", *runtime, "Folder of the trees, if it is not the usual one")
      ->type_name("FOLDER");
  verb->callback([runtime, &session] {
    os::KernelOs os;
    const auto swept = lastref::sweep(os, *runtime);
    if (!swept) {
      session.refuse("sweep: " + describe(swept.error()));
      return;
    }
    std::cout << fmt::format(
        "removed {} dead trees and {} things they had left; {} things could not be removed; "
        "{} trees are alive\n",
        swept->trees,
        swept->names,
        swept->kept,
        swept->alive);
    session.end(swept->kept == 0 ? Exit::clean : Exit::incomplete);
  });
}

}  // namespace lastref::harness
