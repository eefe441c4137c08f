#include "bench/peers.hpp"

#include <lastref/kernel_os.hpp>

namespace lastref::bench {

bool with_peers() {
  static const bool are_wanted =
      os::KernelOs().environment("LASTREF_BENCH_WITHOUT_PEERS").value_or("0") == "0";
  return are_wanted;
}

}  // namespace lastref::bench
