#include "bench/counted/operations.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include <lastref/owners.hpp>
#include <lastref/parallel.hpp>
#include <lastref/reducers.hpp>
#include <lastref/slot_cache.hpp>
#include <lastref/tracker_client.hpp>

#include "bench/counted/mark.hpp"
#include "bench/other_process.hpp"

namespace lastref::bench {
namespace {

using Client = std::unique_ptr<tracker::Client>;

/// A client that leads a tree with a running tracker.
Client leader(const Place& place) {
  Client client = tracker::Client::lead(place.os);
  static_cast<void>(must(client->tree()));
  return client;
}

/// The name always has the same length, because the bytes of messages are counted.
Resource name_of(const Place& place, int round) {
  return {ResourceType::file, place.folder + "/name-" + std::to_string(100 + round)};
}

void make_file(const std::string& path) {
  ::close(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
}

void start_trees(const Place& place) {
  for (int round = 0; round < rounds; ++round) {
    Client client;
    const Marked marked;
    client = leader(place);
  }
}

void end_trees(const Place& place) {
  for (int round = 0; round < rounds; ++round) {
    Client client = leader(place);
    const Marked marked;
    client.reset();
  }
}

void register_names(const Place& place) {
  const Client client = leader(place);
  for (int round = 0; round < rounds; ++round) {
    const Resource name = name_of(place, round);
    const Marked marked;
    must(client->register_name(name));
  }
  for (int round = 0; round < rounds; ++round) {
    must(client->release(name_of(place, round)));
  }
}

/// Registers names that are released before the next round, so that their ledger entries are free.
template <int count>
void register_in_places(const Place& place) {
  const Client client = leader(place);
  for (int round = 0; round < rounds; ++round) {
    {
      const Marked marked;
      for (int number = 0; number < count; ++number) {
        must(client->register_name(name_of(place, number)));
      }
    }
    for (int number = 0; number < count; ++number) {
      must(client->release(name_of(place, number)));
    }
  }
}

void hold_names(const Place& place) {
  const Client client = leader(place);
  const Resource name = name_of(place, 0);
  must(client->register_name(name));
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    must(client->hold(name));
  }
  for (int round = 0; round <= rounds; ++round) {
    must(client->release(name));
  }
}

void release_names(const Place& place) {
  const Client client = leader(place);
  const Resource name = name_of(place, 0);
  must(client->register_name(name));
  for (int round = 0; round < rounds; ++round) {
    must(client->hold(name));
  }
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    must(client->release(name));
  }
  must(client->release(name));
}

/// Releases the last reference of a name, until its file is removed and the ledger records that.
void clean_up_names(const Place& place) {
  const Client client = leader(place);
  for (int round = 0; round < rounds; ++round) {
    const Resource name = name_of(place, round);
    must(client->register_name(name));
    make_file(name.name);
    {
      const Marked marked;
      must(client->release(name));
    }
    if (::access(name.name.c_str(), F_OK) == 0) {
      give_up("a file without references still exists");
    }
  }
}

void forget_names(const Place& place) {
  const Client client = leader(place);
  for (int round = 0; round < rounds; ++round) {
    const Resource name = name_of(place, round);
    must(client->register_name(name));
    const Marked marked;
    must(client->forget(name));
  }
}

constexpr std::string_view as_mapped = "how many pages are mapped with one is the kernel's choice";

constexpr std::size_t array_size = 1'000'000;  // bytes
constexpr std::uint64_t limit = 1000;          // bytes

Array new_array() {
  return must(Array::zeros(must(DType::parse("|u1")), {array_size}));
}

struct Sender {
  explicit Sender(const Place& place)
      : client(tracker::Client::lead(place.os)),
        references(references_of(client)),
        resources(must(TemporaryResources::make(place.os, references))),
        reducer(place.os, references, resources, {.max_nbytes = limit}) {}

  std::shared_ptr<tracker::Client> client;
  std::shared_ptr<References> references;
  std::shared_ptr<TemporaryResources> resources;
  ForwardReducer reducer;
};

void reduce_new(const Place& place) {
  Sender sender(place);
  for (int round = 0; round < rounds; ++round) {
    const Array array = new_array();
    std::optional<Sent> sent;
    {
      const Marked marked;
      sent = must(sender.reducer.reduce(array));
    }
    sent.reset();
    must(sender.reducer.invalidate(array));
  }
}

void reduce_known(const Place& place) {
  Sender sender(place);
  const Array array = new_array();
  const Sent first = must(sender.reducer.reduce(array));
  for (int round = 0; round < rounds; ++round) {
    std::optional<Sent> sent;
    const Marked marked;
    sent = must(sender.reducer.reduce(array));
  }
}

void arrive(const Place& place) {
  Sender sender(place);
  const Array array = new_array();
  const Sent first = must(sender.reducer.reduce(array));
  for (int round = 0; round < rounds; ++round) {
    Sent sent = must(sender.reducer.reduce(array));
    const Marked marked;
    must(sent.arrived());
  }
}

/// The receiver marks the operation.
void send(const Place& place, const char* what) {
  Sender sender(place);
  const Array array = new_array();
  const Sent sent = must(sender.reducer.reduce(array));
  OtherMember other(must(sender.client->tree()));
  other.hold(what);
  for (int round = 0; round < rounds; ++round) {
    other.send(must(encode_reduction(sent.reduction)));
  }
}

constexpr const char* loading = "load";
constexpr const char* unloading = "unload";

void load(const Place& place) {
  send(place, loading);
}

void unload(const Place& place) {
  send(place, unloading);
}

constexpr std::size_t many_tasks_count = 100;  // one per message
constexpr std::size_t batch = 1000;            // tasks

/// A session with a running tracker; its tree outlives all pools.
Session lasting_session(const Place& place) {
  Session session = Session::lead(place.os);
  static_cast<void>(must(session.tree()));
  return session;
}

/// Fixed batch sizes, which do not depend on the clock.
ParallelOptions batches_of(std::size_t tasks) {
  return {.n_jobs = 2, .batch_size = tasks};
}

void run(Parallel& parallel, std::size_t tasks) {
  must(parallel.run(std::vector(tasks, Task{"echo", {std::int64_t{1}}})));
}

void run_again(const Place& place, const ParallelOptions& options, std::size_t tasks) {
  Parallel parallel(lasting_session(place), place.functions, options);
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    run(parallel, tasks);
  }
}

