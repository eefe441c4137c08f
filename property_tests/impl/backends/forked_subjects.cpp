#include "property_tests/impl/backends/forked_subjects.hpp"

#include <algorithm>

#include <lastref/joblib.hpp>
#include <lastref/npy.hpp>
#include <lastref/reducers.hpp>
#include <lastref/slot_cache.hpp>
#include <lastref/tracker_client.hpp>
#include <lastref/weak_array_key_map.hpp>

namespace lastref::forked {
namespace {

using pretend::array_of;
using pretend::must;
using pretend::must_be;

template <typename T>
std::errc code_of(const Result<T>& result) {
  return result ? std::errc{} : result.error().code;
}
template <typename T>
std::errc code_of(const Outcome<T>& outcome) {
  return outcome ? std::errc{} : pretend::code_of(outcome);
}
/// The first code that is an error; all are evaluated.
std::errc first_of(std::initializer_list<std::errc> codes) {
  const auto* const found =
      std::ranges::find_if(codes, [](auto code) { return code != std::errc{}; });
  return found == codes.end() ? std::errc{} : *found;
}
template <typename Act>
std::function<std::errc()> plainly(Act act) {
  return [act]() mutable {
    static_cast<void>(act());
    return std::errc{};
  };
}

struct ReducerSubject final : Subject {
  explicit ReducerSubject(World& world)
      : resources(must(TemporaryResources::make(
            world.os, world.references, {.root = world.folder.path("files")}))),
        reducer(std::make_unique<ForwardReducer>(
            world.os, world.references, resources, ForwardOptions{.max_nbytes = 1000})),
        mapped(must(create_npy(world.os, world.file(), known.dtype(), {100}))) {
    sent = must(reducer->reduce(known));
    static_cast<void>(must(reducer->reduce(*dropped)));
    methods = {
        {"reduce",
         [this] {
           return first_of({code_of(reducer->reduce(array)),
                            code_of(reducer->reduce(known)),
                            code_of(reducer->reduce(mapped)),
                            code_of(reducer->reduce(array_of(10)))});
         }},
        {"invalidate", [this] { return code_of(reducer->invalidate(known)); }},
        {"release_gone", [this] { return code_of(reducer->release_gone()); }},
        {"options", plainly([this] { return reducer->options(); })},
        {"(end of what was sent)", plainly([this] { return (sent.reset(), 0); })},
        {"(end of an array)", plainly([this] { return (dropped.reset(), 0); })},
    };
  }

  Array known = array_of(2000);
  Array array = array_of(3000);
  std::optional<Array> dropped = array_of(4000);
  std::shared_ptr<TemporaryResources> resources;
  std::unique_ptr<ForwardReducer> reducer;
  std::optional<Sent> sent;
  Array mapped;
};

struct ReceiverSubject final : Subject {
  explicit ReceiverSubject(World& world)
      : receiver(std::make_shared<Receiver>(world.os, world.references)) {
    static_cast<void>(must(create_npy(world.os, world.file(), array_of(1).dtype(), {100})));
    const Reduction reduction = LoadTemporaryMemmap{.filename = world.file()};
    rebuilt = must(receiver->rebuild(reduction));
    methods = {
        {"rebuild", [this, reduction] { return code_of(receiver->rebuild(reduction)); }},
        {"is_temporary",
         plainly([this, path = world.file()] { return receiver->is_temporary(path); })},
        {"(end of an array)", plainly([this] { return (rebuilt.reset(), 0); })},
    };
  }

  std::shared_ptr<Receiver> receiver;
  std::optional<Array> rebuilt;
};

struct BackwardSubject final : Subject {
  explicit BackwardSubject(World& world)
      : receiver(std::make_shared<Receiver>(world.os, world.references)),
        reducer(world.os, receiver) {
    static_cast<void>(must(create_npy(world.os, world.file(), array_of(1).dtype(), {100})));
    rebuilt = must(receiver->rebuild(LoadTemporaryMemmap{.filename = world.file()}));
    methods = {{"reduce", [this] { return code_of(reducer.reduce(*rebuilt)); }}};
  }

