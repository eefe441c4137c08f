#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <lastref/slot_cache.hpp>

#include "impl/cache/cache_home.hpp"
#include "impl/cache/copy.hpp"
#include "impl/cache/drain_guard.hpp"
#include "impl/cache/live_file.hpp"
#include "impl/cache/slot_file.hpp"
#include "impl/cache/snapshot.hpp"
#include "impl/cache/sweep.hpp"
#include "impl/os/atomic.hpp"
#include "impl/os/with_path.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

using Copied = std::optional<std::vector<std::byte>>;
using Viewed = std::optional<CachedBytes>;

constexpr std::string_view live_word = "live";
constexpr std::string_view preserved_word = "preserved";

/// "live:<id>:<path>" or "preserved:<length>:<path>".
struct Handle {
  bool is_live = true;
  std::string id;            ///< of a live cache
  std::uint64_t length = 0;  ///< of a preserved one
  std::string path;
};

std::string to_text(const Handle& handle) {
  return std::string(handle.is_live ? live_word : preserved_word) + ':' +
         (handle.is_live ? handle.id : std::to_string(handle.length)) + ':' + handle.path;
}

Result<Handle> parse_handle(const std::string& text) {
  const std::size_t word_end = text.find(':');
  const std::size_t end = word_end == std::string::npos ? word_end : text.find(':', word_end + 1);
  if (end == std::string::npos) {
    return failure(std::errc::invalid_argument, "not a handle of a cache: " + text);
  }
  const std::string_view all = text;
  const std::string_view word = all.substr(0, word_end);
  const std::string_view which = all.substr(word_end + 1, end - word_end - 1);
  Handle handle{.is_live = word == live_word, .id = {}, .path = std::string(all.substr(end + 1))};
  bool is_right = handle.path.starts_with('/');
  if (handle.is_live) {
    handle.id = which;
  } else {
    const auto parsed = std::from_chars(which.begin(), which.end(), handle.length);
    is_right = is_right && word == preserved_word && parsed.ec == std::errc() &&
               parsed.ptr == which.end() && handle.length > 0;
  }
  if (!is_right) {
    return failure(std::errc::invalid_argument, "not a handle of a cache: " + text);
  }
  return handle;
}

/// Opens a file by a path that another process sent, if the file is our own user's.
Result<os::UniqueFd> open_own(os::Os& os, const std::string& path, bool write) {
  LASTREF_TRY(file, os::open_file(os, path, {.write = write}));
  LASTREF_TRY(status, os.status(file.get()));
  if (status.owner != os.user_id()) {
    return failure(std::errc::permission_denied, path + " (another user's)");
  }
  return file;
}

/// The name of a live cache's file without folder and ending.
std::string base_of(const std::string& path) {
  const std::size_t start = path.rfind('/') + 1;
  return path.substr(start, path.rfind('.') - start);
}

class SharedFileCache final : public MultiprocessFileCache {
 public:
  SharedFileCache(os::Os& os,
                  std::shared_ptr<References> references,
                  SlotCacheOptions options,
                  std::uint64_t length)
      : home_(os, std::move(references), std::move(options)),
        length_(length),
        monitor_(os.make_monitor()),
        closing_(os, 0),
        live_(os),
        loaded_(os) {}
  SharedFileCache(const SharedFileCache&) = delete;
  SharedFileCache& operator=(const SharedFileCache&) = delete;
  /// A call in another thread continues, and is waited for. The maps of the file are destroyed
  /// before the file itself.
  ~SharedFileCache() override {
    live_.shut();
    loaded_.shut();
    cache::wait_until(home_, [this] {
      return live_.is_idle() && loaded_.is_idle() && closing_.load(std::memory_order_acquire) == 0;
    });
    if (home_.is_here()) {
      const os::MonitorLock last(
          *monitor_);  // A call unlocks it after its last use of the content.
    } else {
      // A thread that does not exist here may hold the monitor, and a held one cannot be destroyed.
      static_cast<void>(monitor_.release());
    }
  }

