// The I/O thread of a client: answers, space in the socket, and what to do after the tracker's
// death.
#include <array>

#include <lastref/probe.hpp>
#include <lastref/spawned.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/tracker/client_state.hpp"

namespace lastref::tracker {
namespace {

constexpr int trackers_max = 3;
/// A tracker that lived this long died of a different cause than the one before it.
constexpr std::chrono::seconds tracker_lives_long{1};
constexpr int connections_max = 8;
constexpr int poll_failures_max = 10;
constexpr int doubts_max = 10;
/// Pauses without a free descriptor, five seconds in total, before a process leaves its tree.
constexpr int starved_max = 250;
/// Pauses in which the root may recreate what was removed of the tree, five seconds in total.
constexpr int absent_max = 250;
constexpr std::chrono::seconds silent_tree_timeout{1};
/// The process that was started as the tracker may never become one, or may merely be slow.
constexpr std::chrono::seconds first_answer_timeout{10};
constexpr std::chrono::seconds time_to_die{1};

/// The exit code of a program that cannot be loaded. ld.so(8)
constexpr int not_loaded = 127;

/// A tracker that does not come up exits with could_not, and with 0 only if the tree has ended.
bool is_of_another_program(const os::ChildExit& exit) {
  return !exit.killed && exit.code != could_not && exit.code != not_loaded;
}

enum Watched : std::size_t { wake_item, link_item, tracker_item, listener_item, watched };

}  // namespace

void Client::State::serve() {
  std::array<os::PollItem, watched> items{};
  for (bool goes_on = true; goes_on && wait(items);) {
    std::string notice;
    bool had_memory = true;
    {
      const os::Held held(*monitor_);
      had_memory = os::had_memory([&] { goes_on = act(items, notice); });
      if (!had_memory) {
        goes_on = go_without_memory();
      }
    }
    if (!notice.empty()) {
      os::report_quietly(os_, notice);  // Without the monitor: the reader may be slow, and no
                                        // caller waits for it.
    }
    if (!had_memory) {
      static_cast<void>(os_.poll({}, pause_before_connecting_again));
    }
  }
}

/// Called with the monitor held, after something was lost. False when the thread has to end.
bool Client::State::go_without_memory() noexcept {
  if (++starved_ >= starved_max) {
    give_up({.code = std::errc::not_enough_memory, .subject = {}});
    return false;
  }
  link_.reset();
  announced_ = false;
  connections_ = std::max(connections_ - 1, 0);
  fail_calls();
  return true;
}

/// Waits for events without the monitor. False when the thread has to end.
bool Client::State::wait(std::span<os::PollItem> items) {
  std::optional<std::chrono::nanoseconds> timeout;
  bool may_be_silent = false;
  {
    const os::Held held(*monitor_);
    if (stopping_ || broken_) {
      return false;
    }
    items[wake_item] = {.fd = wake_read_.get(), .want_read = true};
    items[link_item] = {.fd = link_ ? link_->fd() : os::Fd::none,
                        .want_read = true,
                        .want_write = link_ && link_->wants_space()};
    items[tracker_item] = {.fd = tracker_.get(), .want_read = true};
    items[listener_item] = {.fd = came_up_ ? os::Fd::none : parts_.listener.get()};
    if (poll_failures_ > 0 || !link_ || wants_tracker_) {
      timeout = pause_before_connecting_again;
    } else if (!announced_ && !root_) {
      timeout = silent_tree_timeout;
    } else if (!came_up_ && !is_silent_) {
      timeout = first_answer_timeout;
      may_be_silent = true;
    }
  }
  auto ready = os_.poll(items, timeout);
  if (may_be_silent && ready && *ready == 0) {
    is_silent_ = true;
    os::report_quietly(os_, [&] {
      return "lastref: what was started as the tracker does not answer; " +
             std::string(how_to_guard_main);
    });
  }
  if (ready || ready.error().code == std::errc::interrupted) {
    poll_failures_ = 0;
    return true;
  }
  for (os::PollItem& item : items) {
    item.readable = item.writable = item.hung_up = false;
  }
  if (++poll_failures_ == poll_failures_max) {
    const os::Held held(*monitor_);
    give_up(std::move(ready.error()));
    return false;
  }
  return true;
}

/// Called with the monitor held. False when the thread has to end. The caller reports `notice`
/// after it has released the monitor.
bool Client::State::act(std::span<const os::PollItem> items, std::string& notice) {
  if (stopping_) {
    return false;
  }
  if (items[wake_item].readable) {
    std::array<std::byte, 64> drained{};
    const auto read = os_.read(wake_read_.get(), drained);
    if (failed_with(read, std::errc::io_error)) {
      give_up(read.error());  // The pipe would stay readable, and wake us again and again.
      return false;
    }
  }
  if (items[wake_item].hung_up) {
    give_up({.code = std::errc::broken_pipe, .subject = "the client's own pipe"});
    return false;
  }
  if (items[listener_item].hung_up) {
    give_up_on_program("refuses to be one");
  } else if (items[tracker_item].readable) {
    handle_tracker_death(notice);
  } else if (wants_tracker_) {
    start_another(notice);
  }
  if (link_ && items[link_item].writable) {
    link_->flush();
    if (!link_->wants_space()) {
      on_its_way_ = posted_;
      monitor_->notify_all();
    }
  }
  if (link_ && (items[link_item].readable || items[link_item].hung_up)) {
    read_answers();
  }
  if (!broken_ && (!link_ || link_->broken())) {
    restore();
  }
  if (!broken_ && !announced_ && !root_) {
    ask_for_future();
  }
  return !broken_;
}

void Client::State::read_answers() {
  for (;;) {
    switch (link_->receive()) {
      case Arrival::message:
        take_answer(link_->received());
        break;
      case Arrival::malformed:
        give_up(
            {.code = std::errc::bad_message, .subject = "from the tracker: " + link_->reason()});
        return;
      case Arrival::nothing:
      case Arrival::end:
        return;
    }
    if (broken_) {
      return;
    }
  }
}

void Client::State::take_answer(Message& answer) {
  if (answer.verb == Verb::forget) {
    // Another process has forgotten a name that we hold: do not announce it to the next tracker.
    for (const Entry& entry : answer.entries) {
      if (holdings_.erase(entry.resource) > 0) {
        os_.saw(Probe::forgotten_elsewhere);
      }
    }
    return;
  }
  if (answer.id == nonce_) {
    if (answer.status != 0) {
      os_.saw(Probe::refused_by_tracker);
      const auto code = static_cast<std::errc>(answer.status);
      const bool is_full = code == std::errc::too_many_files_open;
      give_up({.code = code,
               .subject =
                   is_full ? "the tracker has no descriptor left for another process; its limit is "
                             "that of the program that leads the tree"
                           : "the tracker refused us"});
      return;
    }
    announced_ = true;
    came_up_ = true;
    connections_ = 0;
    absent_ = 0;
    starved_ = 0;
    os_.step(Step::client_recovered);
    monitor_->notify_all();
    return;
  }
  const auto found = requests_.find(answer.id);
  if (found == requests_.end()) {
    return;
  }
  Request& request = *found->second;
  std::ranges::move(answer.entries, std::back_inserter(request.answer));
  if (answer.more) {
    return;
  }
  request.status = static_cast<std::errc>(answer.status);
  request.done = true;
  // In the same step as the answer, so that an announcement contains it exactly from now on.
  if (answer.status == 0 && request.message.verb == Verb::register_) {
    ++holdings_[request.message.entries.front().resource];
  }
  if (answer.status == 0 && request.message.verb == Verb::forget) {
    holdings_.erase(request.message.entries.front().resource);
  }
  requests_.erase(found);
  trackers_ = 0;
  monitor_->notify_all();
}

/// The connection is lost: the tracker is dead, or refused us, or a call failed. Connects and
/// announces again: to the running tracker, or to the next one, through the backlog that the root
/// keeps open.
// One sequence of steps, each of which undoes the one before it.
// NOLINTNEXTLINE(readability-function-size)
void Client::State::restore() {
  announced_ = false;
  if (link_) {
    link_->receive_the_rest();
    read_answers();
    link_.reset();
  }
  if (broken_) {
    return;
  }
  if (!root_) {
    const Status followed = follow_lock(os_, paths_, lock_, nonce_);
    if (!followed && ++absent_ < absent_max) {
      return;  // Tried again after a pause: the root is about to recreate it.
    }
    if (!followed && followed.error().code != std::errc::no_such_file_or_directory) {
      give_up(followed.error());
      return;
    }
  }
  // The first two tries have no pause. A tracker without memory would refuse more of them as well.
  const os::Instant now = os_.now();
  if (connections_ >= 2 && now < connect_again_) {
    return;
  }
  connect_again_ = now + pause_before_connecting_again;
  if (++connections_ > connections_max) {
    os_.saw(Probe::link_given_up);
    give_up(
        {.code = std::errc::connection_aborted, .call = Call::connect, .subject = paths_.folder});
    return;
  }
  if (Status connected = os::within_memory("the tracker", [&] { return connect(); }); !connected) {
    const std::errc code = connected.error().code;
    const bool is_starved = is_for_want_of_space(connected.error());
    // A recreated socket refuses connections until its root listens.
    const bool is_absent = code == std::errc::no_such_file_or_directory ||
                           (code == std::errc::connection_refused && !root_);
    if (is_absent && ++absent_ < absent_max) {
      --connections_;
      if (root_) {
        static_cast<void>(replace_tracker());  // If it was not killed, the next try shows that.
      }
      return;
    }
    // No process listens, and only a root could start one that does: the tree has ended.
    if (code == std::errc::connection_refused || code == std::errc::no_such_file_or_directory ||
        (is_starved && ++starved_ >= starved_max)) {
      give_up(std::move(connected.error()));
    } else if (is_starved) {
      os_.saw(Probe::reconnecting_starved);
      --connections_;  // The program may close something.
      if (code == std::errc::not_enough_memory) {
        fail_calls();
      }
    }
    return;  // Tried again after a pause.
  }
  os_.saw(Probe::link_made_again);
  announce();
  monitor_->notify_all();
}

/// An unrelated process that forked from the root may keep the socket open in which we wait.
void Client::State::ask_for_future() {
  const auto future = has_future(os_, lock_.get());
  doubts_ = future ? 0 : doubts_ + 1;
  if ((future && !*future) || doubts_ >= doubts_max) {
    os_.saw(Probe::tree_without_future);
    give_up(
        {.code = std::errc::connection_refused, .call = Call::find_lock, .subject = paths_.folder});
  }
}

/// Root only: the program that was started as the tracker is none. It is killed, because it repeats
/// what this process does.
void Client::State::give_up_on_program(const std::string& how) {
  static_cast<void>(os_.signal_process(tracker_.get(), os::Signal::kill));
  std::array items{os::PollItem{.fd = tracker_.get(), .want_read = true}};
  static_cast<void>(os::retry_interrupted([&] { return os_.poll(items, time_to_die); }));
  static_cast<void>(os_.wait_child(tracker_.get()));
  tracker_.close_quietly();  // So that this process removes what is left of the tree.
  give_up({.code = std::errc::operation_not_permitted,
           .call = Call::spawn,
           .subject = "what was started as the tracker " + how + ": " + how_to_guard_main});
}

/// Root only: the tracker has died. Starts another, with one warning.
void Client::State::handle_tracker_death(std::string& notice) {
  const auto ended = os::retry_interrupted([&] { return os_.wait_child(tracker_.get()); });
  if (ended && !*ended) {
    return;
  }
  std::string how = "ended";
  if (ended && *ended) {
    how = ((*ended)->killed ? "was killed by signal " : "exited with code ") +
          std::to_string((*ended)->code);
  }
  if (ended && *ended && !came_up_ && is_of_another_program(**ended)) {
    give_up_on_program(how);
    return;
  }
  std::string starting = "lastref: the tracker " + how + "; starting another";
  tracker_.close_quietly();
  announced_ = false;
  // A tracker that only receives our holdings may die of the next event, and so may all others.
  if (os_.now() - started_at_ >= tracker_lives_long) {
    trackers_ = 0;
  }
  if (trackers_ >= trackers_max) {
    os_.saw(Probe::trackers_given_up);
    std::string subject = "the tracker " + how + ", again and again";
    if (!came_up_ && ended && *ended && !(*ended)->killed && (*ended)->code == could_not) {
      subject.append(" (unless it has said why: ").append(how_to_guard_main).append(")");
    }
    give_up({.code = std::errc::connection_aborted,
             .call = Call::spawn,
             .subject = std::move(subject)});
    return;
  }
  os_.saw(Probe::tracker_replaced);
  notice = std::move(starting);
  start_another(notice);
}

/// Recreates what was removed of the tree, and starts a tracker; later if there is no memory.
/// `notice` is kept if nothing was removed.
void Client::State::start_another(std::string& notice) noexcept {
  Status started = os::within_memory("the tracker", [&]() -> Status {
    LASTREF_TRY(repaired, repair());
    if (repaired) {
      notice = repair_notice();
    }
    return spawn_tracker();
  });
  wants_tracker_ = !started && os::is_no_memory(started.error()) && ++starved_ < starved_max;
  if (!started && !wants_tracker_) {
    give_up(std::move(started.error()));
  }
}

}  // namespace lastref::tracker
