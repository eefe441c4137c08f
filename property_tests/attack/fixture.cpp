#include "property_tests/attack/fixture.hpp"

#include <fstream>
#include <iterator>
#include <utility>

#include "impl/tracker/ledger.hpp"

namespace lastref::pretend {

void AttackFixture::SetUp() {
  if (const std::string missing = have_own_folders(); !missing.empty()) {
    GTEST_SKIP() << "needs " << missing;
  }
  clear_own_folders();
  ASSERT_TRUE(make_folder(precious, 0700));
  ASSERT_TRUE(make_file(precious_file, "precious"));
  guard(precious);
}

void AttackFixture::TearDown() {
  for (const Guarded& each : guarded_) {
    EXPECT_EQ(seen_at(each.path), each.seen);
  }
}

void AttackFixture::ambush(const Crossing& at, std::function<void()> action) {
  os.after = [at, action = std::move(action)](const Crossing& crossing) mutable {
    if (crossing == at && action) {
      std::exchange(action, nullptr)();
    }
  };
}

void AttackFixture::guard(const std::string& path) {
  guarded_.push_back({.path = path, .seen = seen_at(path)});
}

ForgedTree::ForgedTree(os::Os& os, const std::string& victim) {
  const std::string path = "/tmp/ledger";
  EXPECT_TRUE(make_file(path, ""));
  auto written = tracker::Ledger::open(os, path);
  EXPECT_TRUE(written);
  EXPECT_TRUE(written->enter({.type = ResourceType::file, .name = victim}));
  std::ifstream file(path, std::ios::binary);
  ledger.assign(std::istreambuf_iterator<char>(file), {});
  EXPECT_FALSE(ledger.empty());
  EXPECT_TRUE(os.unlink(path));
}

bool ForgedTree::make_below(const std::string& runtime) const {
  const std::string folder = runtime + "/" + name;
  return make_folder(folder, 0777) && make_file(folder + "/lock", "", 0666) &&
         make_file(folder + "/ledger", ledger, 0666);
}

}  // namespace lastref::pretend