  /// Called before any other thread has this.
  void open_live(std::unique_ptr<cache::LiveFile> live, std::string path) {
    live_handle_ =
        to_text({.is_live = true, .id = live->id(), .length = 0, .path = std::move(path)});
    live_.open(std::move(live));
  }

  /// The handle of a cache that was loaded from `path`.
  std::string handle_of_loaded(std::string path) const {
    return to_text({.is_live = false, .id = {}, .length = length_, .path = std::move(path)});
  }

  /// Called once.
  void open_loaded(std::unique_ptr<cache::Snapshot> snapshot, std::string its_handle) noexcept {
    loaded_handle_ = std::move(its_handle);
    loaded_.open(std::move(snapshot));
  }

  void own(cache::OwnedFile file, std::optional<cache::OwnedFile> words) {
    owned_file_.emplace(std::move(file));
    if (words) {
      owned_slot_file_.emplace(*std::move(words));
    }
    home_.report([&] { return "made " + owned_file_->path(); });
  }

  Result<bool> put(std::uint64_t slot, os::Bytes value) override {
    return os::within_memory("a value", [&]() -> Result<bool> {
      const Live live(live_);
      if (!live || live->is_frozen()) {
        return false;
      }
      LASTREF_CHECK(cache::CacheHome::check_slot(slot, length_));
      const OldMapsDropped dropped(live);
      auto done = live->put(slot, value);
      if (!done) {
        return cache::failure_at(std::move(done).error(), path_of(live_handle_));
      }
      const cache::Put outcome = *done;
      if (outcome == cache::Put::no_space) {
        home_.warn_of_space(slot, value.size());
      }
      return outcome == cache::Put::stored;
    });
  }

  Result<Copied> get(std::uint64_t slot) override {
    return os::within_memory("a value", [&]() -> Result<Copied> {
      return look_up<Copied>(slot, [slot](auto& source) -> Result<Copied> {
        LASTREF_TRY(found, source.find(slot));
        if (!found) {
          return Copied();
        }
        LASTREF_TRY(copy, cache::copy_of(*found));
        return Copied(std::move(copy));
      });
    });
  }

  Result<Viewed> view(std::uint64_t slot) override {
    return os::within_memory("a value", [&]() -> Result<Viewed> {
      return look_up<Viewed>(slot, [slot](auto& source) { return source.view(slot); });
    });
  }

  Result<Copied> get_checked(std::uint64_t slot) override {
    return os::within_memory("a value", [&]() -> Result<Copied> {
      return look_up<Copied>(slot, [slot](auto& source) { return source.read(slot); });
    });
  }

  Result<bool> preserve(const std::string& name, bool overwrite) override {
    return os::within_memory("a cache", [&]() -> Result<bool> {
      LASTREF_CHECK(check_owner("preserve"));
      const os::MonitorLock held(*monitor_);
      if (const Live live(live_); live) {
        return preserve_all_of(*live, name, overwrite, [&] { live->freeze(); });
      }
      if (const Loaded loaded(loaded_); loaded) {
        return preserve_all_of(*loaded, name, overwrite, [] {});
      }
      return false;
    });
  }

  Result<bool> preload(const std::string& name) override {
    return os::within_memory("a cache", [&]() -> Result<bool> {
      LASTREF_CHECK(check_owner("preload"));
      const os::MonitorLock held(*monitor_);
      const Live live(live_);
      if (!live || live->is_frozen()) {
        report_frozen(name);
        return false;
      }
      return load(name, *live);
    });
  }

  Status close() override {
    closing_.fetch_add(1, std::memory_order_relaxed);
    const bool was_live = live_.shut();
    loaded_.shut();
    Status removed = was_live && owned_file_ ? remove_files() : ok();
    closing_.fetch_sub(1, std::memory_order_release);  // The last access.
    return removed;
  }

  std::string handle() const override {
    std::string found;
    static_cast<void>(os::had_memory([&] {
      if (const Live live(live_); live) {
        found = live_handle_;
      } else if (const Loaded loaded(loaded_); loaded) {
        found = loaded_handle_;
      }
    }));
    return found;
  }

