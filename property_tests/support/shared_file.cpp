#include "property_tests/support/shared_file.hpp"

#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include "property_tests/support/array_model.hpp"

namespace lastref::pretend {

SharedFile::SharedFile(os::Os& os, std::size_t size) {
  static std::atomic<int> files = 0;
  const std::string name = "/lastref_shared_file_" + std::to_string(os.process_id()) + '_' +
                           std::to_string(files.fetch_add(1));
  file_ = os::UniqueFd(os, must(os.create_shm(name, 0600)));
  EXPECT_TRUE(os.unlink_shm(name));
  const std::byte last{0};
  must(os.write_at(file_.get(), std::span(&last, 1), size - 1));
  map_ = os::UniqueMap(os, must(map_shared(os, file_.get(), size)));
}

Result<std::span<std::byte>> map_shared(os::Os& os, os::Fd file, std::size_t size) {
  return os.map({.file = file, .offset = 0, .size = size, .kind = os::MapKind::shared});
}

}  // namespace lastref::pretend
