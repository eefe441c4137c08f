// Operations on caches of slots.
#include <lastref/cache.hpp>
#include <lastref/owners.hpp>
#include <lastref/tracker_client.hpp>

#include "bench/counted/mark.hpp"
#include "bench/counted/operations.hpp"
#include "bench/other_process.hpp"

namespace lastref::bench {
namespace {

constexpr std::size_t page = 4096;  // bytes
constexpr std::int64_t slots = 1000;

struct Cached {
  explicit Cached(const Place& place) : os(place.os), client(tracker::Client::lead(place.os)) {
    options.folder = place.folder;
    references = references_of(client);
    cache = make();
  }
  std::unique_ptr<MultiprocessFileCache> make() const {
    return must(MultiprocessFileCache::make(os, references, slots, options));
  }
  void fill(int count) const {
    for (int slot = 0; slot < count; ++slot) {
      put(slot);
    }
  }
  void put(int slot) const {
    if (!must(cache->put(static_cast<std::uint64_t>(slot), value))) {
      give_up("a value was not stored");
    }
  }

  os::Os& os;
  std::shared_ptr<tracker::Client> client;
  CacheOptions options;
  std::shared_ptr<References> references;
  std::unique_ptr<MultiprocessFileCache> cache;
  std::vector<std::byte> value{page, std::byte{1}};
};

void make_caches(const Place& place) {
  const Cached cached(place);
  for (int round = 0; round < rounds; ++round) {
    std::unique_ptr<MultiprocessFileCache> cache;
    const Marked marked;
    cache = cached.make();
  }
}

void end_caches(const Place& place) {
  const Cached cached(place);
  for (int round = 0; round < rounds; ++round) {
    auto cache = cached.make();
    const Marked marked;
    cache.reset();
  }
}

void attach(const Place& place) {
  const Cached cached(place);
  cached.fill(1);
  const std::string handle = cached.cache->handle();
  for (int round = 0; round < rounds; ++round) {
    std::unique_ptr<MultiprocessFileCache> attached;
    const Marked marked;
    attached = must(MultiprocessFileCache::attach(place.os, handle));
  }
}

void put(const Place& place) {
  const Cached cached(place);
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    cached.put(round);
  }
}

constexpr int many = 30;

void put_many(const Place& place) {
  const Cached cached(place);
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    for (int number = 0; number < many; ++number) {
      cached.put(round * many + number);
    }
  }
}

void put_again(const Place& place) {
  const Cached cached(place);
  cached.fill(1);
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    static_cast<void>(must(cached.cache->put(0, cached.value)));
  }
}

void get(const Place& place) {
  const Cached cached(place);
  cached.fill(1);
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    static_cast<void>(must(cached.cache->get(0)));
  }
}

void view(const Place& place) {
  const Cached cached(place);
  cached.fill(1);
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    static_cast<void>(must(cached.cache->view(0)));
  }
}

void get_checked(const Place& place) {
  const Cached cached(place);
  cached.fill(1);
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    static_cast<void>(must(cached.cache->get_checked(0)));
  }
}

constexpr int values_preserved = 10;
constexpr const char* preserved_name = "preserved";

void preserve(const Place& place) {
  Cached cached(place);
  for (int round = 0; round < rounds; ++round) {
    cached.cache = cached.make();
    cached.fill(values_preserved);
    const Marked marked;
    static_cast<void>(must(cached.cache->preserve(preserved_name, /*overwrite=*/true)));
  }
  must(os::discard(place.os, place.folder + "/" + preserved_name));
}

void preload(const Place& place) {
  const Cached cached(place);
  cached.fill(values_preserved);
  static_cast<void>(must(cached.cache->preserve(preserved_name, /*overwrite=*/true)));
  for (int round = 0; round < rounds; ++round) {
    const auto cache = cached.make();
    const Marked marked;
    static_cast<void>(must(cache->preload(preserved_name)));
  }
  must(os::discard(place.os, place.folder + "/" + preserved_name));
}

constexpr Operation all[] = {
    {"cache_start", "a cache of 1000 slots is made, with its file", make_caches},
    {"cache_end", "it ends, and its file is removed", end_caches},
    {"attach", "another one opens its file", attach},
    {"put", "a new value of 4 KiB", put},
    {"put_30", "as many new values", put_many},
    {"put_again", "a value for a slot that has one", put_again},
    {"get", "a copy of a value of 4 KiB", get},
    {"view", "the value itself", view},
    {"get_checked", "a copy, safe against truncation", get_checked},
    {"preserve", "ten values go into a file that stays, in place of another", preserve},
    {"preload", "what was preserved is loaded", preload},
};

}  // namespace

std::span<const Operation> operations_on_caches() {
  return all;
}

}  // namespace lastref::bench
