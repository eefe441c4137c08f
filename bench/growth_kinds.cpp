#include "bench/growth_kinds.hpp"

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <lastref/owners.hpp>
#include <lastref/parallel.hpp>
#include <lastref/reducers.hpp>
#include <lastref/slot_cache.hpp>
#include <lastref/tracker.hpp>
#include <lastref/tracker_client.hpp>
#include <lastref/worker.hpp>

namespace lastref::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t small_array = 4096;                   // bytes; beyond `limit`, so mapped
constexpr std::size_t large_array = std::size_t{1} << 20U;  // bytes
constexpr std::uint64_t limit = 1000;                       // bytes

Array new_array(std::size_t size) {
  return must(Array::zeros(must(DType::parse("|u1")), {size}));
}

/// This process as the leader of a tree.
struct Led {
  explicit Led(const Site& site) : client(tracker::Client::lead(site.os)) {
    tree = must(client->tree());
  }
  std::shared_ptr<tracker::Client> client;
  std::string tree;
};

Resource nth_file(const Site& site, std::uint64_t number) {
  return {ResourceType::file, site.folder + "/" + std::to_string(number)};
}

void names(const Site& site, Calls& calls) {
  Led led(site);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(led.client->register_name(nth_file(site, call)));
    must(led.client->release(nth_file(site, call)));
  }
}

void identified_names(const Site& site, Calls& calls) {
  Led led(site);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(led.client->register_name(nth_file(site, call)));
    must(led.client->identify(nth_file(site, call),
                              Identity{.device = 1, .inode = call + 1, .btime = 1}));
    must(led.client->forget(nth_file(site, call)));
  }
}

void holds(const Site& site, Calls& calls) {
  Led led(site);
  const Resource name = nth_file(site, 0);
  must(led.client->register_name(name));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(led.client->hold(name));
    must(led.client->release(name));
  }
  must(led.client->release(name));
}

/// Uses a new name each time, which the other member holds when `end` is called.
template <typename End>
void handed_over(const Site& site, Calls& calls, End end) {
  Led led(site);
  OtherMember other(led.tree);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    const Resource name = nth_file(site, call);
    must(led.client->register_name(name));
    other.hold(name.name);
    must(end(*led.client, name));
    other.release(name.name);
  }
}

void hand_overs(const Site& site, Calls& calls) {
  handed_over(site, calls, [](auto& client, const Resource& name) { return client.release(name); });
}

void forgets(const Site& site, Calls& calls) {
  handed_over(site, calls, [](auto& client, const Resource& name) { return client.forget(name); });
}

void members(const Site& site, Calls& calls) {
  Led led(site);
  must(led.client->register_name(nth_file(site, 0)));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    OtherMember other(led.tree);
    other.hold(nth_file(site, 0).name);
  }
  must(led.client->release(nth_file(site, 0)));
}

/// A sender of arrays, with its files in contexts.
struct Sender : Led {
  explicit Sender(const Site& site)
      : Led(site),
        references(references_of(client)),
        resources(must(TemporaryResources::make(site.os, references))),
        reducer(site.os, references, resources, {.max_nbytes = limit}),
        other(tree) {}

  void send(const Array& array) {
    Sent sent = must(reducer.reduce(array));
    other.send(must(encode_reduction(sent.reduction)));
    must(sent.arrived());
  }

  std::shared_ptr<References> references;
  std::shared_ptr<TemporaryResources> resources;
  ForwardReducer reducer;
  OtherMember other;
};

void contexts(const Site& site, Calls& calls) {
  Sender sender(site);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    const std::string id = "context" + std::to_string(call);
    must(sender.resources->set_current_context(id));
    must(sender.resources->clean_up(id));
  }
}

void contexts_with_files(const Site& site, Calls& calls) {
  Sender sender(site);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    const std::string id = "context" + std::to_string(call);
    must(sender.resources->set_current_context(id));
    sender.send(new_array(small_array));
    must(sender.resources->clean_up(id));
    must(sender.reducer.release_gone());
  }
}

void arrays(const Site& site, Calls& calls) {
  Sender sender(site);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    sender.send(new_array(small_array));
    must(sender.reducer.release_gone());
  }
}

void arrays_again(const Site& site, Calls& calls) {
  Sender sender(site);
  const Array array = new_array(small_array);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    sender.send(array);
  }
}

void arrays_anew(const Site& site, Calls& calls) {
  Sender sender(site);
  const Array array = new_array(small_array);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    sender.send(array);
    must(sender.reducer.invalidate(array));
  }
}
void counts(const Site& site, Calls& calls) {
  Led led(site);
  must(led.client->register_name(nth_file(site, 0)));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    static_cast<void>(must(led.client->counts()));
  }
  must(led.client->release(nth_file(site, 0)));
}