void one_task(const Place& place) {
  run_again(place, batches_of(1), 1);
}

void two_tasks(const Place& place) {
  run_again(place, batches_of(1), 2);
}

void many_tasks(const Place& place) {
  run_again(place, batches_of(1), many_tasks_count);
}

void one_batch(const Place& place) {
  run_again(place, batches_of(batch), batch);
}

void start_pools(const Place& place) {
  const Session session = lasting_session(place);
  for (int round = 0; round < rounds; ++round) {
    std::unique_ptr<Parallel> parallel;
    const Marked marked;
    parallel = std::make_unique<Parallel>(session, place.functions, batches_of(1));
    run(*parallel, 2);
  }
}

void end_pools(const Place& place) {
  const Session session = lasting_session(place);
  for (int round = 0; round < rounds; ++round) {
    auto parallel = std::make_unique<Parallel>(session, place.functions, batches_of(1));
    run(*parallel, 2);
    const Marked marked;
    parallel.reset();
  }
}

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
  SlotCacheOptions options;
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

constexpr int puts_count = 30;

void put_many(const Place& place) {
  const Cached cached(place);
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    for (int number = 0; number < puts_count; ++number) {
      cached.put(round * puts_count + number);
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
    {"tree_start", "a tree starts, with its tracker", start_trees, as_mapped},
    {"tree_end", "the last process leaves, and the tree is removed", end_trees, as_mapped},
    {"tree_end_6.15",
     "the same, where Linux reports how the tracker ended",
     end_trees,
     as_mapped,
     /*tells_ends=*/true},
    {"register",
     "a new name is counted",
     register_names,
     "names that stay take a page of the tracker's heap now and then"},
    {"register_again", "a name takes the place of one that has ended", register_in_places<1>},
    {"register_100", "as many do, one after the other", register_in_places<100>},
    {"hold", "a reference is taken to a name that is known", hold_names},
    {"release", "a reference is released, and it is not the last", release_names},
    {"clean_up",
     "the last reference to a file is released, and the file is removed",
     clean_up_names},
    {"forget", "a name is forgotten, and its file stays", forget_names},
    {"reduce_new", "an array of 1 MB is written into a file, to be sent", reduce_new},
    {"reduce_known", "it is sent again", reduce_known},
    {"arrived", "the sender is notified that it has arrived", arrive},
    {"load", "another process maps what was sent", load},
    {"unload", "and lets go of it", unload},
    {"pool_start",
     "two workers start in a tree that is there, and do a task each",
     start_pools,
     as_mapped},
    {"pool_start_6.15",
     "the same, where Linux reports how a worker ended",
     start_pools,
     as_mapped,
     /*tells_ends=*/true},
    {"pool_end", "two workers end", end_pools, as_mapped},
    {"pool_end_6.15",
     "the same, where Linux reports how a worker ended",
     end_pools,
     as_mapped,
     /*tells_ends=*/true},
    {"one_task", "a call of one task, with two workers", one_task},
    {"two_tasks", "a call of two tasks, with two workers", two_tasks},
    {"many_tasks",
     "a call of 100 tasks, one a message, with two workers",
     many_tasks,
     "results take a page of the heap now and then"},
    {"one_batch", "a call of 1000 tasks in one message, with two workers", one_batch},
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

std::span<const Operation> operations() {
  return all;
}

int receive_counted(os::Os& os, const std::string& tree) {
  const std::shared_ptr<tracker::Client> client = must(tracker::Client::join(os, tree));
  Receiver receiver(os, references_of(client));
  std::string what;
  while (const auto message = read_message(STDIN_FILENO)) {
    const os::Bytes body = os::Bytes(*message).subspan(1);
    if (what.empty()) {
      what.assign(reinterpret_cast<const char*>(body.data()), body.size());
    } else {
      const Reduction reduction = must(decode_reduction(body));
      std::optional<Array> array;
      if (what == loading) {
        const Marked marked;
        array = must(receiver.rebuild(reduction));
      } else {
        array = must(receiver.rebuild(reduction));
        const Marked marked;
        array.reset();
      }
    }
    write_message(STDOUT_FILENO, {});
  }
  return 0;
}

std::shared_ptr<const Functions> functions_of_operations() {
  auto functions = std::make_shared<Functions>();
  must(functions->add("echo", [](const auto&, std::span<const Value> arguments) -> Result<Value> {
    return arguments[0];
  }));
  return functions;
}

}  // namespace lastref::bench
