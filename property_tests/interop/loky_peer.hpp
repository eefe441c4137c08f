// LokyPeer: a Python that has joblib's loky, and does what it is told. See loky_peer.py.
#pragma once

#include <string>
#include <vector>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

namespace lastref::pretend {

/// A pipe, both ends of which somebody owns.
struct Pipe {
  explicit Pipe(os::Os& os);

  os::UniqueFd read;
  os::UniqueFd write;
};

/// What comes until the last process has closed the other end.
std::string read_to_end(os::Os& os, os::Fd fd);

class LokyPeer {
 public:
  LokyPeer();

  /// Its answer to one order; empty once it is gone.
  std::string tell(const std::vector<std::string>& words);

  /// Lets it go. Returns when its last descendant is gone too, with what all of them had to say.
  std::string end();

 private:
  os::KernelOs os_;
  os::UniqueFd process_;
  os::UniqueFd orders_;
  os::UniqueFd answers_;
  os::UniqueFd said_;
};

}  // namespace lastref::pretend
