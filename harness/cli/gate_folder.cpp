#include "harness/cli/gate_folder.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "harness/cli/result_files.hpp"
#include "harness/platform/folder.hpp"

namespace lastref::harness {
namespace {

std::string file_in(const std::string& folder) {
  return path_in(folder, "gate");
}

}  // namespace

Status make_gate_folder(const std::string& folder) {
  LASTREF_CHECK(make_folder(folder));
  const auto entries = entries_of(folder);
  if (!entries.empty()) {
    return failure(
        std::errc::invalid_argument,
        fmt::format(
            "{}: it is not empty: it has {}", folder, entries.front().path().filename().string()));
  }
  return ok();
}

Status write_gate(const std::string& folder, const GatePart& part) {
  return write_at_once(file_in(folder), to_text(part));
}

bool has_gate(const std::string& folder) {
  std::error_code error;
  return std::filesystem::exists(file_in(folder), error);
}

Result<GatePart> read_gate(const std::string& folder) {
  const std::string file = file_in(folder);
  LASTREF_TRY(text, read_whole(file));
  auto part = parse_gate_part(text);
  if (!part) {
    return failure(part.error().code, fmt::format("{}: {}", file, part.error().subject));
  }
  return part;
}

}  // namespace lastref::harness
