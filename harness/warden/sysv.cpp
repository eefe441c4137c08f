#include "harness/warden/sysv.hpp"

#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace lastref::harness::warden {

std::map<std::string, SysvObject> sysv_objects() {
  std::map<std::string, SysvObject> all;
  for (const std::string kind : {"shm", "sem", "msg"}) {
    std::ifstream file("/proc/sysvipc/" + kind);
    std::string line;
    std::getline(file, line);  // The column headers
    while (std::getline(file, line)) {
      // key, id, rights; for shared memory also size and maker
      std::istringstream words(line);
      std::string id, rights, size;
      SysvObject object;
      words >> object.key >> id >> rights;
      if (kind == "shm") {
        words >> size >> object.maker;
      }
      all[fmt::format("{}:{}", kind, id)] = object;
    }
  }
  return all;
}

}  // namespace lastref::harness::warden
