// by_value: the reduction of an array to its elements.
#pragma once

#include <lastref/reducers.hpp>

namespace lastref {

/// Elements along which the array repeats are sent once.
///
/// Errors          not_enough_memory.
Result<Sent> reduce_by_value(const Array& array);

}  // namespace lastref
