#include "bench/perf/profile/perf_events.hpp"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>

#include "harness/platform/child_process.hpp"

namespace lastref::perf {

Result<StartedProgram> start_program(std::vector<std::string> command, const harness::FdPair& go) {
  const std::vector<char*> words = harness::pointers_to(command);
  const int child = ::fork();
  if (child < 0) {
    return failure(std::errc{errno}, "fork");
  }
  if (child > 0) {
    return StartedProgram(child);
  }
  if (go[0]) {
    ::close(go[1].get());
    char byte = 0;
    static_cast<void>(!::read(go[0].get(), &byte, 1));
  }
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::execvp(words.front(), words.data());
  ::_exit(127);
}

namespace {

constexpr std::size_t page = 4096;  // bytes
// bytes; each is a power-of-two number of pages. Limits decide how much of them may be locked.
// perf_event_open(2), perf_event_mlock_kb
constexpr std::size_t ring_most = std::size_t{1} << 22U;
constexpr std::size_t ring_least = std::size_t{1} << 17U;

/// Reads the fields of a record, one after another.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename Number>
  Number next() {
    Number number{};
    if (bytes_.size() >= sizeof number) {
      std::memcpy(&number, bytes_.data(), sizeof number);
      bytes_ = bytes_.subspan(sizeof number);
    }
    return number;
  }
  /// The text up to a NUL.
  std::string text() const {
    const auto end = std::ranges::find(bytes_, std::byte{0});
    std::string all;
    std::transform(bytes_.begin(), end, std::back_inserter(all), [](std::byte each) {
      return static_cast<char>(each);
    });
    return all;
  }
  std::size_t left() const noexcept { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

PerfRecord tick_of(Fields fields, bool in_kernel) {
  Tick tick{.address = fields.next<std::uint64_t>(), .in_kernel = in_kernel};
  PerfRecord record{.process = fields.next<int>(),
                    .thread = fields.next<int>(),
                    .at = fields.next<std::uint64_t>()};
  const auto count = std::min<std::uint64_t>(fields.next<std::uint64_t>(), fields.left() / 8);
  for (std::uint64_t at = 0; at < count; ++at) {
    const auto address = fields.next<std::uint64_t>();
    if (address < PERF_CONTEXT_MAX) {  // Larger values mark the beginning of a part.
      tick.callers.push_back(address);
    }
  }
  record.what = std::move(tick);
  return record;
}

std::optional<PerfRecord> record_of(const perf_event_header& header,
                                    std::span<const std::byte> body) {
  Fields fields(body);
  if (header.type == PERF_RECORD_SAMPLE) {
    return tick_of(fields,
                   (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL);
  }
  // The end of each record except a tick: process, thread and time.
  Fields trailer(body.last(std::min<std::size_t>(body.size(), 16)));
  PerfRecord record{.process = trailer.next<int>(),
                    .thread = trailer.next<int>(),
                    .at = trailer.next<std::uint64_t>()};
  switch (header.type) {
    case PERF_RECORD_SWITCH:
      record.what = Turn{.comes = (header.misc & PERF_RECORD_MISC_SWITCH_OUT) == 0,
                         .could_go_on = (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0};
      return record;
    case PERF_RECORD_MMAP:
      record.process = fields.next<int>();
      record.thread = fields.next<int>();
      record.what = Mapped{.address = fields.next<std::uint64_t>(),
                           .size = fields.next<std::uint64_t>(),
                           .offset = fields.next<std::uint64_t>(),
                           .file = fields.text()};
      return record;
    case PERF_RECORD_COMM:
      fields.next<std::uint64_t>();  // process, thread
      record.what = Named{.name = fields.text(),
                          .is_new_program = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0};
      return record;
    case PERF_RECORD_FORK:
      record.process = fields.next<int>();
      record.what = Begun{.parent = fields.next<int>()};
      record.thread = fields.next<int>();
      return record;
    case PERF_RECORD_EXIT:
      fields.next<std::uint64_t>();  // process, parent
      record.thread = fields.next<int>();
      record.what = Ended();
      return record;
    case PERF_RECORD_LOST:
      fields.next<std::uint64_t>();  // which event
      record.what = Lost{.count = fields.next<std::uint64_t>()};
      return record;
    default:
      return std::nullopt;
  }
}

/// Ticks per second, limited to the maximum. The kernel lowers the maximum if ticks take long.
unsigned permitted(unsigned frequency) {
  std::ifstream file("/proc/sys/kernel/perf_event_max_sample_rate");
  unsigned most = 0;
  return file >> most && most > 0 ? std::min(most, frequency) : frequency;
}

perf_event_attr what_is_told(unsigned frequency) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.freq = 1;
  attributes.sample_freq = permitted(frequency);
  attributes.sample_type =
      PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
  attributes.disabled = 1;
  attributes.enable_on_exec = 1;
  attributes.inherit = 1;
  attributes.exclude_callchain_user = 1;
  attributes.mmap = 1;
  attributes.comm = 1;
  attributes.comm_exec = 1;
  attributes.task = 1;
  attributes.context_switch = 1;
  attributes.sample_id_all = 1;
  attributes.watermark = 1;
  attributes.wakeup_watermark = ring_least / 4;
  return attributes;
}

/// The records of one processor.
class Ring {
 public:
  explicit Ring(std::size_t size) : size_(size) {}
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (page_ != nullptr) {
      ::munmap(page_, page + size_);
    }
  }

  Status open(int process, int processor, const perf_event_attr& attributes) {
    descriptor_.reset(static_cast<int>(
        ::syscall(SYS_perf_event_open, &attributes, process, processor, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!descriptor_) {
      return failure(std::errc{errno}, "perf_event_open");
    }
    void* const mapped =
        ::mmap(nullptr, page + size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
    if (mapped == MAP_FAILED) {
      return failure(std::errc{errno}, "the records of perf_event_open");
    }
    page_ = static_cast<perf_event_mmap_page*>(mapped);
    return ok();
  }

  int descriptor() const noexcept { return descriptor_.get(); }

  void read(std::vector<PerfRecord>& into) {
    const std::uint64_t head = std::atomic_ref(page_->data_head).load(std::memory_order_acquire);
    std::uint64_t tail = page_->data_tail;
    std::vector<std::byte> bytes;
    while (tail < head) {
      perf_event_header header{};
      copy(tail, &header, sizeof header);
      if (header.size < sizeof header) {
        break;  // The kernel never writes such a record.
      }
      bytes.resize(header.size - sizeof header);
      copy(tail + sizeof header, bytes.data(), bytes.size());
      if (auto record = record_of(header, bytes)) {
        into.push_back(*std::move(record));
      }
      tail += header.size;
    }
    std::atomic_ref(page_->data_tail).store(tail, std::memory_order_release);
  }

 private:
  /// Copies bytes of a record, which may wrap around to the beginning.
  void copy(std::uint64_t from, void* into, std::size_t size) const {
    const auto* const data = std::bit_cast<const std::byte*>(page_) + page;
    const std::size_t at = from % size_;
    const std::size_t first = std::min(size, size_ - at);
    std::memcpy(into, data + at, first);
    std::memcpy(static_cast<std::byte*>(into) + first, data, size - first);
  }

  harness::UniqueFd descriptor_;
  std::size_t size_;
  perf_event_mmap_page* page_ = nullptr;
};

using Rings = std::vector<std::unique_ptr<Ring>>;

/// Opens one ring for each processor that is online.
Result<Rings> open_rings(int process, const perf_event_attr& attributes, std::size_t size) {
  Rings rings;
  for (int processor = 0; processor < ::get_nprocs_conf(); ++processor) {
    auto ring = std::make_unique<Ring>(size);
    const Status opened = ring->open(process, processor, attributes);
    if (opened) {
      rings.push_back(std::move(ring));
    } else if (!failed_with(opened, std::errc::no_such_device)) {
      return failure(opened.error());
    }
  }
  return rings;
}

/// Opens rings as large as the limits permit.
Result<Rings> open_rings(int process, const perf_event_attr& attributes) {
  std::size_t size = ring_most;
  auto rings = open_rings(process, attributes, size);
  while (failed_with(rings, std::errc::operation_not_permitted) && size > ring_least) {
    size /= 2;
    rings = open_rings(process, attributes, size);
  }
  return rings;
}

/// Sorts the records of all rings by time. Each round reads all rings. So it has all records up to
/// the time of the latest one of the previous round.
class InOrder {
 public:
  explicit InOrder(const std::function<void(const PerfRecord&)>& take) : take_(take) {}

  void read(std::span<const std::unique_ptr<Ring>> rings) {
    for (const auto& each : rings) {
      each->read(waiting_);
    }
    std::ranges::stable_sort(waiting_, {}, &PerfRecord::at);
    hand_over(std::ranges::upper_bound(waiting_, youngest_, {}, &PerfRecord::at));
    youngest_ = waiting_.empty() ? youngest_ : waiting_.back().at;
  }
  void end() { hand_over(waiting_.end()); }

 private:
  void hand_over(std::vector<PerfRecord>::iterator end) {
    std::for_each(waiting_.begin(), end, take_);
    waiting_.erase(waiting_.begin(), end);
  }

  const std::function<void(const PerfRecord&)>& take_;
  std::vector<PerfRecord> waiting_;
  std::uint64_t youngest_ = 0;
};

}  // namespace

Result<int> run_under_perf_events(const std::vector<std::string>& command,
                                  unsigned frequency,
                                  const std::function<void(const PerfRecord&)>& take) {
  harness::FdPair go = harness::make_pipe();
  if (!go[0]) {
    return failure(std::errc{errno}, "a pipe");
  }
  LASTREF_TRY(started, start_program(command, go));
  const perf_event_attr attributes = what_is_told(frequency);
  const Result<Rings> rings = open_rings(started.id(), attributes);
  std::vector<pollfd> items;
  if (rings) {
    for (const auto& each : *rings) {
      items.push_back({.fd = each->descriptor(), .events = POLLIN, .revents = 0});
    }
  } else {
    ::kill(started.id(), SIGKILL);
  }
  go[1].reset();
  InOrder records(take);
  std::optional<EndedProgram> how;
  while (!how) {
    constexpr int look_every = 50;  // ms
    ::poll(items.data(), items.size(), look_every);
    how = started.end();
    records.read(rings ? std::span(*rings) : std::span<const std::unique_ptr<Ring>>());
  }
  records.end();
  return rings ? Result<int>(how->status) : failure(rings.error());
}

}  // namespace lastref::perf