  std::uint64_t size() const noexcept override { return length_; }
  bool is_multiprocess_safe() const noexcept override { return true; }
  bool is_multithread_safe() const noexcept override { return true; }

 private:
  using Live = cache::DrainGuard<cache::LiveFile>::Use;
  using Loaded = cache::DrainGuard<cache::Snapshot>::Use;

  /// Drops them after a call: its result is built in place, which an assignment would copy.
  class OldMapsDropped {
   public:
    explicit OldMapsDropped(const Live& live) noexcept : live_(live) {}
    OldMapsDropped(const OldMapsDropped&) = delete;
    OldMapsDropped& operator=(const OldMapsDropped&) = delete;
    ~OldMapsDropped() {
      if (live_->has_old_maps() && live_.is_alone()) {
        live_->drop_old_maps();
      }
    }

   private:
    const Live& live_;
  };

  /// A cache that was attached has not made the file, in whatever process it is.
  Status check_owner(const char* word) const {
    if (!owned_file_) {
      return failure(std::errc::operation_not_permitted,
                     std::string(word) + " is only for the cache that created the file");
    }
    return home_.check_process(word);
  }

  /// The result of `act` on the live or the loaded cache; none if the cache is closed.
  template <typename Found, typename Act>
  Result<Found> look_up(std::uint64_t slot, Act act) {
    if (const Live live(live_); live) {
      const OldMapsDropped dropped(live);
      LASTREF_CHECK(cache::CacheHome::check_slot(slot, length_));
      Result<Found> found = act(*live);
      if (!found) {
        return cache::failure_at(std::move(found).error(), path_of(live_handle_));
      }
      return found;
    }
    if (const Loaded loaded(loaded_); loaded) {
      LASTREF_CHECK(cache::CacheHome::check_slot(slot, length_));
      return act(*loaded);
    }
    return Found();
  }

  /// The path of a handle, which is absolute.
  static std::string path_of(const std::string& handle) { return handle.substr(handle.find('/')); }

  Status remove_files() noexcept {
    Status removed = owned_slot_file_ ? owned_slot_file_->remove() : ok();
    Status last = owned_file_->remove();
    return removed ? std::move(last) : std::move(removed);
  }

  template <typename Source>
  Result<bool> preserve_all_of(Source& source,
                               const std::string& name,
                               bool overwrite,
                               const std::function<void()>& freeze) const {
    return home_.preserve(name, overwrite, freeze, [&](os::Fd file) {
      return cache::write_snapshot(
          home_.os(), file, length_, [&](std::uint64_t slot) { return source.find(slot); });
    });
  }

  void report_frozen(const std::string& name) const {
    home_.report([&] { return "not loaded, because the cache is frozen or closed: " + name; });
  }

  Result<bool> load(const std::string& name, cache::LiveFile& live) {
    LASTREF_TRY(preserved, home_.find_preserved(name));
    if (!preserved) {
      return false;
    }
    LASTREF_TRY(
        snapshot,
        os::with_path(preserved->path,
                      cache::Snapshot::load(home_.os(), std::move(preserved->file), length_)));
    std::string its_handle = handle_of_loaded(std::move(preserved->path));
    // Other users of the old file put nothing more into it.
    if (!live.freeze()) {
      report_frozen(name);  // By a put that met the limit, in any process.
      return false;
    }
    open_loaded(std::move(snapshot), std::move(its_handle));
    if (!live_.shut()) {
      // Another thread has closed the cache meanwhile, and removed the file.
      loaded_.shut();
      return false;
    }
    home_.report([&] { return "loaded " + name + " in place of " + owned_file_->path(); });
    if (owned_slot_file_) {
      owned_slot_file_->remove_quietly();
    }
    owned_file_->remove_quietly();
    return true;
  }

