#include "harness/stress/board.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <new>
#include <span>

#include <lastref/error.hpp>

#include "harness/kernel/control_block.hpp"
#include "harness/kernel/signals.hpp"

namespace lastref::harness {
namespace {

/// Only operations and facts: a run without gates records no calls.
constexpr std::uint32_t free_records_max = 1U << 14U;
/// A waiter rechecks after this time: the process that gives the signal may be killed before it
/// wakes any waiter.
constexpr timespec look_again{.tv_sec = 0, .tv_nsec = 50'000'000};
/// The pause between two attempts to take the lock.
constexpr timespec ask_again{.tv_sec = 0, .tv_nsec = 50'000};

constexpr std::size_t rounded(std::size_t size) noexcept {
  constexpr std::size_t page = 4096;
  return (size + page - 1) / page * page;
}

}  // namespace

struct Board::Waiter {
  bool is_used = false;
  bool is_let_down = false;
  std::uint16_t process = 0;
  ObjectText signal;
};

struct Board::Shared {
  pthread_mutex_t lock;
  std::atomic<std::uint32_t> news;  ///< a futex
  std::atomic<bool> is_disturbed;
  std::uint16_t process_count;
  RecordText left_out;
  std::array<FreeProcess, processes_most> processes;
  std::array<std::atomic<std::uint32_t>, processes_most> timed_waits;
  Signals signals;
  std::array<Waiter, processes_most> waiters;
};

std::size_t Board::size() noexcept {
  return rounded(sizeof(Shared)) + Journal::size_for(free_records_max);
}

Board::Board()
    : memory_(size()),
      shared_(new (memory_.get()) Shared),
      journal_(static_cast<std::byte*>(memory_.get()) + rounded(sizeof(Shared)), free_records_max) {
  pthread_mutexattr_t kind;
  ::pthread_mutexattr_init(&kind);
  ::pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&shared_->lock, &kind);
  ::pthread_mutexattr_destroy(&kind);
  const int kept = ::dup2(memory_.descriptor(), descriptor);
  LASTREF_ASSERT(kept == descriptor);
  reset();
}

Board::Board(Inherited /*inherited*/)
    : memory_(size(), descriptor),
      shared_(static_cast<Shared*>(memory_.get())),
      journal_(static_cast<std::byte*>(memory_.get()) + rounded(sizeof(Shared)), free_records_max) {
}

Board::Held::Held(Board& board) noexcept : board_(board) {
  // No process sleeps on the lock. A process woken by an unlock may be killed before it runs, while
  // another takes the lock. Then neither the kernel nor the C library wakes the next.
  int taken = 0;
  while ((taken = ::pthread_mutex_trylock(&board.shared_->lock)) == EBUSY) {
    board.wait_for_news(board.news(), ask_again);
  }
  // A half-made change of a dead process has no effect, because counters are increased last.
  if (taken == EOWNERDEAD) {
    ::pthread_mutex_consistent(&board.shared_->lock);
  }
}

Board::Held::~Held() {
  ::pthread_mutex_unlock(&board_.shared_->lock);
}

void Board::reset() {
  const Held held(*this);
  shared_->is_disturbed.store(false);
  shared_->process_count = 0;
  shared_->signals.clear();
  shared_->left_out.assign({});
  shared_->waiters = {};
  journal_.reset();
}

std::optional<std::uint16_t> Board::add_process(std::string_view role) {
  const Held held(*this);
  const std::uint16_t index = shared_->process_count;
  if (index == processes_most) {
    return std::nullopt;
  }
  const auto known = std::span(shared_->processes).first(index);
  const auto before = std::ranges::count(
      known, RoleText(role).view(), [](const FreeProcess& each) { return each.base.view(); });
  FreeProcess& process = shared_->processes[index];
  process = {};
  shared_->timed_waits[index].store(0);
  process.is_alive = true;
  process.base.assign(role);
  process.role.assign(incarnation_of(role, static_cast<std::size_t>(before) + 1));
  ++shared_->process_count;
  return index;
}

bool Board::set_pid(std::uint16_t process, os::Pid pid) {
  const Held held(*this);
  shared_->processes[process].pid = pid;
  return !shared_->processes[process].is_sentenced;
}

void Board::note_end(std::uint16_t process, int exit_code) {
  const Held held(*this);
  shared_->processes[process].exit_code = exit_code;
  shared_->processes[process].has_ended = true;
}

void Board::note_death(std::uint16_t process) {
  {
    const Held held(*this);
    shared_->processes[process].is_alive = false;
    for (Waiter& waiter : shared_->waiters) {
      waiter.is_used = waiter.is_used && waiter.process != process;
    }
  }
  make_news();
}

void Board::for_each_process(const std::function<void(std::uint16_t, FreeProcess&)>& act) {
  const Held held(*this);
  for (std::uint16_t at = 0; at < shared_->process_count; ++at) {
    act(at, shared_->processes[at]);
  }
}

std::uint32_t Board::news() const noexcept {
  return shared_->news.load();
}

void Board::disturb() noexcept {
  shared_->is_disturbed.store(true);
}

bool Board::is_disturbed() const noexcept {
  return shared_->is_disturbed.load();
}

RoleText Board::role_of(std::uint16_t process) {
  const Held held(*this);
  return shared_->processes[process].role;
}

void Board::tell(std::string_view signal) {
  {
    const Held held(*this);
    shared_->signals.tell(ObjectText(signal));
  }
  make_news();
}

bool Board::await(std::uint16_t process, std::string_view signal) {
  const ObjectText wanted(signal);
  Waiter* waiter = nullptr;
  for (;;) {
    const std::uint32_t seen = news();
    {
      const Held held(*this);
      if (waiter == nullptr) {
        waiter = std::ranges::find(shared_->waiters, false, &Waiter::is_used);
        LASTREF_ASSERT(waiter != shared_->waiters.end());
        *waiter = {.is_used = true, .process = process, .signal = wanted};
      }
      const bool told = shared_->signals.was_told(wanted);
      if (told || waiter->is_let_down) {
        waiter->is_used = false;
        return told;
      }
    }
    wait_for_news(seen);
  }
}

void Board::send(std::string_view signal, std::string_view bytes) {
  {
    const Held held(*this);
    shared_->signals.put(ObjectText(signal), bytes);
  }
  tell(signal);
}

std::optional<std::string> Board::mail(std::string_view signal) {
  const Held held(*this);
  return shared_->signals.mail(ObjectText(signal));
}

bool Board::let_one_down() {
  bool any = false;
  {
    const Held held(*this);
    const auto waits = [&](const Waiter& each) {
      return each.is_used && !each.is_let_down && !shared_->signals.was_told(each.signal);
    };
    const auto found = std::ranges::find_if(shared_->waiters, waits);
    any = found != shared_->waiters.end();
    if (any) {
      found->is_let_down = true;
    }
  }
  make_news();
  return any;
}

void Board::begin_timed_wait(std::uint16_t process) noexcept {
  shared_->timed_waits[process].fetch_add(1);
}

void Board::end_timed_wait(std::uint16_t process) noexcept {
  shared_->timed_waits[process].fetch_sub(1);
}

bool Board::has_timed_waits() {
  bool any = false;
  for_each_process([&](std::uint16_t at, const FreeProcess& each) {
    any = any || (each.is_alive && !each.is_stopped && shared_->timed_waits[at].load() > 0);
  });
  return any;
}

void Board::wait_for_news(std::uint32_t seen) const noexcept {
  wait_for_news(seen, look_again);
}

void Board::wait_for_news(std::uint32_t seen, const timespec& most) const noexcept {
  ::syscall(SYS_futex, &shared_->news, FUTEX_WAIT, seen, &most, nullptr, 0);
}

void Board::make_news() noexcept {
  shared_->news.fetch_add(1);
  ::syscall(SYS_futex, &shared_->news, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void Board::leave_out(std::string_view why) {
  const Held held(*this);
  shared_->left_out.assign(why);
}

std::string Board::why_left_out() {
  const Held held(*this);
  return std::string(shared_->left_out.view());
}

void Board::note(std::uint16_t process,
                 RecordKind kind,
                 std::string_view name,
                 std::string_view text,
                 std::int64_t value,
                 int error) noexcept {
  const RoleText role = role_of(process);
  Record* const record = journal_.claim();
  if (record == nullptr) {
    return;
  }
  record->kind = kind;
  record->process = process;
  record->role = role;
  record->name.assign(name);
  record->text.assign(text);
  record->value = value;
  record->error = error;
  Journal::publish(*record);
}

}  // namespace lastref::harness
