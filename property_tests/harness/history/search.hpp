// search: whether a small history has a lawful order, found by trying all of them.
//
// After Wing and Gong, "Testing and Verifying Concurrent Objects" (1993): an operation may come
// next if no other one returned before it began. The search knows what an operation does to a
// cache. It does not know the moments and bounds that the oracle reasons with.
#pragma once

#include "harness/history/history.hpp"

namespace lastref::pretend {

/// REQUIRES at most 16 operations, 4 slots and 14 values.
bool has_lawful_order(const harness::oracle::History& history);

}  // namespace lastref::pretend
