#include "bench/counted/operations.hpp"

namespace lastref::bench {

std::vector<Operation> operations() {
  std::vector<Operation> all;
  for (const auto& some : {operations_on_names(),
                           operations_on_arrays(),
                           operations_with_tasks(),
                           operations_on_caches()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace lastref::bench
