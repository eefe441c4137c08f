#include <lastref/reducer_registry.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/reducers/by_value.hpp"

namespace lastref::joblib {

Result<Sent> reduce(const ReducerRegistry& registry, const Array& array) {
  return os::within_memory("an array", [&]() -> Result<Sent> {
    const bool is_map = backing_memmap(array).has_value();
    const auto found = registry.find(is_map ? ArrayType::memmap : ArrayType::ndarray);
    return found == registry.end() ? reduce_by_value(array) : found->second(array);
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

Status TemporaryResourcesManager::unlink_temporary_resources(
    const std::optional<std::string>& context) {
  return resources_.clean_up(context);
}

Status TemporaryResourcesManager::unregister_temporary_resources(
    const std::optional<std::string>& context) {
  return resources_.forget_all_files(context);
}

Status TemporaryResourcesManager::try_delete_folder(bool allow_non_empty,
                                                    const std::optional<std::string>& context) {
  return resources_.delete_folders(allow_non_empty, context);
}

Status TemporaryResourcesManager::clean_temporary_resources(
    const std::optional<std::string>& context, CleanUpOptions options) {
  return resources_.clean_up(context, options);
}

std::vector<std::string> get_exceptions(const ParallelBackend& /*backend*/) {
  return {};
}

}  // namespace lastref::joblib
