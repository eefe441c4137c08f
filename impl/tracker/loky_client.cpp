#include <algorithm>
#include <array>

#include <lastref/loky.hpp>
#include <lastref/owners.hpp>

#include "impl/os/within_memory.hpp"

namespace lastref::tracker {
namespace {

bool is_plain(char character) {
  return static_cast<unsigned char>(character) < 128 && character != '\n';
}

}  // namespace

Status LokyClient::send(std::string_view command, const Resource& resource) {
  LASTREF_CHECK(check_name(resource));
  if (resource.type == ResourceType::shm || resource.type == ResourceType::noop) {
    return failure(std::errc::invalid_argument, to_text(resource) + ": a type loky does not know");
  }
  if (!std::ranges::all_of(resource.name, is_plain)) {
    return failure(std::errc::invalid_argument, to_text(resource) + ": not a line of ASCII");
  }
  if (resource.name.size() > loky_name_size_max) {
    return failure(std::errc::filename_too_long, to_text(resource));
  }
  std::string line(command);
  line += ":" + resource.name + ":" + std::string(name_of(resource.type)) + "\n";
  for (os::Bytes left = os::bytes_of(line); !left.empty();) {
    const auto written = os::retry_interrupted([&] { return os_.write(pipe_, left); });
    if (written) {
      left = left.subspan(*written);
      continue;
    }
    if (written.error().code != std::errc::resource_unavailable_try_again) {
      return failure(written.error());
    }
    std::array<os::PollItem, 1> space{{{.fd = pipe_, .want_write = true}}};
    LASTREF_CHECK(os::retry_interrupted([&] { return os_.poll(space, std::nullopt); }));
  }
  return ok();
}

Status LokyClient::register_name(const Resource& resource) noexcept {
  return os::within_memory("the tracker", [&] { return send("REGISTER", resource); });
}

Status LokyClient::maybe_unlink(const Resource& resource) noexcept {
  return os::within_memory("the tracker", [&] { return send("MAYBE_UNLINK", resource); });
}

Status LokyClient::unregister(const Resource& resource) noexcept {
  return os::within_memory("the tracker", [&] { return send("UNREGISTER", resource); });
}

}  // namespace lastref::tracker
