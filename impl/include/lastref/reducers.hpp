// Reducers: large arrays travel as maps of files, small ones by value.
//
// A sender reduces an array to a Reduction, some hundred bytes that a receiver rebuilds it from. As
// long as a reduction is on its way, the reference to its file is the sender's: keep `Sent` until
// the receiver has rebuilt the array and said so, or is known to be dead.
//
//   sender      reduce: register, dump, hold ---- reduction ----> receiver   rebuild: hold, map
//               Sent ends: release <------------- rebuilt -------            last view: unmap,
//                                                                            release
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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

/// The memory-mapped array at the root of what `array` is a view of, a file behind it or not.
///
/// Source          joblib _memmapping_reducer.py, _get_backing_memmap.
std::optional<Array> backing_memmap(const Array& array);

/// Whether a map is behind it, an anonymous one too.
bool has_shareable_memory(const Array& array);

/// A reduction, and what the sender answers for while it is on its way: to destroy it is to say
/// that it will not arrive.
struct Sent {
  Reduction reduction;
  std::optional<Reference> reference = {};
  /// The receiver answers for that very reference once it has it, as it does where references are
  /// nobody's in particular.
  bool is_receivers = false;

  /// The receiver has rebuilt the array, and says so.
  ///
  /// Errors          what release said.
  Status arrived();
};

/// What receives, in one process: it rebuilds arrays, and knows which files are temporary.
///
/// All methods may be called from any thread; arrays may outlive it. A forked child has received
/// nothing: what it finds is its parent's to let go of.
class Receiver {
 public:
  Receiver(os::Os& os, std::shared_ptr<References> references);

  /// The array that was reduced: each view exactly, in its own mode, and "w+" as "r+".
  ///
  /// A temporary file is held before it is opened, and with unlink_on_gc_collect let go of after
  /// the unmap that the last view leads to; without it, when the process ends. With references that
  /// are not attributed the sender has taken the one that is let go of.
  ///
  /// Errors          bad_message, invalid_argument, value_too_large, result_out_of_range: what does
  ///                 not fit to the file; identifier_removed: another file has the name of the one
  ///                 that was sent; what hold, open, read, status or map said. Nothing is
  ///                 held.
  /// Crossings       hold before open; open, read, status, map, close; unmap, and release after it.
  Result<Array> rebuild(const Reduction& reduction);

  /// Whether an array that was rebuilt here, and is still there, has its elements in this file.
  bool is_temporary(const std::string& path) const;

 private:
  class Loan;
  struct State;

  Result<Array> rebuild_view(const StridedFromMemmap& view);
  Result<Array> load(const LoadTemporaryMemmap& load);
  Result<std::shared_ptr<Loan>> borrow(const std::string& path, bool unlinks);

  os::Os& os_;
  std::shared_ptr<References> references_;
  std::shared_ptr<os::PerProcess<State>> states_;
};

/// Whether each page of a new file is touched once before it is sent.
enum class Prewarm : std::uint8_t {
  off,
  on,
  automatic,  ///< Unless the file lies on shared memory.
};

struct ForwardOptions {
  /// bytes; larger arrays travel as maps. None: no array does.
  std::optional<std::uint64_t> max_nbytes = 1'000'000;
  MapMode mmap_mode = MapMode::read;  ///< What receivers map in.
  bool unlink_on_gc_collect = true;
  Prewarm prewarm = Prewarm::off;
  int verbose = 0;  ///< 1 tells of each map made, 2 also of reuse and of arrays sent by value.

  bool operator==(const ForwardOptions&) const = default;
};

