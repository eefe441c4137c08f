#include "bench/cache_keepers.hpp"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <benchmark/benchmark.h>

namespace lastref::bench {
namespace {

template <typename Each>
bool all(Slots slots, Each each) {
  for (const std::uint64_t slot : slots) {
    if (!each(slot)) {
      return false;
    }
  }
  return true;
}

void copy(const void* from, std::vector<std::byte>& to) {
  std::memcpy(to.data(), from, to.size());
  benchmark::ClobberMemory();
}

/// Uninitialized memory.
std::unique_ptr<std::byte[]> new_memory(std::size_t size) {
  return std::make_unique_for_overwrite<std::byte[]>(size);
}

}  // namespace

OurCache::OurCache(os::Os& os,
                   const std::shared_ptr<References>& references,
                   const ShmFolder& folder,
                   Load load)
    : value_(load.size, std::byte{'v'}),
      cache_(MultiprocessFileCache::make(
                 os, references, static_cast<std::int64_t>(load.slots), {.folder = folder.path()})
                 .value()) {}

bool OurCache::put_all(Slots slots) {
  return all(slots, [&](std::uint64_t slot) {
    const auto is_stored = cache_->put(slot, value_);
    return is_stored && *is_stored;
  });
}

bool OurCache::copy_all(Slots slots) {
  return all(slots, [&](std::uint64_t slot) {
    const auto value = cache_->get(slot);
    return value && *value && (*value)->size() == value_.size();
  });
}

bool OurCache::check_all(Slots slots) {
  return all(slots, [&](std::uint64_t slot) {
    const auto value = cache_->get_checked(slot);
    return value && *value && (*value)->size() == value_.size();
  });
}

bool OurCache::read_views(Slots slots) {
  return all(slots, [&](std::uint64_t slot) {
    const auto value = cache_->view(slot);
    if (!value || !*value || (*value)->bytes.size() != value_.size()) {
      return false;
    }
    copy((*value)->bytes.data(), value_);
    return true;
  });
}

bool OurCache::find_all(Slots slots) {
  return all(slots, [&](std::uint64_t slot) {
    const auto value = cache_->view(slot);
    return value && *value && (*value)->bytes.size() == value_.size();
  });
}

PlainFile::PlainFile(const ShmFolder& folder, Load load)
    : value_(load.size, std::byte{'v'}),
      map_size_(load.slots * load.size),
      fd_(::open((folder.path() + "/plain").c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600)) {
  void* const map = ::mmap(nullptr, map_size_, PROT_READ, MAP_SHARED, fd_, 0);
  if (map != MAP_FAILED) {
    map_ = static_cast<const std::byte*>(map);
  }
}

PlainFile::~PlainFile() {
  if (map_ != nullptr) {
    ::munmap(const_cast<std::byte*>(map_), map_size_);
  }
  ::close(fd_);
}

bool PlainFile::put_all(Slots slots) {
  return all(slots, [&](std::uint64_t slot) {
    return ::pwrite(fd_, value_.data(), value_.size(), static_cast<off_t>(slot * value_.size())) ==
           static_cast<ssize_t>(value_.size());
  });
}

bool PlainFile::read_all(Slots slots) {
  return all(slots, [&](std::uint64_t slot) {
    return ::pread(fd_, value_.data(), value_.size(), static_cast<off_t>(slot * value_.size())) ==
           static_cast<ssize_t>(value_.size());
  });
}

bool PlainFile::copy_all(Slots slots) {
  return all(slots, [&](std::uint64_t slot) {
    const auto memory = new_memory(value_.size());
    return ::pread(fd_, memory.get(), value_.size(), static_cast<off_t>(slot * value_.size())) ==
           static_cast<ssize_t>(value_.size());
  });
}

bool PlainFile::read_mapped(Slots slots) {
  return map_ != nullptr && all(slots, [&](std::uint64_t slot) {
           copy(map_ + slot * value_.size(), value_);
           return true;
         });
}

Lmdb::Lmdb(const ShmFolder& folder, Load load)
    : path_(folder.path() + "/lmdb"),
      // Address space for values with their own pages, and for rewritten pages.
      map_size_((std::size_t{256} << 20U) + load.slots * (load.size + 4096) * 2),
      value_(load.size, std::byte{'v'}) {
  open();
}

Lmdb::~Lmdb() {
  if (reader_ != nullptr) {
    ::mdb_txn_abort(reader_);
  }
  if (environment_ != nullptr) {
    ::mdb_env_close(environment_);
  }
}

void Lmdb::in_a_child() {
  reader_ = nullptr;
  environment_ = nullptr;
  open();
}

/// Leaves reader_ null if the environment cannot be opened.
void Lmdb::open() {
  MDB_txn* transaction = nullptr;
  constexpr mdb_mode_t mode = 0600;
  if (::mdb_env_create(&environment_) != 0 || ::mdb_env_set_mapsize(environment_, map_size_) != 0 ||
      ::mdb_env_open(environment_, path_.c_str(), MDB_NOSUBDIR | MDB_NOSYNC, mode) != 0 ||
      ::mdb_txn_begin(environment_, nullptr, 0, &transaction) != 0) {
    return;
  }
  if (::mdb_dbi_open(transaction, nullptr, MDB_INTEGERKEY, &table_) == 0 &&
      ::mdb_txn_commit(transaction) == 0 &&
      ::mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &reader_) == 0) {
    ::mdb_txn_reset(reader_);
  }
}