  cache::CacheHome home_;
  const std::uint64_t length_;
  std::optional<cache::OwnedFile> owned_file_;  // none in an attached cache
  std::optional<cache::OwnedFile>
      owned_slot_file_;  // if they are in a file of their own; removed first
  std::string live_handle_;
  std::string loaded_handle_;
  std::unique_ptr<os::Monitor> monitor_;  ///< Held while the cache is preserved or loaded
  os::Atomic<std::uint64_t> closing_;     // calls that remove the files after the last use
  // The current contents of the cache: one of the two, or nothing.
  mutable cache::DrainGuard<cache::LiveFile> live_;
  mutable cache::DrainGuard<cache::Snapshot> loaded_;
};

}  // namespace

Result<std::unique_ptr<MultiprocessFileCache>> MultiprocessFileCache::make(
    os::Os& os,
    std::shared_ptr<References> references,
    std::int64_t length,
    SlotCacheOptions options) {
  return os::within_memory("a cache", [&]() -> Result<std::unique_ptr<MultiprocessFileCache>> {
    LASTREF_TRY(numbers, cache::check_numbers(length, options));
    LASTREF_TRY(folder, cache::cache_folder(os, options.folder));
    options.folder = folder;
    cache::sweep_dead(os, folder);
    LASTREF_TRY(own, cache::OwnedFile::make(os, references, folder, cache::live_ending));
    cache::LiveFile::Files files{.values = own.take_open()};
    std::optional<cache::OwnedFile> owned_slot_file;
    LASTREF_TRY(kind, os.file_system(folder));
    if (!cache::keeps_space(kind)) {
      LASTREF_TRY(
          words,
          cache::make_slot_file(os, references, own.base(), cache::head_end(numbers.length)));
      files.slots = std::move(words.file);
      files.slot_folder_number = words.folder_number;
      owned_slot_file.emplace(std::move(words.own));
    }
    auto created = cache::LiveFile::create(os,
                                           std::move(files),
                                           {.length = numbers.length,
                                            .size_limit = numbers.size_limit,
                                            .is_durable = options.is_durable});
    if (!created) {
      return cache::failure_at(std::move(created).error(), own.path() + " (the slots of a cache)");
    }
    auto live = *std::move(created);
    auto made = std::make_unique<SharedFileCache>(
        os, std::move(references), std::move(options), numbers.length);
    made->open_live(std::move(live), own.path());
    made->own(std::move(own), std::move(owned_slot_file));
    return made;
  });
}

Result<std::unique_ptr<MultiprocessFileCache>> MultiprocessFileCache::attach(
    os::Os& os, const std::string& handle) {
  return os::within_memory("a cache", [&]() -> Result<std::unique_ptr<MultiprocessFileCache>> {
    LASTREF_TRY(parsed, parse_handle(handle));
    LASTREF_TRY(file, open_own(os, parsed.path, parsed.is_live));
    if (!parsed.is_live) {
      // The cache that preloaded it has checked all of it.
      LASTREF_TRY(snapshot,
                  os::with_path(parsed.path,
                                cache::Snapshot::load(
                                    os, std::move(file), parsed.length, cache::Check::as_used)));
      auto attached =
          std::make_unique<SharedFileCache>(os, nullptr, SlotCacheOptions(), parsed.length);
      attached->open_loaded(std::move(snapshot), attached->handle_of_loaded(parsed.path));
      return attached;
    }
    const auto open_words = [&](std::uint64_t folder_number) {
      return open_own(
          os, cache::slot_file_path(folder_number, base_of(parsed.path)), /*write=*/true);
    };
    LASTREF_TRY(live,
                os::with_path(parsed.path, cache::LiveFile::open(os, std::move(file), open_words)));
    if (live->id() != parsed.id) {
      return failure(std::errc::bad_message, "another cache has the name " + parsed.path);
    }
    auto attached =
        std::make_unique<SharedFileCache>(os, nullptr, SlotCacheOptions(), live->shape().length);
    attached->open_live(std::move(live), parsed.path);
    return attached;
  });
}

}  // namespace lastref
