#include <memory>
#include <string>

#include <lastref/cache.hpp>
#include <lastref/owners.hpp>

#include "bench/growth_kinds.hpp"

namespace lastref::bench {
namespace {

struct Cached : Led {
  Cached(const Site& site, std::uint64_t slots) : Led(site), os(site.os) {
    options.folder = site.folder;
    references = references_of(client);
    cache = make(slots);
  }
  std::unique_ptr<MultiprocessFileCache> make(std::uint64_t slots) const {
    return must(
        MultiprocessFileCache::make(os, references, static_cast<std::int64_t>(slots), options));
  }

  os::KernelOs& os;
  CacheOptions options;
  std::shared_ptr<References> references;
  std::unique_ptr<MultiprocessFileCache> cache;
};

constexpr std::uint64_t few_slots = 1000;
const os::Bytes value = os::bytes_of("some forty bytes that some call has computed");

void cache_gets(const Site& site, Calls& calls) {
  const Cached cached(site, few_slots);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    static_cast<void>(must(cached.cache->put(call % few_slots, value)));
    static_cast<void>(must(cached.cache->get(call % few_slots)));
    static_cast<void>(must(cached.cache->view(call % few_slots)));
  }
}

/// Only the file grows with the values that are put into it.
void cache_puts(const Site& site, Calls& calls) {
  const Cached cached(site, calls.plan().last);
  const auto attached = must(MultiprocessFileCache::attach(site.os, cached.cache->handle()));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    if (!must(cached.cache->put(call, value)) || !must(attached->get(call))) {
      give_up("a value was not stored");
    }
  }
}

void cache_starts(const Site& site, Calls& calls) {
  const Cached cached(site, few_slots);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    const auto cache = cached.make(few_slots);
    static_cast<void>(must(cache->put(0, value)));
  }
}

void cache_attachments(const Site& site, Calls& calls) {
  const Cached cached(site, calls.plan().last);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    static_cast<void>(must(cached.cache->put(call, value)));
    const auto attached = must(MultiprocessFileCache::attach(site.os, cached.cache->handle()));
    static_cast<void>(must(attached->get(call)));
  }
}

void preserved_attachments(const Site& site, Calls& calls) {
  const Cached cached(site, few_slots);
  for (std::uint64_t slot = 0; slot < few_slots; ++slot) {
    static_cast<void>(must(cached.cache->put(slot, value)));
  }
  static_cast<void>(must(cached.cache->preserve("preserved", /*overwrite=*/true)));
  const auto loaded = cached.make(few_slots);
  static_cast<void>(must(loaded->preload("preserved")));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    const auto attached = must(MultiprocessFileCache::attach(site.os, loaded->handle()));
    if (!must(attached->get(call % few_slots))) {
      give_up("a preserved value is not there");
    }
  }
  must(os::discard(site.os, site.folder + "/preserved"));
}

void preservations(const Site& site, Calls& calls) {
  const Cached cached(site, few_slots);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    const auto cache = cached.make(few_slots);
    static_cast<void>(must(cache->put(0, value)));
    static_cast<void>(must(cache->preserve("preserved", /*overwrite=*/true)));
    const auto loaded = cached.make(few_slots);
    static_cast<void>(must(loaded->preload("preserved")));
  }
  must(os::discard(site.os, site.folder + "/preserved"));
}

template <auto make>
void caches_of_one_process(const Site& site, Calls& calls) {
  const Cached cached(site, few_slots);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    const auto cache = must(
        make(site.os, cached.references, static_cast<std::int64_t>(few_slots), cached.options));
    static_cast<void>(must(cache->put(0, value)));
  }
}

constexpr Kind all[] = {
    {"cache_gets", "put, get and view of a full cache", unlimited, true, cache_gets},
    {"cache_puts", "a new value, and a get by an attached process", unlimited, true, cache_puts},
    {"cache_starts", "a cache that is made and ends", unlimited, false, cache_starts},
    {"cache_attachments", "a cache that grows, attached", unlimited, false, cache_attachments},
    {"preserved_attachments",
     "a preserved cache, attached",
     unlimited,
     false,
     preserved_attachments},
    {"preservations", "a cache preserved over another", unlimited, false, preservations},
    {"file_caches",
     "a cache in a file of one process",
     unlimited,
     false,
     caches_of_one_process<make_file_cache>},
    {"naive_caches",
     "a cache in memory",
     unlimited,
     false,
     caches_of_one_process<make_naive_cache>},
};

}  // namespace

std::span<const Kind> kinds_of_caches() {
  return all;
}

}  // namespace lastref::bench
