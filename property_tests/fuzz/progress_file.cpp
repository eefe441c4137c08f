// progress_file: the file of `gate --resume`, with any contents.
#include "harness/explore/progress_file.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <span>

#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

namespace fs = std::filesystem;
using harness::ProgressFile;

constexpr std::uint64_t build = 0x0123456789abcdef;

/// A folder of this process only.
class OwnFolder {
 public:
  OwnFolder() {
    const fs::path start = fs::temp_directory_path();
    for (std::size_t number = 0; path_.empty(); ++number) {
      const fs::path path = start / ("lastref_fuzz_" + std::to_string(number));
      path_ = fs::create_directory(path) ? path : fs::path();
    }
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  std::string file() const { return path_ / "progress"; }

 private:
  fs::path path_;
};

const harness::Fault struck{.site = {.role = "root", .name = "open", .object = "a(b)#1", .k = 3},
                            .kind = harness::FaultKind::shorten};
const std::array pair = {struck, struck};
constexpr std::string_view scenario = "family/a_sentence";
const harness::Aftermath aftermath{.scenario = std::string(scenario),
                                   .first = struck,
                                   .crossing = {.site = struck.site,
                                                .error = -1,
                                                .waited = true,
                                                .has_limit = true,
                                                .may_be_cut = true,
                                                .callers = 0xfedcba98}};

}  // namespace

void check(os::Bytes input) {
  static const OwnFolder folder;
  const std::string path = folder.file();
  // A new file, because some file systems flush data that is written to a truncated file.
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << text_of(input);
  ProgressFile first;
  std::string why;
  if (!first.open(path, build, why)) {
    expect(!why.empty(), "what is refused is refused with a reason");
    expect(fs::file_size(path) == input.size(), "another user's file stays as it is");
    return;
  }
  const auto places = first.reached();
  expect(places.empty() || !first.outdated(), "nothing is known of another build");
  const auto aftermaths = first.aftermaths();
  first.add_aftermath(aftermath);
  first.add(scenario, std::span(&struck, 1));
  first.add(scenario, pair);
  first.add_reached("a_call");
  const auto probes = first.seen();
  first.add_seen("a_probe");
  first.flush();
  ProgressFile second;
  expect(second.open(path, build, why), "what was written is a progress file");
  expect(!second.outdated(), "it is of the same build");
  expect(second.has(scenario, std::span(&struck, 1)), "what was added is known");
  expect(second.has(scenario, pair), "so is a pair");
  auto wanted_aftermaths = aftermaths;
  wanted_aftermaths.push_back(aftermath);
  expect(second.aftermaths() == wanted_aftermaths, "aftermaths are kept, and no other is known");
  auto wanted = places;
  wanted.insert("a_call");
  expect(second.reached() == wanted, "places are kept, and no other is known");
  auto wanted_probes = probes;
  wanted_probes.insert("a_probe");
  expect(second.seen() == wanted_probes, "probes are kept, and no other is known");
}

}  // namespace lastref::fuzz
