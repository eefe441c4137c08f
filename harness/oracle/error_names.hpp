// error_names: errors as text for findings.
#pragma once

#include <cstring>
#include <string>

namespace lastref::harness::oracle {

/// "ENOENT", or the number of an error without a name.
inline std::string name_of_error(int error) {
  const char* name = strerrorname_np(error);
  return name == nullptr ? std::to_string(error) : name;
}

}  // namespace lastref::harness::oracle
