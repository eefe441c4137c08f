#include "harness/cli/result_files.hpp"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t file_bytes_max = std::uintmax_t{1} << 30U;

tl::unexpected<Error> wrong(std::errc code, const std::string& path, const std::string& what) {
  return failure(code, fmt::format("{}: {}", path, what));
}

Status status_at(const std::string& path, const std::error_code& error) {
  return error ? Status(wrong(std::errc{error.value()}, path, error.message())) : ok();
}

}  // namespace

std::string path_in(const std::string& folder, std::string_view name) {
  return fmt::format("{}/{}", folder, name);
}

Status check_folder(const std::string& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  LASTREF_CHECK(status_at(path, error));
  return is_folder ? ok() : Status(wrong(std::errc::invalid_argument, path, "it is no folder"));
}

Status make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  LASTREF_CHECK(status_at(path, error));
  return check_folder(path);
}

Result<std::string> read_whole(const std::string& path) {
  std::error_code error;
  if (const auto status = fs::status(path, error); !fs::is_regular_file(status)) {
    return wrong(std::errc::no_such_file_or_directory,
                 path,
                 fs::exists(status) ? "it is no file" : "there is no such file");
  }
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size > file_bytes_max) {
    return wrong(std::errc::invalid_argument, path, error ? error.message() : "it is too large");
  }
  std::string text = read_file(path);
  if (text.size() < size) {
    return wrong(std::errc::invalid_argument, path, "it cannot be read");
  }
  return text;
}

Status write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  return file ? ok()
              : Status(wrong(std::errc{errno}, path, std::generic_category().message(errno)));
}

Status write_at_once(const std::string& path, std::string_view text) {
  const std::string made = path + ".new";
  LASTREF_CHECK(write_file(made, text));
  std::error_code error;
  fs::rename(made, path, error);
  return status_at(path, error);
}

}  // namespace lastref::harness