  std::shared_ptr<Receiver> receiver;
  BackwardReducer reducer;
  std::optional<Array> rebuilt;
};

struct MapSubject final : Subject {
  explicit MapSubject(World& world) : map(world.os) {
    must(map.set(array, 1));
    must(map.set(*dropped, 2));
    methods = {
        {"get", plainly([this] { return map.get(array); })},
        {"set", plainly([this] { return map.set(array, 3) && map.set(other, 4); })},
        {"take", plainly([this] { return map.take(array); })},
        {"size", plainly([this] { return map.size(); })},
        {"(end of an array)", plainly([this] { return (dropped.reset(), 0); })},
    };
  }

  WeakArrayKeyMap<int> map;
  Array array = array_of(1);
  Array other = array_of(2);
  std::optional<Array> dropped = array_of(3);
};

struct ArraySubject final : Subject {
  explicit ArraySubject(World&) {
    methods = {{"(when_gone)",
                plainly([this] { return array.when_gone([] {}, std::weak_ptr<const void>()); })}};
  }

  Array array = array_of(1);
};

struct ResourcesSubject final : Subject {
  explicit ResourcesSubject(World& world)
      : manager(must(TemporaryResources::make(
            world.os, world.references, {.root = world.folder.path("files")}))) {
    const auto nothing = [](os::Fd) { return ok(); };
    file = must(manager->publish(nothing));
    methods = {
        {"register_new_context", [this] { return code_of(manager->register_new_context("b")); }},
        {"set_current_context", [this] { return code_of(manager->set_current_context("c")); }},
        {"resolve_temp_folder_name",
         [this] { return code_of(manager->resolve_temp_folder_name()); }},
        {"make_folder", [this] { return code_of(manager->make_folder()); }},
        {"publish", [this, nothing] { return code_of(manager->publish(nothing)); }},
        {"lend", [this] { return code_of(manager->lend(*file)); }},
        {"release", [this] { return code_of(manager->release(*file)); }},
        {"unregister_temporary_resources",
         [this] { return code_of(joblib_manager.unregister_temporary_resources()); }},
        {"unlink_temporary_resources",
         [this] { return code_of(joblib_manager.unlink_temporary_resources()); }},
        {"try_delete_folder", [this] { return code_of(joblib_manager.try_delete_folder(true)); }},
        {"clean_temporary_resources",
         [this] { return code_of(joblib_manager.clean_temporary_resources()); }},
        {"clean_up", [this] { return code_of(manager->clean_up()); }},
    };
  }

  std::unique_ptr<TemporaryResources> manager;
  joblib::TemporaryResourcesManager joblib_manager{*manager};
  std::shared_ptr<const TemporaryFile> file;
};

struct ClientSubject final : Subject {
  explicit ClientSubject(World& world) : client(tracker::Client::lead(world.os)) {
    static_cast<void>(must(client->tree()));
    const auto name = [&os = world.os] {
      return Resource{.type = ResourceType::noop, .name = std::to_string(os.process_id())};
    };
    methods = {
        {"tree", [this] { return code_of(client->tree()); }},
        {"register_name", [this, name] { return code_of(client->register_name(name())); }},
        {"identify", [this, name] { return code_of(client->identify(name(), {})); }},
        {"hold", [this, name] { return code_of(client->hold(name())); }},
        {"release", [this, name] { return code_of(client->release(name())); }},
        {"forget", [this, name] { return code_of(client->forget(name())); }},
        {"counts", [this] { return code_of(client->counts()); }},
        {"probe", [this] { return code_of(client->probe()); }},
    };
  }

  std::unique_ptr<tracker::Client> client;
};

struct SessionSubject final : Subject {
  explicit SessionSubject(World& world) : session(Session::lead(world.os)) {
    os::Os& os = world.os;
    methods = {
        {"(lead)", plainly([&os] { return Session::lead(os); })},
        {"(of_worker)", plainly([this, &os] { return Session::of_worker(os, client); })},
        {"(objects)", plainly([&os] {
           const os::MonitorLock held(os.objects().monitor());
           return os.objects().memberships.size();
         })},
    };
    client = tracker::Client::lead(os);
  }

