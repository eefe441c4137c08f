// The cost of a put and a get of MultiprocessFileCache, compared with bare calls and other caches.
//
// Each row processes a fixed number of slots. All files are in /dev/shm, and no syncs are needed.
// Its counters are our operations per second, our system calls per operation, and the times of the
// others as multiples of ours, as ratios of medians. Compare these ratios. Two processes are two
// forks that begin together and process half of the slots each. Their time is from the first begin
// to the last end. The others are measured with two processes in the same way.
//
// Our guarantees: when put returns, all processes see the value, complete or not at all, and
// permanently. A kill at any moment does not change that. No process waits for another. The others:
// - pwrite, pread, memcpy from a mapping: no guarantees. The offset of a value is known, and its
//   presence is not checked: this is the machine's cost of moving the bytes.
// - LMDB: more, because it has ordered keys, values that can change and be deleted, transactions
//   over many values, and a file that may persist. Less, because a writer waits for another one,
//   even if that is stopped, and a value stays at its address only until the transaction ends. A
//   put is a transaction, because only then is it visible (`lmdb_batches`: a thousand in one). A
//   get reads the newest state.
// - diskcache (Python): more, because it has arbitrary keys, expiry, eviction, and a folder that
//   may persist. Less, because a writer waits for another one. Here it neither evicts nor syncs.
// - pfio (Python): the same slots. Less, because all processes wait for a lock, and a kill between
//   the two writes of a put leaves a missing value. It syncs each put, which costs nothing here.
// - `python`: pwrite and pread in Python, to show the part of Python in the two above.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/cache_keepers.hpp"
#include "bench/comparison.hpp"
#include "bench/other_process.hpp"
#include "bench/parallel_start.hpp"
#include "bench/shm_folder.hpp"
#include "bench/times.hpp"
#include "bench/tree.hpp"
#include "harness/instrument/instrumented_os.hpp"

namespace {

using lastref::bench::compare;
using lastref::bench::Lmdb;
using lastref::bench::Load;
using lastref::bench::Measure;
using lastref::bench::Measures;
using lastref::bench::OtherProcess;
using lastref::bench::Others;
using lastref::bench::OurCache;
using lastref::bench::PlainFile;
using lastref::bench::seconds;
using lastref::bench::ShmFolder;
using lastref::bench::Slots;
using lastref::bench::Tree;
using lastref::bench::with_peers;

template <typename Store>
using Action = bool (Store::*)(Slots);

constexpr std::int64_t small = 100;
constexpr std::int64_t page = 4096;
constexpr std::int64_t large = 1 << 20U;

/// Enough slots that a row takes milliseconds. On that scale two processes begin together.
std::uint64_t slots_for(std::int64_t size) {
  return size <= small ? 20'000 : size <= page ? 10'000 : 64;
}

class CountingInterceptor final : public lastref::harness::Interceptor {
 public:
  lastref::harness::Injection before(
      const lastref::harness::PendingCall& pending_call) noexcept override {
    calls_ += pending_call.call == lastref::Call::none ? 0 : 1;
    return {};
  }
  double calls() const noexcept { return calls_; }

 private:
  double calls_ = 0;
};

/// A time measured by cache_peers.py, multiplied by `scale`.
Measure asks_python(const std::string& question, double scale = 1) {
  return [question, scale]() -> std::optional<double> {
    if (!with_peers()) {
      return std::nullopt;
    }
    static OtherProcess python({LASTREF_PYTHON, LASTREF_CACHE_PEERS});
    const auto answer = python.ask(question);
    return answer && *answer != "none"
               ? std::optional(std::strtod(answer->c_str(), nullptr) * scale)
               : std::nullopt;
  };
}

/// The common parts of all rows with one size and one number of processes.
class Fixture {
 public:
  Fixture(benchmark::State& state, bool in_order)
      : load_{.slots = slots_for(state.range(0)), .size = static_cast<std::size_t>(state.range(0))},
        parts_(static_cast<std::size_t>(state.range(1))),
        references_(lastref::references_of(tree_.shared_client())) {
    all_.resize(load_.slots);
    std::iota(all_.begin(), all_.end(), 0);
    if (!in_order) {
      std::shuffle(all_.begin(), all_.end(), std::mt19937_64(1));
    }
    for (std::size_t at = 0; at < all_.size(); ++at) {
      parts_[at % parts_.size()].push_back(all_[at]);
    }
  }

  bool is_ready(benchmark::State& state) {
    const auto free = tree_.os().free_space("/dev/shm");
    if (!free || *free < 8 * load_.slots * (load_.size + page)) {
      state.SkipWithError("no space on /dev/shm");
      return false;
    }
    return tree_.ready(state);
  }

  const Load& load() const noexcept { return load_; }

  OurCache our_cache(const ShmFolder& folder) { return {tree_.os(), references_, folder, load_}; }

