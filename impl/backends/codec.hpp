// codec: what goes through the pipes between a parent and its workers, as bytes.
//
// A batch has a table of its functions' names and one of its arrays in front, so that what many of
// its tasks share travels, and is counted, once.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <lastref/reducers.hpp>
#include <lastref/task.hpp>

#include "impl/os/wire.hpp"

namespace lastref::backends {

using Rebuild = std::function<Result<Array>(const Reduction&)>;

/// Lists in lists, at most.
inline constexpr std::size_t depth_max = 64;

/// Bytes, and the references of what is on its way in them.
struct Encoded {
  os::Packed bytes;
  std::vector<Sent> sent;
};

/// Errors          value_too_large: lists in lists beyond depth_max; function_not_supported: a name
///                 that no function can have; what `reduce` and the encoding of a reduction said.
///                 Nothing is on its way.
Result<Encoded> encode(const Batch& batch, const ArrayReducer& reduce);
Result<Encoded> encode(const List& results, const ArrayReducer& reduce);
os::Packed encode(const Failure& failure);

/// Whether there is something to rebuild in results.
bool has_arrays(os::Bytes results);

/// Errors          bad_message, with the reason as subject; what `rebuild` said.
Result<Batch> decode_batch(os::Bytes bytes, const Rebuild& rebuild);
Result<List> decode_results(os::Bytes bytes, const Rebuild& rebuild);
/// Errors          bad_message, with the reason as subject.
Result<Failure> decode_failure(os::Bytes bytes);

}  // namespace lastref::backends
