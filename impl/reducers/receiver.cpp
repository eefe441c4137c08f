#include <utility>

#include <lastref/owners.hpp>
#include <lastref/probe.hpp>
#include <lastref/reducers.hpp>

#include "impl/array/layout.hpp"
#include "impl/array/npy_open.hpp"
#include "impl/os/with_path.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

/// Never extends the file, as a map in "r+" would: bytes that are not there were never sent.
Result<MemoryRef> map_part(os::Os& os,
                           const StridedFromMemmap& view,
                           std::size_t size,
                           std::function<void()> when_unmapped) {
  const bool writes = view.mode != MapMode::read && view.mode != MapMode::copy_on_write;
  LASTREF_TRY(file, os::open_file(os, view.filename, {.write = writes}));
  LASTREF_TRY(status, os::with_path(view.filename, os.status(file.get())));
  if (view.identity && !is_same(*view.identity, os::identity_of(status))) {
    os.hit(Probe::other_file_refused);
    return failure(std::errc::identifier_removed,
                   view.filename + " (another file has the name of the one that was sent)");
  }
  if (view.offset > status.size || size > status.size - view.offset) {
    os.hit(Probe::short_file_refused);
    return failure(std::errc::invalid_argument, view.filename + " is shorter than the view of it");
  }
  return Memory::map_open(os,
                          file.get(),
                          view.filename,
                          {.mode = writes ? MapMode::read_write : view.mode,
                           .offset = view.offset,
                           .size = size,
                           .when_unmapped = std::move(when_unmapped)});
}

}  // namespace

struct Receiver::State {
  explicit State(os::Os& os) : monitor(os.make_monitor()) {}

  std::unique_ptr<os::Monitor> monitor;
  std::map<std::string, std::size_t> temporaries
      LASTREF_GUARDED_BY(*monitor);  // path: the number of its maps
};

/// What a map of a temporary file gives back at its end: the reference, and its count among the
/// temporaries.
class Receiver::ReceiverReference {
 public:
  ReceiverReference(std::shared_ptr<os::PerProcess<State>> states,
                    std::shared_ptr<References> references,
                    std::string path)
      : states_(std::move(states)),
        state_(states_->here()),
        references_(std::move(references)),
        file_{.type = ResourceType::file, .name = std::move(path)} {
    const os::MonitorLock held(*state_.monitor);
    ++state_.temporaries[file_.name];
  }
  ReceiverReference(const ReceiverReference&) = delete;
  ReceiverReference& operator=(const ReceiverReference&) = delete;
  ~ReceiverReference() {
    if (states_->find() != &state_) {
      return;  // A forked child has a copy of the reference; its parent releases it.
    }
    {
      const os::MonitorLock held(*state_.monitor);
      const auto found = state_.temporaries.find(file_.name);
      if (--found->second == 0) {
        state_.temporaries.erase(found);
      }
    }
    // Releases a reference that was held and never mapped, even if another object would end it.
    if (holds_ && (unlinks_ || !is_mapped_)) {
      static_cast<void>(references_->release(file_));
    }
  }

  /// Takes the reference, or takes over the one that the sender took for us.
  Status hold(bool unlinks) {
    unlinks_ = unlinks;
    if (references_->is_attributed()) {
      LASTREF_CHECK(references_->hold(file_));
      holds_ = true;
    } else {
      holds_ = unlinks;
    }
    return ok();
  }
  void is_mapped() noexcept { is_mapped_ = true; }

 private:
  std::shared_ptr<os::PerProcess<State>> states_;
  State& state_;
  std::shared_ptr<References> references_;
  Resource file_;
  bool holds_ = false;
  bool unlinks_ = true;
  bool is_mapped_ = false;
};

Receiver::Receiver(os::Os& os, std::shared_ptr<References> references)
    : os_(os), references_(std::move(references)) {
  static_cast<void>(os::had_memory([&] { states_ = std::make_shared<os::PerProcess<State>>(os); }));
}

bool Receiver::is_temporary(const std::string& path) const {
  const State* const state = states_ ? states_->find() : nullptr;
  if (state == nullptr) {
    return false;  // Nothing was received here.
  }
  const os::MonitorLock held(*state->monitor);
  return state->temporaries.contains(path);
}

/// Before the file is opened: whatever happens from here on, the reference is given back.
Result<std::shared_ptr<Receiver::ReceiverReference>> Receiver::take_reference(
    const std::string& path, bool unlinks) {
  auto reference = std::make_shared<ReceiverReference>(states_, references_, path);
  LASTREF_CHECK(reference->hold(unlinks));
  return reference;
}

Result<Array> Receiver::rebuild(const Reduction& reduction) {
  return os::within_memory("an array", [&]() -> Result<Array> {
    if (!states_) {
      return os::no_memory("a receiver");  // There was none when the receiver was made.
    }
    if (const auto* view = std::get_if<StridedFromMemmap>(&reduction)) {
      return rebuild_view(*view);
    }
    if (const auto* load = std::get_if<LoadTemporaryMemmap>(&reduction)) {
      return this->load(*load);
    }
    const auto& value = std::get<ByValue>(reduction);
    return value.repeated_to ? value.elements.broadcast_to(*value.repeated_to)
                             : Result<Array>(value.elements);
  });
}

Result<Array> Receiver::load(const LoadTemporaryMemmap& load) {
  LASTREF_TRY(reference, take_reference(load.filename, load.unlink_on_gc_collect));
  const MapMode mode = load.mode == MapMode::create ? MapMode::read_write : load.mode;
  LASTREF_TRY(file, os::open_file(os_, load.filename, {.write = mode == MapMode::read_write}));
  LASTREF_TRY(array,
              array::map_open_npy(os_, std::move(file), load.filename, mode, [reference]() mutable {
                reference.reset();
              }));
  if (load.repeated_to) {
    LASTREF_TRY(repeated, array.broadcast_to(*load.repeated_to));
    array = std::move(repeated);
  }
  reference->is_mapped();
  return array;
}

Result<Array> Receiver::rebuild_view(const StridedFromMemmap& view) {
  std::shared_ptr<ReceiverReference> reference;
  if (view.unlink) {
    LASTREF_TRY(taken, take_reference(view.filename, /*unlinks=*/true));
    reference = std::move(taken);
  }
  LASTREF_TRY(count, array::size_of(view.shape, view.dtype.itemsize()));
  if (view.strides && view.strides->size() != view.shape.size()) {
    return failure(std::errc::invalid_argument, "not one stride for each axis");
  }
  std::size_t before = 0;
  if (view.strides) {
    const auto extent = array::extent_of(view.shape, *view.strides, view.dtype.itemsize());
    if (!extent) {
      return failure(std::errc::value_too_large, "strides");
    }
    before = static_cast<std::size_t>(-extent->low);
  }
  std::function<void()> when_unmapped;
  if (reference) {
    when_unmapped = [reference]() mutable { reference.reset(); };
  }
  const std::size_t size = view.total_buffer_len.value_or(count * view.dtype.itemsize());
  LASTREF_TRY(memory, map_part(os_, view, size, std::move(when_unmapped)));
  if (reference) {
    reference->is_mapped();
  }
  return Array::over(std::move(memory),
                     {.dtype = view.dtype,
                      .shape = view.shape,
                      .strides = view.strides,
                      .order = view.order,
                      .offset = before});
}

}  // namespace lastref