  /// Measures a cache that this process has filled and read, or an empty one.
  template <typename Store>
  std::optional<double> seconds_of(Store& store, Action<Store> action, bool is_filled) const {
    if (parts_.size() == 1) {
      bool is_done = false;
      const double spent = seconds([&] { is_done = (store.*action)(all_); });
      return is_done ? std::optional(spent) : std::nullopt;
    }
    return lastref::bench::seconds_in_parallel(
        static_cast<unsigned>(parts_.size()),
        [&](unsigned index) {
          store.in_a_child();
          return !is_filled || (store.*action)(parts_[index]);
        },
        [&](unsigned index) { return (store.*action)(parts_[index]); });
  }

  /// Uses a new cache for each measurement.
  template <typename Store>
  Measure puts(Action<Store> put) {
    return [this, put]() {
      const ShmFolder folder;
      if constexpr (std::is_same_v<Store, OurCache>) {
        OurCache store = our_cache(folder);
        return seconds_of(store, put, /*is_filled=*/false);
      } else {
        Store store(folder, load_);
        return seconds_of(store, put, /*is_filled=*/false);
      }
    };
  }

  template <typename Store>
  Measure gets(Store& store, Action<Store> get) const {
    return [this, &store, get] { return seconds_of(store, get, /*is_filled=*/true); };
  }

  template <typename Store>
  bool fill(Store& store, Action<Store> put, Action<Store> get) const {
    return (store.*put)(all_) && (store.*get)(all_);
  }

  /// Python processes fewer small values; its time is scaled up to the full number.
  Measures python(const std::string& what, const std::vector<std::string>& peers) const {
    const std::uint64_t slots = std::min<std::uint64_t>(load_.slots, 4000);
    const double scale = static_cast<double>(load_.slots) / static_cast<double>(slots);
    Measures measures;
    for (const std::string& peer : peers) {
      std::string question = what;
      question.append(" ").append(peer);
      for (const std::uint64_t number : {slots, std::uint64_t{load_.size}, parts_.size()}) {
        question += ' ' + std::to_string(number);
      }
      measures[peer] = asks_python(question, scale);
    }
    return measures;
  }

  /// Our system calls per operation, over the first thousand operations.
  double calls_of(Action<OurCache> action) {
    CountingInterceptor interceptor;
    lastref::harness::InstrumentedOs os(tree_.os(), interceptor);
    const ShmFolder folder;
    OurCache store(os, references_, folder, load_);
    const Slots some = Slots(all_).first(std::min<std::size_t>(all_.size(), 1000));
    if (action != &OurCache::put_all && !(store.put_all(some) && (store.*action)(some))) {
      return -1;
    }
    const double before = interceptor.calls();
    const bool is_done = (store.*action)(some);
    return is_done ? (interceptor.calls() - before) / static_cast<double>(some.size()) : -1;
  }

  void finish(benchmark::State& state, Action<OurCache> action, double median) {
    state.counters["ops/s"] = static_cast<double>(load_.slots) / median;
    state.counters["calls"] = calls_of(action);
  }

 private:
  Tree tree_;
  Load load_;
  std::vector<std::uint64_t> all_;
  std::vector<std::vector<std::uint64_t>> parts_;
  std::shared_ptr<lastref::References> references_;
};

/// Puts each slot once, in order: most of the time is memory for the file.
void put(benchmark::State& state) {
  Fixture fixture(state, /*in_order=*/true);
  if (!fixture.is_ready(state)) {
    return;
  }
  const Others others = {.always = {{"pwrite", fixture.puts(&PlainFile::put_all)},
                                    {"lmdb", fixture.puts(&Lmdb::put_all)},
                                    {"lmdb_batches", fixture.puts(&Lmdb::put_in_batches)}},
                         .seldom = fixture.python("put", {"diskcache", "pfio", "python"})};
  const double median = compare(state, fixture.puts(&OurCache::put_all), others);
  fixture.finish(state, &OurCache::put_all, median);
}

/// Full caches, after all values have been read once.
struct Filled {
  Filled(Fixture& with, Action<OurCache> our_get)
      : fixture(with),
        ours(fixture.our_cache(folder)),
        plain(folder, fixture.load()),
        lmdb(folder, fixture.load()),
        is_filled(
            fixture.fill(ours, &OurCache::put_all, our_get) &&
            (!with_peers() || (fixture.fill(plain, &PlainFile::put_all, &PlainFile::read_mapped) &&
                               fixture.fill(lmdb, &Lmdb::put_in_batches, &Lmdb::read_views)))) {}

