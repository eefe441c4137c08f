// Reducers: large arrays travel as maps of files, small ones by value.
//
// A sender reduces an array to a Reduction, some hundred bytes from which a receiver rebuilds it.
// While a reduction is in flight, the sender owns the reference to its file. Keep `Sent` until the
// receiver has confirmed that it rebuilt the array, or is known to be dead.
//
//   sender      reduce: register, dump, hold ---- reduction ----> receiver   rebuild: hold, map
//               Sent ends: release <------------- rebuilt -------            last view: unmap,
//                                                                            release
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lastref/array.hpp>
#include <lastref/error.hpp>
#include <lastref/os.hpp>
#include <lastref/per_process.hpp>
#include <lastref/reduction.hpp>
#include <lastref/references.hpp>
#include <lastref/temporary_resources.hpp>
#include <lastref/weak_array_key_map.hpp>

namespace lastref {

/// Returns the memory-mapped array that `array` is a view of, whether the map has a file or not.
///
/// Source          joblib _memmapping_reducer.py, _get_backing_memmap.
std::optional<Array> backing_memmap(const Array& array);

/// Whether the array's memory is a map, including an anonymous one.
bool has_shareable_memory(const Array& array);

/// A reduction, and the reference that the sender owns while it is in flight. Destroying it means
/// that the reduction will not arrive.
struct Sent {
  Reduction reduction;
  std::optional<Reference> reference = {};
  /// Whether the receiver takes over this very reference when it has the array, as it does if
  /// references are not attributed to processes.
  bool ownership_transfers = false;

  /// To be called when the receiver has confirmed that it rebuilt the array.
  ///
  /// Errors          those of release.
  Status arrived();
};

/// The receiving side in one process: it rebuilds arrays, and knows which files are temporary.
///
/// All methods may be called from any thread; arrays may outlive it. A forked child has received
/// nothing: its parent releases the references that were received before the fork.
class Receiver {
 public:
  Receiver(os::Os& os, std::shared_ptr<References> references);

  /// Returns the array that was reduced: each view exactly, in its own mode, and "w+" as "r+".
  ///
  /// Takes a reference to a temporary file before it opens the file. With unlink_on_gc_collect the
  /// reference is released after the last view has caused the unmap; without it, when the process
  /// ends. If references are not attributed, the sender has taken the reference that is released.
  ///
  /// Errors          bad_message, invalid_argument, value_too_large, result_out_of_range: the
  ///                 reduction does not fit the file; identifier_removed: another file has the name
  ///                 of the one that was sent; errors of hold, open, read, status and map. Nothing
  ///                 is held.
  /// Crossings       hold before open; open, read, status, map, close; unmap, and release after it.
  Result<Array> rebuild(const Reduction& reduction);

  /// Whether an array that was rebuilt here, and still exists, has its elements in this file.
  bool is_temporary(const std::string& path) const;

 private:
  class ReceiverReference;
  struct State;

  Result<Array> rebuild_view(const StridedFromMemmap& view);
  Result<Array> load(const LoadTemporaryMemmap& load);
  Result<std::shared_ptr<ReceiverReference>> take_reference(const std::string& path, bool unlinks);

  os::Os& os_;
  std::shared_ptr<References> references_;
  std::shared_ptr<os::PerProcess<State>> states_;
};

/// Whether each page of a new file is read once before the file is sent.
enum class Prewarm : std::uint8_t {
  off,
  on,
  automatic,  ///< On, unless the file is on shared memory.
};

struct ForwardOptions {
  /// bytes; larger arrays travel as maps. Absent: no array does.
  std::optional<std::uint64_t> max_nbytes = 1'000'000;
  MapMode mmap_mode = MapMode::read;  ///< The mode in which receivers map.
  bool unlink_on_gc_collect = true;
  Prewarm prewarm = Prewarm::off;
  int verbose = 0;  ///< 1: reports each new map; 2: also reuse and arrays sent by value.

