// resource: the names of types, names as text, and the names that can be sent.
#include <algorithm>
#include <array>
#include <utility>

#include <lastref/resource.hpp>

namespace lastref {
namespace {

constexpr std::array<std::string_view, resource_types> names = {
    "file", "folder", "semlock", "shm", "noop"};

/// Bytes of a name that an error shows; the rest of a very long name would not help.
constexpr std::size_t shown_max = 200;

bool reads_as_itself(char c) noexcept {
  return c >= ' ' && c <= '~' && c != '\\';
}

Status refused(std::errc code, const Resource& resource) {
  if (resource.name.size() <= shown_max) {
    return failure(code, to_text(resource));
  }
  const Resource start{.type = resource.type, .name = resource.name.substr(0, shown_max)};
  return failure(code, to_text(start) + "...");
}

}  // namespace

std::string_view name_of(ResourceType type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  LASTREF_ASSERT(index < names.size());
  return names[index];
}

std::optional<ResourceType> type_of(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(names, name);
  if (found == names.end()) {
    return std::nullopt;
  }
  return static_cast<ResourceType>(found - names.begin());
}

std::string to_text(const Resource& resource) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(name_of(resource.type));
  text += ':';
  for (const char c : resource.name) {
    if (reads_as_itself(c)) {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += "\\x";
    text += digits[byte / 16U];
    text += digits[byte % 16U];
  }
  return text;
}

Status check_name(const Resource& resource) {
  if (resource.name.empty()) {
    return refused(std::errc::invalid_argument, resource);
  }
  if (resource.name.size() > name_size_max) {
    return refused(std::errc::filename_too_long, resource);
  }
  if (resource.name.find('\0') != std::string::npos) {
    return refused(std::errc::invalid_argument, resource);
  }
  return ok();
}

}  // namespace lastref
