// watched: tests of programs that are watched from outside.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "harness/warden/capabilities.hpp"
#include "harness/warden/warden.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::harness::warden {

class WardenTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!watches_here()) {
      GTEST_SKIP() << "nothing can be watched here";
    }
  }

  static Watched must(WatchOptions options) {
    options.wants_calls = true;
    const auto watched = watch(options);
    EXPECT_TRUE(watched) << describe(watched.error());
    return watched.value_or(Watched{});
  }

  static std::vector<TreeFault> faults(const std::vector<std::string>& texts) {
    std::vector<TreeFault> all;
    for (const std::string& text : texts) {
      const auto fault = parse_tree_fault(text);
      EXPECT_TRUE(fault) << text;
      all.push_back(fault.value_or(TreeFault{}));
    }
    return all;
  }

  /// Watches a shell script.
  static Watched script(const std::string& text, const std::vector<std::string>& texts = {}) {
    return must({.command = {"/bin/sh", "-c", text}, .faults = faults(texts)});
  }

  /// Named like "shm:5".
  static void remove_sysv(const std::string& name) {
    const std::string kind = name.substr(0, 3);
    const std::string option = kind == "msg" ? "-q " : kind == "shm" ? "-m " : "-s ";
    script("ipcrm " + option + name.substr(4));
    EXPECT_FALSE(is_there(name));
  }

  /// A folder must be empty when it is destroyed.
  static void empty(const pretend::FreshFolder& folder) {
    for (const auto& each : std::filesystem::directory_iterator(folder.path())) {
      std::filesystem::remove_all(each);
    }
  }
};

}  // namespace lastref::harness::warden
