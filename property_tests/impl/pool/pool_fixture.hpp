// PoolFixture: a pool in a tree of its own. No process and no file of the tree may remain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/pool.hpp>

#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref::pretend {

class PoolFixture : public testing::Test {
 protected:
  PoolFixture() {
    adopt_orphans();
    folder.make_folder("files");
    set_variable("LASTREF_RUNTIME_FOLDER", folder.path("runtime"));
  }
  ~PoolFixture() override {
    pool.reset();
    bury_all();
    set_variable("LASTREF_RUNTIME_FOLDER", "");
    EXPECT_THAT(files(), testing::IsEmpty());
    folder.remove("files");
    if (folder.exists("runtime")) {
      folder.remove("runtime");
    }
  }

  Pool& with(PoolOptions options) {
    if (!options.workers) {
      options.workers = 2;
    }
    options.temporary.root = folder.path("files");
    return pool.emplace(std::move(options));
  }
  Pool& two_workers() { return with({}); }
  /// All that is in the folder for arrays.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder.path("files"))) {
      if (each.is_regular_file()) {
        names.push_back(each.path());
      }
    }
    return names;
  }

  FreshFolder folder;
  std::optional<Pool> pool;
};

}  // namespace lastref::pretend
