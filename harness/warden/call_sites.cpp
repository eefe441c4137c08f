#include "harness/warden/call_sites.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"
#include "harness/warden/python_frames.hpp"
#include "harness/warden/thread_memory.hpp"

namespace lastref::harness::warden {
namespace {

/// The interpreter that a place is in
std::optional<PythonRuntime> python_at(const CodePlace& place) {
  if (place.image->path().find("python") == std::string::npos) {
    return std::nullopt;
  }
  const auto state = place.image->object("_PyRuntime");
  const auto version = place.image->object("Py_Version");
  return state && version ? std::optional(PythonRuntime{.state = *state + place.moved,
                                                        .version = *version + place.moved})
                          : std::nullopt;
}

std::string_view name_in(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// What has loaded the program, calls the kernel for it, or is not yet the program
bool is_of_system(const std::string& path) {
  static const std::string ours = link_at("/proc/self/exe").value_or("");
  const std::string_view name = name_in(path);
  return name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("libpthread") ||
         name.starts_with("ld-") || path == ours;
}

/// "<frozen importlib._bootstrap>" is a part of Python.
bool is_of_library(const std::string& path) {
  constexpr std::string_view folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "<"};
  return path.find("/lib/python3") != std::string::npos ||
         std::ranges::any_of(folders,
                             [&](std::string_view each) { return path.starts_with(each); });
}

void add(Site& site, const std::string& path, std::string frame) {
  if (std::ranges::find(site.frames, frame) != site.frames.end()) {
    return;
  }
  if (site.shown.empty() && !is_of_library(path)) {
    site.shown = frame;
  }
  site.frames.push_back(std::move(frame));
}

}  // namespace

Site CallSites::of(const Notification& call, int process) {
  Site site;
  ThreadMemory memory(call.thread);
  for (const CodePlace& each : stacks_.of(call, process, memory)) {
    const std::string& path = each.image->path();
    // The interpreter's own functions say nothing about the program.
    const auto python = python_at(each);
    const auto frames = python ? python_frames(memory, *python) : std::vector<PythonFrame>();
    for (const PythonFrame& frame : frames) {
      add(site,
          frame.file,
          fmt::format("{}:{} in {}", name_in(frame.file), frame.line, frame.function));
    }
    if (!frames.empty()) {
      break;
    }
    if (!is_of_system(path)) {
      add(site, path, each.image->place_of(each.address));
    }
  }
  if (site.shown.empty() && !site.frames.empty()) {
    site.shown = site.frames.front();
  }
  return site;
}

}  // namespace lastref::harness::warden