bool Lmdb::put_in(MDB_txn* transaction, Slots slots) {
  return all(slots, [&](std::uint64_t slot) {
    MDB_val key{.mv_size = sizeof slot, .mv_data = &slot};
    MDB_val value{.mv_size = value_.size(), .mv_data = value_.data()};
    return ::mdb_put(transaction, table_, &key, &value, MDB_NOOVERWRITE) == 0;
  });
}

bool Lmdb::put_by(std::size_t batch_size, Slots slots) {
  while (!slots.empty()) {
    const Slots batch = slots.first(std::min(slots.size(), batch_size));
    slots = slots.subspan(batch.size());
    MDB_txn* transaction = nullptr;
    if (reader_ == nullptr || ::mdb_txn_begin(environment_, nullptr, 0, &transaction) != 0) {
      return false;
    }
    if (!put_in(transaction, batch)) {
      ::mdb_txn_abort(transaction);
      return false;
    }
    if (::mdb_txn_commit(transaction) != 0) {
      return false;
    }
  }
  return true;
}

bool Lmdb::put_all(Slots slots) {
  return put_by(1, slots);
}

bool Lmdb::put_in_batches(Slots slots) {
  return put_by(1000, slots);
}

/// Calls `use` while the reader holds the state that contains the value.
template <typename Use>
bool Lmdb::get_each(Slots slots, Use use) {
  return reader_ != nullptr && all(slots, [&](std::uint64_t slot) {
           if (::mdb_txn_renew(reader_) != 0) {
             return false;
           }
           MDB_val key{.mv_size = sizeof slot, .mv_data = &slot};
           MDB_val value{};
           const bool is_found =
               ::mdb_get(reader_, table_, &key, &value) == 0 && value.mv_size == value_.size();
           if (is_found) {
             use(value.mv_data);
           }
           ::mdb_txn_reset(reader_);
           return is_found;
         });
}

bool Lmdb::copy_all(Slots slots) {
  return get_each(slots, [&](const void* value) {
    const auto memory = new_memory(value_.size());
    std::memcpy(memory.get(), value, value_.size());
    benchmark::DoNotOptimize(memory.get());
    benchmark::ClobberMemory();
  });
}

bool Lmdb::read_views(Slots slots) {
  return get_each(slots, [&](const void* value) { copy(value, value_); });
}

bool Lmdb::find_all(Slots slots) {
  return get_each(slots, [](const void* value) { benchmark::DoNotOptimize(value); });
}

}  // namespace lastref::bench