  bool operator==(const ForwardOptions&) const = default;
};

/// Reduces arrays that travel from a parent to its workers.
///
/// All methods may be called from any thread. A forked child has sent nothing, and creates no files
/// (see TemporaryResources); it can send arrays that need none.
///
/// Limits          If an array is changed in place after it was sent, later receivers see the old
///                 contents: `invalidate` it.
/// Source          joblib _memmapping_reducer.py, ArrayMemmapForwardReducer.
class ForwardReducer {
 public:
  /// `resources` may be null, as in a worker: then no file is created. `receiver` may be null if
  /// nothing is received.
  ForwardReducer(os::Os& os,
                 std::shared_ptr<References> references,
                 std::shared_ptr<TemporaryResources> resources,
                 ForwardOptions options = {},
                 std::shared_ptr<const Receiver> receiver = nullptr);
  ForwardReducer(const ForwardReducer&) = delete;
  ForwardReducer& operator=(const ForwardReducer&) = delete;
  ~ForwardReducer();

  /// Sends an array of a mapped file as a view of that file; by value if it was mapped
  /// copy-on-write; as an array of no file if its path does not refer to the file any more. Sends
  /// an array larger than max_nbytes as a new file; the array has one such file during its life,
  /// however often it is sent. Sends all other arrays by value. A broadcast view counts as the
  /// bytes that it spans.
  ///
  /// Errors          those of TemporaryResources::publish, hold and status_at. Nothing of the
  ///                 array remains. In a forked child, if it needs a new file:
  ///                 operation_not_permitted.
  /// Crossings       those of publish; status_at for an array of a mapped file and for one that was
  ///                 sent before; write on standard error if verbose; with prewarm map and unmap.
  Result<Sent> reduce(const Array& array);

  /// Forgets that the array was sent: the next time it is written to a new file.
  ///
  /// Errors          those of release.
  Status invalidate(const Array& array) { return invalidate(array.identity()); }
  Status invalidate(const Array::Identity& identity);

  /// Releases the files of arrays that do not exist any more. Receivers keep what they have.
  ///
  /// Errors          the first error of release; the remaining files are released all the same.
  Status release_gone();

  const ForwardOptions& options() const noexcept { return options_; }

 private:
  class Dumping;
  class CachedFile;
  struct ReleaseQueue;
  struct State;

  Result<std::optional<Sent>> reduce_mapped(const Array& array);
  Result<Sent> reduce_large(const Array& array);
  Result<std::optional<Reference>> lend_cached(const Array& array,
                                               std::shared_ptr<const TemporaryFile>& file);
  std::shared_ptr<const TemporaryFile> take_file(const Array::Identity& identity);
  void warm(const std::string& path);
  template <typename Line>
  void report(int level, Line line);

  os::Os& os_;
  std::shared_ptr<References> references_;
  std::shared_ptr<TemporaryResources> resources_;
  ForwardOptions options_;
  std::shared_ptr<const Receiver> receiver_;
  WeakArrayKeyMap<std::shared_ptr<CachedFile>> files_;
  os::PerProcess<State> state_;
};

/// Encodes the options of a reducer for a worker. What was sent and where files go do not travel.
Result<std::vector<std::byte>> encode_forward_options(const ForwardOptions& options);

/// Errors          bad_message, with the reason as subject.
Result<ForwardOptions> decode_forward_options(os::Bytes bytes);

/// Reduces arrays that travel from a worker to its parent: to a view if the file is not temporary,
/// otherwise by value. So no temporary file remains in use in the parent.
///
/// Source          joblib _memmapping_reducer.py, reduce_array_memmap_backward.
class BackwardReducer {
 public:
  BackwardReducer(os::Os& os, std::shared_ptr<const Receiver> receiver) noexcept
      : os_(os), receiver_(std::move(receiver)) {}

  /// Errors          those of status_at for the path of a map.
  /// Crossings       status_at.
  Result<Sent> reduce(const Array& array);

 private:
  os::Os& os_;
  std::shared_ptr<const Receiver> receiver_;
};

using ArrayReducer = std::function<Result<Sent>(const Array&)>;

}  // namespace lastref
