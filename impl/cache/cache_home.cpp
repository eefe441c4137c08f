#include "impl/cache/cache_home.hpp"

#include <lastref/probe.hpp>

#include "impl/cache/space.hpp"

namespace lastref::cache {

Result<Numbers> check_numbers(std::int64_t length, const SlotCacheOptions& options) {
  if (length <= 0) {
    return failure(std::errc::invalid_argument,
                   "the length of a cache is 1 or more, not " + std::to_string(length));
  }
  if (options.size_limit < 0) {
    return failure(
        std::errc::invalid_argument,
        "the limit of a cache is 0 (none) or more, not " + std::to_string(options.size_limit));
  }
  const Numbers numbers = {.length = static_cast<std::uint64_t>(length),
                           .size_limit = static_cast<std::uint64_t>(options.size_limit)};
  if (numbers.length > length_max) {
    return failure(
        std::errc::value_too_large,
        std::to_string(length) + " slots, where " + std::to_string(length_max) + " are the most");
  }
  return numbers;
}

Status CacheHome::check_process(const char* word) const {
  if (!is_here()) {
    return failure(std::errc::operation_not_permitted,
                   std::string(word) + " is only for the process that created the cache, " +
                       std::to_string(process_));
  }
  return ok();
}

Status CacheHome::check_slot(std::uint64_t slot, std::uint64_t length) {
  if (slot >= length) {
    return failure(std::errc::result_out_of_range,
                   "slot " + std::to_string(slot) + " of " + std::to_string(length));
  }
  return ok();
}

void CacheHome::warn_of_space(std::uint64_t slot, std::size_t size) noexcept {
  os_.hit(Probe::cache_out_of_space);
  if (!has_warned_.exchange(true)) {
    static_cast<void>(os::had_memory([&] {
      const std::string where = options_.folder ? " in " + *options_.folder : "";
      os::report_quietly(os_,
                         "lastref cache: no space for the " + std::to_string(size) +
                             " bytes of slot " + std::to_string(slot) + where +
                             "; continuing without it");
    }));
  }
}

Result<std::string> CacheHome::path_of(const std::string& name) const {
  LASTREF_TRY(folder, cache_folder(os_, options_.folder));
  return path_in(folder, name);
}

Result<bool> CacheHome::preserve(const std::string& name,
                                 bool overwrite,
                                 const std::function<void()>& freeze,
                                 const std::function<Status(os::Fd)>& write) const {
  LASTREF_TRY(path, path_of(name));
  if (!overwrite) {
    const auto there = os_.status_at(path);
    if (there) {
      report([&] { return path + " is there already"; });
      return false;
    }
    if (there.error().code != std::errc::no_such_file_or_directory) {
      return failure(there.error());
    }
  }
  LASTREF_TRY(published,
              publish(os_,
                      references_,
                      path,
                      {.overwrite = overwrite, .is_durable = options_.is_durable},
                      [&](os::Fd file) {
                        freeze();
                        return write(file);
                      }));
  report([&] { return published ? "preserved as " + path : path + " is there already"; });
  return published;
}

Result<std::optional<Preserved>> CacheHome::find_preserved(const std::string& name) const {
  LASTREF_TRY(path, path_of(name));
  auto open = os::open_file(os_, path, {});
  if (failed_with(open, std::errc::no_such_file_or_directory)) {
    report([&] { return "there is no " + path; });
    return std::optional<Preserved>();
  }
  LASTREF_TRY(file, std::move(open));
  return Preserved{.file = std::move(file), .path = std::move(path)};
}

}  // namespace lastref::cache
