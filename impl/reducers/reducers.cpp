#include <algorithm>
#include <list>
#include <set>
#include <utility>

#include <lastref/npy.hpp>
#include <lastref/owners.hpp>
#include <lastref/probe.hpp>
#include <lastref/reducers.hpp>

#include "impl/array/layout.hpp"
#include "impl/array/npy_open.hpp"
#include "impl/os/within_memory.hpp"
#include "impl/reducers/by_value.hpp"

namespace lastref {
namespace {

constexpr std::size_t page_size = 4096;

std::string text_of(const Array& array) {
  return '(' + array::to_text(array.shape()) + ", dtype " + array.dtype().text() + ')';
}

/// Whether the error means that no other process will find the file there either.
bool is_out_of_sight(std::errc code) {
  return code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory ||
         code == std::errc::filename_too_long || code == std::errc::too_many_symbolic_link_levels;
}

/// Whether the path of the map still leads to the file.
Result<bool> is_there(os::Os& os, const FileMap& file) {
  if (!file.path.starts_with('/')) {
    return false;  // It is in a folder that was open; the path of that is unknown.
  }
  const auto there = os.status_at(file.path);
  if (!there) {
    return is_out_of_sight(there.error().code) ? Result<bool>(false) : failure(there.error());
  }
  return is_same(os::identity_of(*there), file.identity);
}

/// The file that receivers can map instead of the array; none if it is mapped copy-on-write,
/// because its stores stay in this process.
const FileMap* file_of(const Array& array) noexcept {
  const std::optional<FileMap>& file = array.memory()->file();
  return file && file->mode != MapMode::copy_on_write ? &*file : nullptr;
}

/// The array as a view of its file; none if the path of its map no longer leads to that file,
/// because it is missing or another file has the name. Only for an array with a file.
/// Errors          of status_at, except that there is no file.
/// Crossings       status_at.
Result<std::optional<StridedFromMemmap>> reduce_view(os::Os& os, const Array& array) {
  const FileMap& file = *file_of(array);
  LASTREF_TRY(there, is_there(os, file));
  if (!there) {
    return std::optional<StridedFromMemmap>();
  }
  const Array map = array.base().value_or(array);
  const os::Bytes bounds = array.bounds();
  StridedFromMemmap view{
      .filename = file.path,
      .dtype = array.dtype(),
      .mode = file.mode == MapMode::create ? MapMode::read_write : file.mode,
      .offset =
          file.offset + static_cast<std::uint64_t>(bounds.data() - array.memory()->bytes().data()),
      .order = map.is_f_contiguous() && !map.is_c_contiguous() ? Order::f : Order::c,
      .shape = array.shape(),
      .identity = file.identity};
  if (!array.writable()) {
    view.mode = MapMode::read;  // As a broadcast view of what can be written to.
  }
  if (!array.is_contiguous(view.order)) {
    view.strides = array.strides();
    view.total_buffer_len = bounds.size();
  }
  return std::optional(std::move(view));
}

/// An array without the axes along which its elements repeat, and its shape with them.
struct Deduplicated {
  Array elements;
  std::optional<Shape> repeated_to = {};
};

/// Errors          not_enough_memory.
Result<Deduplicated> without_repeats(const Array& array) {
  Shape shape = array.shape();
  bool repeats = false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (array.strides()[axis] == 0 && shape[axis] > 1 && array.size() > 0) {
      shape[axis] = 1;
      repeats = true;
    }
  }
  if (!repeats) {
    return Deduplicated{.elements = array};
  }
  // Within the bounds of the array, so only memory can be lacking.
  LASTREF_TRY(elements, array.as_strided(std::move(shape), array.strides()));
  return Deduplicated{.elements = std::move(elements), .repeated_to = array.shape()};
}

}  // namespace

Result<Sent> reduce_by_value(const Array& array) {
  LASTREF_TRY(deduplicated, without_repeats(array));
  return Sent{.reduction = ByValue{.elements = std::move(deduplicated.elements),
                                   .repeated_to = std::move(deduplicated.repeated_to)}};
}

std::optional<Array> backing_memmap(const Array& array) {
  const Origin origin = array.memory()->origin();
  if (origin != Origin::file_map && origin != Origin::anonymous_map) {
    return std::nullopt;
  }
  return array.base().value_or(array);
}

bool has_shareable_memory(const Array& array) {
  return backing_memmap(array).has_value();
}

/// Files of arrays that were destroyed since the last release.
struct ForwardReducer::ReleaseQueue {
  explicit ReleaseQueue(os::Os& os) : monitor(os.make_monitor()) {}

  std::unique_ptr<os::Monitor> monitor;
  std::list<std::shared_ptr<const TemporaryFile>> files LASTREF_GUARDED_BY(*monitor);
};

/// The state that the threads of one process share.
struct ForwardReducer::State {
  explicit State(os::Os& os)
      : monitor(os.make_monitor()), queue(std::make_shared<ReleaseQueue>(os)) {}