  Session session;
  std::shared_ptr<tracker::Client> client;
};

enum class CacheKind : std::uint8_t { many, file, memory };

template <CacheKind kind>
struct CacheSubject final : Subject {
  explicit CacheSubject(World& world) {
    const SlotCacheOptions options{.folder = world.folder.path(), .is_thread_safe = true};
    if constexpr (kind == CacheKind::many) {
      auto made = must(MultiprocessFileCache::make(world.os, world.references, 4, options));
      methods = {{"handle", plainly([raw = made.get()] { return raw->handle(); })}};
      cache = std::move(made);
    } else if constexpr (kind == CacheKind::file) {
      cache = must(make_file_cache(world.os, world.references, 4, options));
    } else {
      cache = must(make_naive_cache(world.os, world.references, 4, options));
    }
    static_cast<void>(must(cache->put(0, os::bytes_of("zero"))));
    const std::vector<Method> more = {
        {"put", [this] { return code_of(cache->put(1, os::bytes_of("one"))); }},
        {"get", [this] { return code_of(cache->get(0)); }},
        {"view", [this] { return code_of(cache->view(0)); }},
        {"get_checked", [this] { return code_of(cache->get_checked(0)); }},
        {"preserve", [this] { return code_of(cache->preserve("kept", /*overwrite=*/true)); }},
        {"preload", [this] { return code_of(cache->preload("kept")); }},
        {"close", [this] { return code_of(cache->close()); }},
        {"size", plainly([this] { return cache->size(); })},
        {"is_multiprocess_safe", plainly([this] { return cache->is_multiprocess_safe(); })},
        {"is_multithread_safe", plainly([this] { return cache->is_multithread_safe(); })},
    };
    methods.insert(methods.end(), more.begin(), more.end());
  }

  std::unique_ptr<SlotCache> cache;
};

const Task add_up{"sum", {array_of(4096)}};

template <BackendKind kind>
struct ParallelSubject final : Subject {
  explicit ParallelSubject(World& world)
      : parallel(std::make_unique<Parallel>(
            Session::lead(world.os),
            pretend::test_functions(),
            ParallelOptions{.n_jobs = 2,
                            .backend = kind,
                            .arrays = {.max_nbytes = 1000},
                            .temporary = {.root = world.folder.path("files")}})) {
    must_be(parallel->run({add_up}));
    methods = {
        {"run",
         [this] {
           return code_of(parallel->run({add_up, add_up}));
         }},
        {"invalidate",
         [this] { return code_of(parallel->invalidate(*add_up.arguments[0].get_if<Array>())); }},
        {"abort", plainly([this] { return (parallel->abort(), 0); })},
    };
  }

  std::unique_ptr<Parallel> parallel;
};

std::shared_ptr<ParallelBackend> backend_of(BackendKind kind, World& world) {
  const Session session = Session::lead(world.os);
  if (kind == BackendKind::processes) {
    return std::make_shared<ProcessBackend>(session, pretend::test_functions());
  }
  if (kind == BackendKind::threads) {
    return std::make_shared<ThreadingBackend>(session, pretend::test_functions());
  }
  return std::make_shared<SequentialBackend>(session, pretend::test_functions());
}

template <BackendKind kind>
struct BackendSubject final : Subject {
  explicit BackendSubject(World& world) : backend(backend_of(kind, world)) {
    const BackendOptions options{.n_jobs = 2,
                                 .arrays = {.max_nbytes = 1000},
                                 .temporary = {.root = world.folder.path("files")}};
    must(backend->configure(options));
    methods = {
        {"effective_n_jobs", [this] { return code_of(backend->effective_n_jobs(2)); }},
        {"apply_async", [this] { return code_of(backend->apply_async({add_up}, {})); }},
        {"apply_inline", [this] { return code_of(backend->apply_inline({add_up}, {})); }},
        {"calls_back_inline", plainly([this] { return backend->calls_back_inline(); })},
        {"is_ready", plainly([this] { return backend->is_ready(); })},
        {"compute_batch_size", plainly([this] { return backend->compute_batch_size(); })},
        {"batch_completed",
         plainly([this] { return (backend->batch_completed(1, std::chrono::seconds(1)), 0); })},
        {"start_call", [this] { return code_of(backend->start_call()); }},
        {"release_input", plainly([this] {
           return (backend->release_input(add_up.arguments[0].get_if<Array>()->identity()), 0);
         })},
        {"stop_call", [this] { return code_of(backend->stop_call()); }},
        {"cancel", plainly([this] { return (backend->cancel(), 0); })},
        {"abort_everything",
         [this] { return code_of(backend->abort_everything(/*ensure_ready=*/true)); }},
        {"configure", [this, options] { return code_of(backend->configure(options)); }},
        {"terminate", [this] { return code_of(backend->terminate()); }},
    };
  }

