// codec: the messages in the pipes between a parent and its workers, as bytes.
//
// A batch starts with a table of its functions' names and one of its arrays, so that what many of
// its tasks share is sent, and counted, once.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <lastref/reducers.hpp>
#include <lastref/task.hpp>

#include "impl/os/wire.hpp"

namespace lastref::backends {

using Rebuild = std::function<Result<Array>(const Reduction&)>;

/// The maximum depth of nested lists.
inline constexpr std::size_t depth_max = 64;

/// Bytes, and the references that are on their way in them.
struct Encoded {
  os::Packed bytes;
  std::vector<Sent> sent;
};

/// Errors          value_too_large: lists nested deeper than depth_max; function_not_supported: a
///                 name that no function can have; of `reduce` and of the encoding of a reduction.
///                 Nothing is on its way.
Result<Encoded> encode_batch(const Batch& batch, const ArrayReducer& reduce);
Result<Encoded> encode_results(const List& results, const ArrayReducer& reduce);
os::Packed encode_failure(const TaskFailure& failure);

/// Whether the results contain something to rebuild.
bool has_arrays(os::Bytes results);

/// Errors          bad_message, with the reason as subject; of `rebuild`.
Result<Batch> decode_batch(os::Bytes bytes, const Rebuild& rebuild);
Result<List> decode_results(os::Bytes bytes, const Rebuild& rebuild);
/// Errors          bad_message, with the reason as subject.
Result<TaskFailure> decode_failure(os::Bytes bytes);

}  // namespace lastref::backends