  std::unique_ptr<os::Monitor> monitor;
  std::set<Array::Identity, std::owner_less<>> dumping LASTREF_GUARDED_BY(*monitor);
  std::shared_ptr<ReleaseQueue> queue;  ///< With a monitor of its own.
};

/// Marks that an array is being dumped: another thread that sends it meanwhile waits and reuses.
class ForwardReducer::Dumping {
 public:
  Dumping(ForwardReducer& reducer, Array::Identity identity)
      : state_(reducer.state_.here()), identity_(std::move(identity)) {
    const os::MonitorLock held(*state_.monitor);
    while (!state_.dumping.insert(identity_).second) {
      reducer.os_.hit(Probe::dump_shared);
      state_.monitor->wait();
    }
  }
  Dumping(const Dumping&) = delete;
  Dumping& operator=(const Dumping&) = delete;
  ~Dumping() {
    const os::MonitorLock held(*state_.monitor);
    state_.dumping.erase(identity_);
    state_.monitor->notify_all();
  }

 private:
  State& state_;
  Array::Identity identity_;
};

/// The file of an array, while it is that: when the array is destroyed, the file moves to the list
/// of the files without arrays, unless it was taken.
class ForwardReducer::CachedFile {
 public:
  CachedFile(const std::shared_ptr<const TemporaryFile>& file, std::weak_ptr<ReleaseQueue> queue)
      : file_(1, file), queue_(std::move(queue)) {}
  CachedFile(const CachedFile&) = delete;
  CachedFile& operator=(const CachedFile&) = delete;
  ~CachedFile() {
    if (const auto list = queue_.lock(); list && file_.front()) {
      const os::MonitorLock held(*list->monitor);
      list->files.splice(list->files.end(), file_);
    }
  }

  const std::shared_ptr<const TemporaryFile>& file() const noexcept { return file_.front(); }
  /// Called by the thread that has removed it from the map; that thread releases the file itself.
  std::shared_ptr<const TemporaryFile> take_file() noexcept { return std::move(file_.front()); }

 private:
  std::list<std::shared_ptr<const TemporaryFile>> file_;  // one; moves to the list of ReleaseQueue
  std::weak_ptr<ReleaseQueue> queue_;
};

/// Takes the file of an array that is to get another one.
std::shared_ptr<const TemporaryFile> ForwardReducer::take_file(const Array::Identity& identity) {
  const auto cached = files_.take(identity);
  return cached ? (*cached)->take_file() : nullptr;
}

ForwardReducer::ForwardReducer(os::Os& os,
                               std::shared_ptr<References> references,
                               std::shared_ptr<TemporaryResources> resources,
                               ForwardOptions options,
                               std::shared_ptr<const Receiver> receiver)
    : os_(os),
      references_(std::move(references)),
      resources_(std::move(resources)),
      options_(options),
      receiver_(std::move(receiver)),
      files_(os),
      state_(os) {}

ForwardReducer::~ForwardReducer() = default;

/// `line` makes the text, because most senders want none.
template <typename Line>
void ForwardReducer::report(int level, Line line) {
  if (options_.verbose >= level) {
    os::report_quietly(os_, [&] { return "lastref: " + line(); });
  }
}

Status Sent::arrived() {
  if (!reference) {
    return ok();
  }
  if (ownership_transfers) {
    reference->release_ownership();
  }
  Status released = reference->release();
  reference.reset();
  return released;
}

Result<Sent> ForwardReducer::reduce(const Array& array) {
  return os::within_memory("an array", [&]() -> Result<Sent> {
    if (file_of(array) != nullptr) {
      LASTREF_TRY(sent, reduce_mapped(array));
      if (sent) {
        return *std::move(sent);
      }
    }
    const std::optional<FileMap>& file = array.memory()->file();
    const bool is_copy_on_write = file && file->mode == MapMode::copy_on_write;
    const std::uint64_t size = std::min<std::uint64_t>(array.nbytes(), array.bounds().size());
    if (!resources_ || is_copy_on_write || array.dtype().has_object() || !options_.max_nbytes ||
        size <= *options_.max_nbytes) {
      report(2, [&] { return "sends an array by value " + text_of(array); });
      return reduce_by_value(array);
    }
    return reduce_large(array);
  });
}

/// None if its file cannot be found any more.
Result<std::optional<Sent>> ForwardReducer::reduce_mapped(const Array& array) {
  LASTREF_TRY(view, reduce_view(os_, array));
  if (!view) {
    report(2, [&] { return "another file has the path of an array " + text_of(array); });
    return std::optional<Sent>();
  }
  std::optional<Reference> reference;
  if (receiver_ && receiver_->is_temporary(view->filename)) {
    // Otherwise its file would be removed with our last view, before the receiver has opened it.
    os_.hit(Probe::received_array_sent_on);
    Resource file{.type = ResourceType::file, .name = view->filename};
    LASTREF_CHECK(references_->hold(file));
    reference = Reference(os_, references_, std::move(file));
    view->unlink = true;
  }
  const bool ownership_transfers = reference && !references_->is_attributed();
  return std::optional(Sent{.reduction = *std::move(view),
                            .reference = std::move(reference),
                            .ownership_transfers = ownership_transfers});
}

