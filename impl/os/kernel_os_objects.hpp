// kernel_os_objects: the program and the shared objects that are loaded in this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lastref::os {

struct ObjectFile {
  std::string path;         ///< As it was loaded; empty: the program itself.
  std::string build_id;     ///< As hexadecimal digits; empty: it was linked without one.
  std::uintptr_t base = 0;  ///< Added to an address of the file, it is the address in memory.
};

/// None if the address is in no object file: it may be in code that was generated at run time.
std::optional<ObjectFile> object_file_at(std::uintptr_t address);

/// The absolute path of the file that is mapped there; empty if it is unknown.
///
/// Source          proc_pid_maps(5).
std::string mapped_path_at(std::uintptr_t address);

}  // namespace lastref::os