void trees(const Site& site, Calls& calls) {
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    Led led(site);
    must(led.client->probe());
  }
}

/// Sweeps, as every start does.
void sweeps(const Site& site, Calls& calls) {
  Led led(site);
  const std::string runtime = led.tree.substr(0, led.tree.rfind('/'));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    static_cast<void>(must(tracker::sweep(site.os, runtime)));
  }
}

Outcome<List> call_one(Parallel& parallel, const Task& task) {
  return parallel.run(std::vector{task});
}

template <BackendKind kind>
void calls_of_one_task(const Site& site, Calls& calls) {
  Parallel parallel(Session::lead(site.os), site.functions, {.n_jobs = 2, .backend = kind});
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(call_one(parallel, {"echo", {std::int64_t{1}}}));
  }
}

template <BackendKind kind>
void calls_that_fail(const Site& site, Calls& calls) {
  Parallel parallel(Session::lead(site.os), site.functions, {.n_jobs = 2, .backend = kind});
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    if (call_one(parallel, {"throw"})) {
      give_up("a task that throws has results");
    }
  }
}

void calls_with_arrays(const Site& site, Calls& calls) {
  Parallel parallel(
      Session::lead(site.os), site.functions, {.n_jobs = 2, .arrays = {.max_nbytes = limit}});
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(call_one(parallel, {"size_of", {new_array(small_array)}}));
  }
}

void calls_with_one_array(const Site& site, Calls& calls) {
  Parallel parallel(
      Session::lead(site.os), site.functions, {.n_jobs = 2, .arrays = {.max_nbytes = limit}});
  const Array array = new_array(small_array);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(call_one(parallel, {"size_of", {array}}));
  }
}

void calls_by_value(const Site& site, Calls& calls) {
  Parallel parallel(Session::lead(site.os),
                    site.functions,
                    {.n_jobs = 2, .arrays = {.max_nbytes = std::nullopt}});
  const Array array = new_array(large_array);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(call_one(parallel, {"echo", {array}}));
  }
}

/// One call with all tasks. Its results are freed before it is examined.
template <BackendKind kind>
void tasks(const Site& site, Calls& calls) {
  Parallel parallel(Session::lead(site.os), site.functions, {.n_jobs = 2, .backend = kind});
  for (const std::uint64_t count : {calls.plan().first, calls.plan().last}) {
    must(parallel.run([left = count]() mutable -> std::optional<Task> {
      return left-- > 0 ? std::optional(Task{"echo", {std::int64_t{1}}}) : std::nullopt;
    }));
    calls.inspect(count);
  }
}

/// A pool that starts, runs a task and ends, in a lasting tree.
void pools(const Site& site, Calls& calls) {
  const Session session = Session::lead(site.os);
  static_cast<void>(must(session.tree()));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    Parallel parallel(session, site.functions, {.n_jobs = 2});
    must(call_one(parallel, {"echo", {std::int64_t{1}}}));
  }
}

/// A program that gets its session each time and releases it.
void sessions(const Site& site, Calls& calls) {
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    Parallel parallel(Session::lead(site.os), site.functions, {.n_jobs = 2});
    must(call_one(parallel, {"echo", {std::int64_t{1}}}));
  }
}

/// Calls of a task that kills its worker.
void deaths(const Site& site, Calls& calls) {
  Parallel parallel(Session::lead(site.os), site.functions, {.n_jobs = 2});
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    if (call_one(parallel, {"die"})) {
      give_up("a task that dies has results");
    }
  }
}

/// Buffers for batches that have grown: 1 MiB for each of two workers.
constexpr std::uint64_t inboxes = std::uint64_t{2} << 20U;

Result<Value> echo(const TaskContext&, std::span<const Value> arguments) {
  return arguments[0];
}

Result<Value> size_of(const TaskContext&, std::span<const Value> arguments) {
  LASTREF_TRY(array, arguments[0].as<Array>());
  return static_cast<std::int64_t>(array.size());
}

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
  SlotCacheOptions options;
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