/// A reference to the file of an array that was sent before, if it still exists.
Result<std::optional<Reference>> ForwardReducer::lend_cached(
    const Array& array, std::shared_ptr<const TemporaryFile>& file) {
  const auto cached = files_.get(array);
  if (!cached) {
    return std::optional<Reference>();
  }
  file = (*cached)->file();
  LASTREF_TRY(reference, resources_->lend(*file));
  if (reference) {
    const auto there = os_.status_at(file->path());
    if (there) {
      return std::optional<Reference>(std::move(reference));
    }
    if (there.error().code != std::errc::no_such_file_or_directory) {
      return failure(there.error());
    }
    // Another process has removed it. Processes that map it keep their maps.
    os_.hit(Probe::array_dumped_anew);
    LASTREF_CHECK(resources_->release(*file));
  }
  os_.hit(Probe::file_not_lent);
  take_file(array.identity());
  return std::optional<Reference>();
}

Result<Sent> ForwardReducer::reduce_large(const Array& array) {
  const Dumping dumping(*this, array.identity());
  LASTREF_TRY(deduplicated, without_repeats(array));
  std::shared_ptr<const TemporaryFile> file;
  LASTREF_TRY(reference, lend_cached(array, file));
  if (reference) {
    report(2, [&] { return "reuses " + file->path() + ' ' + text_of(array); });
  } else {
    LASTREF_TRY(made, resources_->publish([&](os::Fd fd) {
      return write_npy(os_, fd, deduplicated.elements);
    }));
    file = std::move(made);
    report(1, [&] { return "made a map of an array " + text_of(array) + " at " + file->path(); });
    auto lent = os::within_memory("a file", [&]() -> Result<Reference> {
      LASTREF_TRY(first, resources_->lend(*file));
      if (!first) {
        return failure(std::errc::operation_canceled, file->path() + " was cleaned up");
      }
      LASTREF_CHECK(files_.set(array, std::make_shared<CachedFile>(file, state_.here().queue)));
      return *std::move(first);
    });
    if (!lent) {
      static_cast<void>(resources_->release(*file));
      return failure(std::move(lent).error());
    }
    reference = *std::move(lent);
    const bool warms = options_.prewarm == Prewarm::on || (options_.prewarm == Prewarm::automatic &&
                                                           !is_on_shared_memory(file->path()));
    if (warms) {
      warm(file->path());
    }
  }
  return Sent{
      .reduction = LoadTemporaryMemmap{.filename = file->path(),
                                       .mode = options_.mmap_mode,
                                       .unlink_on_gc_collect = options_.unlink_on_gc_collect,
                                       .repeated_to = deduplicated.repeated_to},
      .reference = std::move(reference),
      .ownership_transfers = !references_->is_attributed() && options_.unlink_on_gc_collect};
}

/// Reads each page, so that many receivers need not fetch it at once. If this fails, sending still
/// works, only slower.
void ForwardReducer::warm(const std::string& path) {
  auto file = os::open_file(os_, path, {});
  const auto map = file ? array::map_open_npy(os_, *std::move(file), path, MapMode::read, {})
                        : Result<Array>(failure(std::move(file).error()));
  if (!map) {
    os::report_quietly(
        os_, [&] { return "lastref: could not prewarm a file: " + describe(map.error()); });
    return;
  }
  const os::Bytes bytes = map->bounds();
  for (std::size_t at = 0; at < bytes.size(); at += page_size) {
    static_cast<void>(*static_cast<const volatile std::byte*>(&bytes[at]));
  }
}

Status ForwardReducer::invalidate(const Array::Identity& identity) {
  return os::within_memory("an array", [&]() -> Status {
    const Dumping dumping(*this, identity);
    const auto file = take_file(identity);
    return file ? resources_->release(*file) : ok();
  });
}

Status ForwardReducer::release_gone() {
  return os::within_memory("a file", [&]() -> Status {
    std::list<std::shared_ptr<const TemporaryFile>> files;
    {
      ReleaseQueue& queue = *state_.here().queue;
      const os::MonitorLock held(*queue.monitor);
      files.swap(queue.files);
    }
    Status all = ok();
    for (const auto& file : files) {
      Status released = resources_->release(*file);
      if (all) {
        all = std::move(released);
      }
    }
    return all;
  });
}

Result<Sent> BackwardReducer::reduce(const Array& array) {
  return os::within_memory("an array", [&]() -> Result<Sent> {
    if (file_of(array) == nullptr) {
      return reduce_by_value(array);
    }
    LASTREF_TRY(view, reduce_view(os_, array));
    if (!view || (receiver_ && receiver_->is_temporary(view->filename))) {
      return reduce_by_value(array);
    }
    return Sent{.reduction = *std::move(view)};
  });
}

}  // namespace lastref