  Fixture& fixture;
  ShmFolder folder;
  OurCache ours;
  PlainFile plain;
  Lmdb lmdb;
  bool is_filled;
};

/// Gets slots in random order, as all benchmarks below.
template <typename MakeOthers>
void get_by(benchmark::State& state, Action<OurCache> get, MakeOthers others_of) {
  Fixture fixture(state, /*in_order=*/false);
  if (!fixture.is_ready(state)) {
    return;
  }
  Filled filled(fixture, get);
  if (!filled.is_filled) {
    state.SkipWithError("nothing to get");
    return;
  }
  const double median = compare(state, fixture.gets(filled.ours, get), others_of(fixture, filled));
  fixture.finish(state, get, median);
}

/// `pread` reads to the same buffer each time, `pread_new` into new memory, as our cache does.
void get_copy(benchmark::State& state) {
  get_by(state, &OurCache::copy_all, [](const Fixture& fixture, Filled& filled) -> Others {
    return {.always = {{"pread", fixture.gets(filled.plain, &PlainFile::read_all)},
                       {"pread_new", fixture.gets(filled.plain, &PlainFile::copy_all)},
                       {"lmdb", fixture.gets(filled.lmdb, &Lmdb::copy_all)}},
            .seldom = fixture.python("get", {"diskcache", "pfio", "python"})};
  });
}

void get_checked(benchmark::State& state) {
  get_by(state, &OurCache::check_all, [](const Fixture& fixture, Filled& filled) -> Others {
    return {.always = {{"pread", fixture.gets(filled.plain, &PlainFile::read_all)},
                       {"pread_new", fixture.gets(filled.plain, &PlainFile::copy_all)}},
            .seldom = fixture.python("get", {"pfio"})};
  });
}

/// The bytes of the view are copied to the same buffer each time.
void get_view(benchmark::State& state) {
  get_by(state, &OurCache::read_views, [](const Fixture& fixture, Filled& filled) -> Others {
    return {.always = {{"mapped", fixture.gets(filled.plain, &PlainFile::read_mapped)},
                       {"lmdb", fixture.gets(filled.lmdb, &Lmdb::read_views)}}};
  });
}

/// No byte of the value is touched; larger values only lie further apart.
void find_view(benchmark::State& state) {
  get_by(state, &OurCache::find_all, [](const Fixture& fixture, Filled& filled) -> Others {
    return {.always = {{"lmdb", fixture.gets(filled.lmdb, &Lmdb::find_all)}}};
  });
}

/// `pwrite` writes as many bytes, in large pieces. LMDB and diskcache start empty at any size.
void make_and_close(benchmark::State& state) {
  Tree tree;
  if (!tree.ready(state)) {
    return;
  }
  const auto references = lastref::references_of(tree.shared_client());
  const ShmFolder folder;
  const Load load{.slots = static_cast<std::uint64_t>(state.range(0)), .size = 1};
  const auto write_words = [&] {
    const std::vector<std::uint64_t> zeros(131'072);
    const std::string path = folder.path() + "/words";
    const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    for (std::uint64_t left = load.slots; left > 0;) {
      const std::uint64_t count = std::min<std::uint64_t>(left, zeros.size());
      benchmark::DoNotOptimize(::write(fd, zeros.data(), count * sizeof(std::uint64_t)));
      left -= count;
    }
    ::close(fd);
    ::unlink(path.c_str());
  };
  const auto open_lmdb = [&] {
    const ShmFolder fresh;
    return seconds([&] { const Lmdb lmdb(fresh, load); });
  };
  const std::string slots = ' ' + std::to_string(load.slots);
  const Others others = {
      .always = {{"pwrite", [&] { return seconds(write_words); }}, {"lmdb", open_lmdb}},
      .seldom = {{"pfio", asks_python("make pfio" + slots)},
                 {"diskcache", asks_python("make diskcache" + slots)}}};
  const auto ours = [&] {
    return seconds([&] { const OurCache cache(tree.os(), references, folder, load); });
  };
  compare(state, ours, others);

  CountingInterceptor interceptor;
  lastref::harness::InstrumentedOs os(tree.os(), interceptor);
  {
    const OurCache cache(os, references, folder, load);
    state.counters["bytes"] = static_cast<double>(folder.bytes_on_disk());
  }
  state.counters["calls"] = interceptor.calls();
  if (const auto bytes = asks_python("bytes pfio" + slots)()) {
    state.counters["pfio_bytes"] = *bytes;
  }
}

void all_sizes(benchmark::internal::Benchmark* row) {
  row->ArgNames({"bytes", "processes"})
      ->ArgsProduct({{small, page, large}, {1, 2}})
      ->UseManualTime();
}

BENCHMARK(put)->Apply(all_sizes);
BENCHMARK(get_copy)->Apply(all_sizes);
BENCHMARK(get_view)->Apply(all_sizes);
BENCHMARK(get_checked)->Apply(all_sizes);
BENCHMARK(find_view)
    ->ArgNames({"bytes", "processes"})
    ->ArgsProduct({{small, page}, {1}})
    ->UseManualTime();
BENCHMARK(make_and_close)->ArgName("slots")->Arg(1'000'000)->UseManualTime();

}  // namespace