/// From a parent to its workers.
///
/// All methods may be called from any thread. A forked child has sent nothing, and makes no files
/// (see TemporaryResources); what needs none it sends.
///
/// Limits          An array that is changed in place after it was sent stays as it was for those
///                 who receive it later: `invalidate` it.
/// Source          joblib _memmapping_reducer.py, ArrayMemmapForwardReducer.
class ForwardReducer {
 public:
  /// `resources` may be none, as in a worker: then no file is made. So may `receiver`, where
  /// nothing is received.
  ForwardReducer(os::Os& os,
                 std::shared_ptr<References> references,
                 std::shared_ptr<TemporaryResources> resources,
                 ForwardOptions options = {},
                 std::shared_ptr<const Receiver> receiver = nullptr);
  ForwardReducer(const ForwardReducer&) = delete;
  ForwardReducer& operator=(const ForwardReducer&) = delete;
  ~ForwardReducer();

  /// An array with a file behind it is sent as a view of that, by value if it was mapped
  /// copy-on-write or its path does not lead to the file any more; a larger one than max_nbytes as
  /// a new file, one for the life of the array however often it is sent; all else by value. A
  /// broadcast view counts for the bytes that it spans.
  ///
  /// Errors          what TemporaryResources::publish, hold and status_at said. Nothing is left of
  ///                 it. In a forked child, of what travels by a new file: operation_not_permitted.
  /// Crossings       those of publish; status_at for an array with a file behind it and for one
  ///                 that was sent before; write on standard error if verbose; with prewarm map and
  ///                 unmap.
  Result<Sent> reduce(const Array& array);

  /// Forgets that the array was sent: the next time it is dumped anew.
  ///
  /// Errors          what release said.
  Status invalidate(const Array& array) { return invalidate(array.identity()); }
  Status invalidate(const Array::Identity& identity);

  /// Lets go of the files of arrays that are not there any more. Receivers keep what they have.
  ///
  /// Errors          the first that release said; the rest is done all the same.
  Status release_gone();

  const ForwardOptions& options() const noexcept { return options_; }

 private:
  class Dumping;
  class Known;
  struct Gone;
  struct Mine;

  Result<Sent> reduce_mapped(const Array& array);
  Result<Sent> reduce_large(const Array& array);
  Result<std::optional<Reference>> lend_known(const Array& array,
                                              std::shared_ptr<const TemporaryFile>& file);
  std::shared_ptr<const TemporaryFile> take_file(const Array::Identity& identity);
  void warm(const std::string& path);
  template <typename Line>
  void tell(int level, Line line);

  os::Os& os_;
  std::shared_ptr<References> references_;
  std::shared_ptr<TemporaryResources> resources_;
  ForwardOptions options_;
  std::shared_ptr<const Receiver> receiver_;
  WeakArrayKeyMap<std::shared_ptr<Known>> files_;
  os::PerProcess<Mine> mine_;
};

/// How the options of a reducer travel to a worker; what was sent and where files go do not.
Result<std::vector<std::byte>> encode(const ForwardOptions& options);

/// Errors          bad_message, with the reason as subject.
Result<ForwardOptions> decode_forward_options(os::Bytes bytes);

/// From a worker to its parent: a view of a file that is not temporary, and else by value, so that
/// no temporary file outlives its journey in the parent.
///
/// Source          joblib _memmapping_reducer.py, reduce_array_memmap_backward.
class BackwardReducer {
 public:
  BackwardReducer(os::Os& os, std::shared_ptr<const Receiver> receiver) noexcept
      : os_(os), receiver_(std::move(receiver)) {}

  /// Errors          what status_at said of the path of a map.
  /// Crossings       status_at.
  Result<Sent> reduce(const Array& array);

 private:
  os::Os& os_;
  std::shared_ptr<const Receiver> receiver_;
};

/// What numpy calls the two: an array that is a map itself, or a view of one, and any other.
enum class ArrayType : std::uint8_t { ndarray, memmap };

using ArrayReducer = std::function<Result<Sent>(const Array&)>;
using ReducerRegistry = std::map<ArrayType, ArrayReducer>;

/// Reduces with what the registry has for the array, by value if it has nothing.
///
/// Errors          what the reducer said.
Result<Sent> reduce(const ReducerRegistry& registry, const Array& array);

/// What a pair of reducers works with.
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

}  // namespace lastref
