// file_systems_test: arrays on file systems that are mounted for the test.
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <lastref/npy.hpp>
#include <lastref/owners.hpp>
#include <lastref/reducers.hpp>

#include "property_tests/attack/fixture.hpp"

namespace lastref {
namespace {

/// A file system at /tmp/mounted.
class MountedFileSystem : public pretend::AttackFixture {
 protected:
  void SetUp() override {
    AttackFixture::SetUp();
    if (!IsSkipped()) {
      ASSERT_TRUE(pretend::make_folder(mounted_, 0700));
    }
  }
  void TearDown() override {
    pretend::unmount(mounted_);
    AttackFixture::TearDown();
  }

  const std::string mounted_ = "/tmp/mounted";
  const DType bytes_ = DType::parse("|u1").value();
};

void store(const std::string& path, std::streamoff at, char byte) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file.put(byte);
}

TEST_F(MountedFileSystem, that_copies_up_a_mapped_file_sends_its_own_bytes_E2_E14) {
  for (const char* name : {"lower", "upper", "work"}) {
    ASSERT_TRUE(pretend::make_folder(std::string("/tmp/") + name, 0700));
  }
  ASSERT_TRUE(create_npy(os, "/tmp/lower/a", bytes_, {4096}));
  if (!pretend::mount_at(
          mounted_, "overlay", "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work")) {
    GTEST_SKIP() << "needs overlayfs, which cannot be mounted here";
  }
  const std::string path = mounted_ + "/a";
  const Array array = map_npy(os, path, MapMode::read).value();
  const Array own = array.copy().value();
  ForwardReducer forward(os, nullptr, nullptr);
  const Reduction early = forward.reduce(array).value().reduction;
  EXPECT_TRUE(std::holds_alternative<StridedFromMemmap>(early));
  store(path, 128, 'x');  // In place: overlayfs makes a copy, which is another file.
  ASSERT_TRUE(contents_equal(array, own)) << "the map is of the file below";
  const Array now = map_npy(os, path, MapMode::read).value();
  ASSERT_FALSE(contents_equal(now, own));

  for (const Array& each : {array, now}) {
    const Reduction sent =
        decode_reduction(encode_reduction(forward.reduce(each).value().reduction).value()).value();
    const auto arrived = Receiver(os, nullptr).rebuild(sent);
    ASSERT_TRUE(arrived) << describe(arrived.error());
    EXPECT_TRUE(contents_equal(*arrived, each));
  }
  // A reduction from before the copy is refused.
  EXPECT_EQ(Receiver(os, nullptr).rebuild(early).error().code, std::errc::identifier_removed);
}

TEST_F(MountedFileSystem, that_is_full_has_no_space_for_a_new_array_and_raises_no_signal_E10_E14) {
  ASSERT_TRUE(pretend::mount_at(mounted_, "tmpfs", "size=1m"));
  const std::string path = mounted_ + "/a";
  const auto large = create_npy(os, path, bytes_, {std::size_t{2} << 20U});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, std::errc::no_space_on_device);
  EXPECT_EQ(large.error().subject, path);
  EXPECT_FALSE(std::filesystem::exists(path));
  const auto memory =
      Memory::map_file(os, path, {.mode = MapMode::create, .size = std::size_t{2} << 20U});
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, std::errc::no_space_on_device);

  const auto small = create_npy(os, path, bytes_, {std::size_t{512} << 10U});
  ASSERT_TRUE(small) << describe(small.error());
  std::ofstream(mounted_ + "/rest") << std::string(std::size_t{1} << 20U, 'x');
  for (std::size_t at = 0; at < small->nbytes(); at += 4096) {
    small->mutable_data().value()[at] = std::byte{1};
  }
}

}  // namespace
}  // namespace lastref