constexpr CallKind all[] = {
    {"names", "register and release of a new name", unlimited, true, names},
    {"forgotten_names",
     "register, identify and forget of a new name",
     unlimited,
     true,
     identified_names},
    {"holds", "hold and release of one name", unlimited, true, holds},
    {"hand_overs", "a new name handed to another process", unlimited, true, hand_overs},
    {"forgets", "a name forgotten that another process holds", unlimited, true, forgets},
    {"members", "a process that joins, holds, and ends", unlimited, false, members},
    {"contexts", "a context that opens and closes", unlimited, true, contexts},
    {"contexts_with_files", "the same with an array in it", unlimited, false, contexts_with_files},
    {"arrays", "an array reduced, sent, rebuilt, let go of", unlimited, true, arrays},
    {"arrays_again", "the same array sent again", unlimited, true, arrays_again},
    {"arrays_anew", "the same, invalidated each time", unlimited, false, arrays_anew},
    {"counts", "a question for all counts", unlimited, true, counts},
    {"sweeps", "a sweep for dead trees", unlimited, false, sweeps},
    {"trees", "a tree that starts and ends", 10'000, false, trees},
    {"sequential",
     "a call of one task, in the caller",
     unlimited,
     true,
     calls_of_one_task<BackendKind::sequential>},
    {"threads",
     "a call of one task, in threads",
     unlimited,
     true,
     calls_of_one_task<BackendKind::threads>},
    {"processes",
     "a call of one task, in processes",
     unlimited,
     true,
     calls_of_one_task<BackendKind::processes>},
    {"sequential_failures",
     "a call that fails, in the caller",
     unlimited,
     true,
     calls_that_fail<BackendKind::sequential>},
    {"thread_failures",
     "a call that fails, in threads",
     unlimited,
     false,
     calls_that_fail<BackendKind::threads>},
    {"process_failures",
     "a call that fails, in processes",
     unlimited,
     false,
     calls_that_fail<BackendKind::processes>},
    {"process_arrays", "a call with a new array", unlimited, false, calls_with_arrays},
    {"process_one_array", "a call with the same array", unlimited, false, calls_with_one_array},
    {"process_values",
     "a call with 1 MiB by value, both ways",
     unlimited,
     false,
     calls_by_value,
     inboxes},
    {"sequential_tasks",
     "a task of one call, in the caller",
     unlimited,
     true,
     tasks<BackendKind::sequential>},
    {"thread_tasks",
     "a task of one call, in threads",
     unlimited,
     true,
     tasks<BackendKind::threads>},
    {"process_tasks",
     "a task of one call, in processes",
     unlimited,
     true,
     tasks<BackendKind::processes>,
     inboxes,
     std::uint64_t{16} << 20U},
    {"deaths", "a call that kills its worker", unlimited, false, deaths},
    {"pools", "a pool that starts and ends", unlimited, false, pools},
    {"sessions", "a tree and a pool that start and end", 10'000, false, sessions},
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

Calls::Calls(const Plan& plan, std::function<void(std::uint64_t)> inspect)
    : plan_(plan),
      inspect_(std::move(inspect)),
      end_(Clock::now() + plan.time_max),
      told_(Clock::now()) {}

bool Calls::go_on(std::uint64_t done) {
  const bool is_first = done == plan_.first && !is_first_over_;
  const auto now = Clock::now();
  const bool is_last = done == plan_.last || (done > plan_.first && now > end_);
  if (is_first || is_last) {
    is_first_over_ = true;
    inspect_(done);
  }
  if (now - told_ > std::chrono::seconds(10)) {
    told_ = now;
    std::fprintf(stderr, "growth:   %llu calls\n", static_cast<unsigned long long>(done));
  }
  return !is_last;
}

std::span<const CallKind> kinds() {
  return all;
}

int receive_for(os::Os& os, const std::string& tree) {
  const std::shared_ptr<tracker::Client> client = must(tracker::Client::join(os, tree));
  Receiver receiver(os, references_of(client));
  while (const auto message = read_message(STDIN_FILENO)) {
    const os::Bytes body = os::Bytes(*message).subspan(1);
    const auto name = [&] {
      return Resource{ResourceType::file,
                      {reinterpret_cast<const char*>(body.data()), body.size()}};
    };
    std::optional<Array> array;
    switch (std::to_integer<char>(message->front())) {
      case OtherMember::hold_verb:
        must(client->hold(name()));
        break;
      case OtherMember::release_verb:
        must(client->release(name()));
        break;
      case OtherMember::array_verb:
        array = must(receiver.rebuild(must(decode_reduction(body))));
        break;
      default:
        give_up("an unknown message");
    }
    write_message(STDOUT_FILENO, {});
  }
  return 0;
}

std::shared_ptr<const Functions> functions_of_growth() {
  auto functions = std::make_shared<Functions>();
  must(functions->add("echo", echo));
  must(functions->add("size_of", size_of));
  must(functions->add("die", [](const auto&, auto) -> Result<Value> { ::_exit(1); }));
  must(functions->add("throw", [](const auto&, auto) -> Result<Value> {
    throw std::runtime_error("as it should");
  }));
  return functions;
}

std::size_t live_bytes() {
  const struct mallinfo2 all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

}  // namespace lastref::bench
