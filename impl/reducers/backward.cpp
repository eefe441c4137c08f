#include <utility>

#include <lastref/reducers.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/reducers/views.hpp"

namespace lastref {

Result<Sent> BackwardReducer::reduce(const Array& array) {
  return os::within_memory("an array", [&]() -> Result<Sent> {
    if (reducers::file_of(array) == nullptr) {
      return reducers::by_value(array);
    }
    LASTREF_TRY(view, reducers::reduce_view(os_, array));
    if (!view || (receiver_ && receiver_->is_temporary(view->filename))) {
      return reducers::by_value(array);
    }
    return Sent{.reduction = *std::move(view)};
  });
}

Result<Sent> reduce(const ReducerRegistry& registry, const Array& array) {
  return os::within_memory("an array", [&]() -> Result<Sent> {
    const bool is_map = backing_memmap(array).has_value();
    const auto found = registry.find(is_map ? ArrayType::memmap : ArrayType::ndarray);
    return found == registry.end() ? reducers::by_value(array) : found->second(array);
  });
}

Status get_memmapping_reducers(os::Os& os,
                               const ReducerParts& parts,
                               const ForwardOptions& options,
                               ReducerRegistry& forward,
                               ReducerRegistry& backward) {
  return os::within_memory("reducers", [&]() -> Status {
    const auto forth = std::make_shared<ForwardReducer>(
        os, parts.references, parts.resources, options, parts.receiver);
    const auto back = std::make_shared<BackwardReducer>(os, parts.receiver);
    // Copies, so that nothing has changed when there is no memory for all.
    ReducerRegistry with_forth = forward;
    ReducerRegistry with_back = backward;
    for (const ArrayType type : {ArrayType::ndarray, ArrayType::memmap}) {
      with_forth[type] = [forth](const Array& array) { return forth->reduce(array); };
      with_back[type] = [back](const Array& array) { return back->reduce(array); };
    }
    forward.swap(with_forth);
    backward.swap(with_back);
    return ok();
  });
}

}  // namespace lastref
