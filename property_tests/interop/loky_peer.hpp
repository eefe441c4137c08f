// LokyPeer: a Python process that has joblib's loky, and follows orders. See loky_peer.py.
#pragma once

#include <string>
#include <vector>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

namespace lastref::pretend {

/// A pipe that owns both of its ends.
struct Pipe {
  explicit Pipe(os::Os& os);

  os::UniqueFd read;
  os::UniqueFd write;
};

/// All bytes until the last process has closed the other end.
std::string read_to_end(os::Os& os, os::Fd fd);

class LokyPeer {
 public:
  LokyPeer();

  /// Its answer to one order; empty once it has exited.
  std::string tell(const std::vector<std::string>& words);

  /// Lets it exit. Returns when its last descendant has exited too, with the output of all of them.
  std::string end();

 private:
  os::KernelOs os_;
  os::UniqueFd process_;
  os::UniqueFd orders_;
  os::UniqueFd answers_;
  os::UniqueFd said_;
};

}  // namespace lastref::pretend