  std::shared_ptr<ParallelBackend> backend;
};

template <BackendKind kind>
struct FutureSubject final : Subject {
  explicit FutureSubject(World& world) : folder(world.folder), backend(backend_of(kind, world)) {
    must(backend->configure({.n_jobs = 2, .temporary = {.root = folder.path("files")}}));
    future = must_be(backend->apply_async({{"wait_for", {folder.path("mark")}}}, {}));
    methods = {
        {"get", [this] { return code_of(future->get()); }},
        {"is_ready", plainly([this] { return future->is_ready(); })},
    };
  }
  FutureSubject(const FutureSubject&) = delete;
  FutureSubject& operator=(const FutureSubject&) = delete;
  /// Running threads are waited for.
  ~FutureSubject() override { end_wait(); }

  void end_wait() override { folder.write("mark"); }

  const pretend::FreshFolder& folder;
  FuturePtr future;
  std::shared_ptr<ParallelBackend> backend;
};

template <typename Made>
std::unique_ptr<Subject> make(World& world) {
  return std::make_unique<Made>(world);
}

const std::vector<std::pair<std::string, std::string>> backend_class = {
    {"ParallelBackend", "backend.hpp"}};
const std::vector<std::pair<std::string, std::string>> future_class = {
    {"BatchFuture", "backend.hpp"}};
const std::vector<std::pair<std::string, std::string>> cache_class = {
    {"SlotCache", "slot_cache.hpp"}};
const std::vector<std::pair<std::string, std::string>> parallel_class = {
    {"Parallel", "parallel.hpp"}};

const Row rows[] = {
    {"ForwardReducer", {{"ForwardReducer", "reducers.hpp"}}, make<ReducerSubject>},
    {"Receiver", {{"Receiver", "reducers.hpp"}}, make<ReceiverSubject>},
    {"BackwardReducer", {{"BackwardReducer", "reducers.hpp"}}, make<BackwardSubject>},
    {"WeakArrayKeyMap", {{"WeakArrayKeyMap", "weak_array_key_map.hpp"}}, make<MapSubject>},
    {"Array", {}, make<ArraySubject>},
    {"TemporaryResources",
     {{"TemporaryResources", "temporary_resources.hpp"},
      {"TemporaryResourcesManager", "reducer_registry.hpp"}},
     make<ResourcesSubject>},
    {"Client", {{"Client", "tracker_client.hpp"}}, make<ClientSubject>, true},
    {"Session", {}, make<SessionSubject>},
    {"MultiprocessFileCache",
     {{"SlotCache", "slot_cache.hpp"}, {"MultiprocessFileCache", "slot_cache.hpp"}},
     make<CacheSubject<CacheKind::many>>},
    {"FileCache", cache_class, make<CacheSubject<CacheKind::file>>},
    {"NaiveCache", cache_class, make<CacheSubject<CacheKind::memory>>},
    {"ParallelInProcesses", parallel_class, make<ParallelSubject<BackendKind::processes>>},
    {"ParallelInThreads", parallel_class, make<ParallelSubject<BackendKind::threads>>},
    {"ParallelInTurn", parallel_class, make<ParallelSubject<BackendKind::sequential>>},
    {"ProcessBackend", backend_class, make<BackendSubject<BackendKind::processes>>},
    {"ThreadingBackend", backend_class, make<BackendSubject<BackendKind::threads>>},
    {"SequentialBackend", backend_class, make<BackendSubject<BackendKind::sequential>>},
    {"FutureOfProcesses", future_class, make<FutureSubject<BackendKind::processes>>},
    {"FutureOfThreads", future_class, make<FutureSubject<BackendKind::threads>>},
};

}  // namespace

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.object;
}

std::span<const Row> every_row() {
  return rows;
}

}  // namespace lastref::forked
