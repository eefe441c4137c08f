// reducer_registry: what joblib's interface has in addition to this library's, in joblib's words.
//
// Nothing else in the library uses it: a program that ports code from joblib finds the registry of
// reducers, the methods of TemporaryResourcesManager and get_exceptions here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lastref/error.hpp>
#include <lastref/os.hpp>
#include <lastref/reducers.hpp>
#include <lastref/temporary_resources.hpp>

namespace lastref {

class ParallelBackend;

}  // namespace lastref

namespace lastref::joblib {

/// numpy's names: memmap is an array that is a map itself, or a view of one; ndarray is any other.
enum class ArrayType : std::uint8_t { ndarray, memmap };

using ReducerRegistry = std::map<ArrayType, ArrayReducer>;

/// Reduces with the registered reducer for the array; by value if there is none.
///
/// Errors          those of the reducer.
Result<Sent> reduce(const ReducerRegistry& registry, const Array& array);

/// The objects that a pair of reducers uses.
struct ReducerParts {
  std::shared_ptr<References> references;
  std::shared_ptr<TemporaryResources> resources;
  std::shared_ptr<const Receiver> receiver;
};

/// Installs a forward reducer in `forward` and a backward one in `backward`, for both types.
///
/// Errors          not_enough_memory: none is installed.
/// Source          joblib _memmapping_reducer.py, get_memmapping_reducers.
Status get_memmapping_reducers(os::Os& os,
                               const ReducerParts& parts,
                               const ForwardOptions& options,
                               ReducerRegistry& forward,
                               ReducerRegistry& backward);

/// The methods of joblib's manager, for a manager of this library, which must outlive it. Without a
/// context they apply to all contexts.
///
/// Source          joblib _memmapping_reducer.py, TemporaryResourcesManager.
class TemporaryResourcesManager {
 public:
  explicit TemporaryResourcesManager(TemporaryResources& resources) noexcept
      : resources_(resources) {}

  // The methods of joblib 1.1.

  /// TemporaryResources::clean_up.
  ///
  /// Differs: each time it is called, joblib releases one reference for each file in the folder,
  /// whichever process owns it. And it leaves a folder that is not empty yet to the exit of the
  /// process; this implementation does so only if the tracker does not attribute references, as
  /// loky's.
  ///
  /// Errors          as clean_up.
  Status unlink_temporary_resources(const std::optional<std::string>& context = {});

  /// Ends the names of the files that the manager still owns, whichever process holds them; the
  /// files remain.
  ///
  /// Errors          the first error of forget; the rest is done all the same.
  Status unregister_temporary_resources(const std::optional<std::string>& context = {});

  /// Deletes the folder and forgets the context. A folder that cannot be deleted now is left to the
  /// exit of the process; that is not an error.
  ///
  /// Errors          operation_not_permitted.
  Status try_delete_folder(bool allow_non_empty, const std::optional<std::string>& context = {});

  /// The method of joblib 1.3: unlink_temporary_resources, or with `force` unregister and delete.
  ///
  /// Errors          as clean_up.
  Status clean_temporary_resources(const std::optional<std::string>& context = {},
                                   CleanUpOptions options = {});

 private:
  TemporaryResources& resources_;
};

/// Exception types that callers of a backend have to distinguish; none, because all failures are
/// values.
///
/// Source          joblib _parallel_backends.py, ParallelBackendBase.get_exceptions.
std::vector<std::string> get_exceptions(const ParallelBackend& backend);

}  // namespace lastref::joblib
