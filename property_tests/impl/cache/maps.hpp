// maps: the files that this process has mapped, according to the kernel. proc(5), /proc/self/maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>

namespace lastref::pretend {

/// Calls `tell` for each map of a file in the folder: its bytes, and its permissions as "rw-s".
inline void for_each_map_of(const std::string& folder,
                            const std::function<void(std::uint64_t, const std::string&)>& tell) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(' ' + folder + '/') == std::string::npos) {
      continue;
    }
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::sscanf(line.c_str(), "%lx-%lx", &start, &end);
    tell(end - start, line.substr(line.find(' ') + 1, 4));
  }
}

inline std::size_t writable_maps_of(const std::string& folder) {
  std::size_t count = 0;
  for_each_map_of(folder, [&](std::uint64_t, const std::string& permissions) {
    count += permissions == "rw-s" ? 1U : 0U;
  });
  return count;
}

/// bytes of address space
inline std::uint64_t mapped_of(const std::string& folder) {
  std::uint64_t sum = 0;
  for_each_map_of(folder, [&](std::uint64_t size, const std::string&) { sum += size; });
  return sum;
}

}  // namespace lastref::pretend
