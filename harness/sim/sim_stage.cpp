#include "harness/sim/sim_stage.hpp"

#include <algorithm>

namespace lastref::harness::sim {

Status SimStage::start(const std::string& role) {
  std::string tree;
  if (has_client()) {
    LASTREF_TRY(own, client().tree());
    tree = std::move(own);
  }
  if (role_named(run_.scenario, role) == nullptr) {
    refute("the scenario has every role that it starts", role);
    return failure(std::errc::no_such_file_or_directory, role, Call::spawn);
  }
  const auto parent = run_.machine.kernel.find(member_.system->task().pid);
  run_.machine.boot(parent, {.entry = role, .arguments = {tree}, .fds = {}, .blocked = {}});
  return ok();
}

void SimStage::tell(const std::string& word) {
  run_.words.insert(word);
  if (word == run_.ask_after) {
    run_.choices.hold(/*held=*/false);
  }
}

bool SimStage::await(const std::string& word) {
  run_.machine.scheduler.ask();
  const auto is_said = [&] { return run_.words.contains(word); };
  if (is_said()) {
    return true;
  }
  Awaiting mine{.actor = run_.machine.scheduler.current(), .task = &member_.system->task()};
  const std::function<bool()> heard = [&] { return mine.in_vain || is_said(); };
  run_.awaiting.push_back(&mine);
  run_.machine.scheduler.wait_until(heard, std::nullopt, "await");
  std::erase(run_.awaiting, &mine);
  return is_said();
}

void SimStage::send(const std::string& word, const std::string& bytes) {
  LASTREF_ASSERT(bytes.size() <= mail_size_max);
  run_.mails[word] = bytes;
  LASTREF_ASSERT(run_.mails.size() <= mails_max);
  tell(word);
}

std::optional<std::string> SimStage::receive(const std::string& word) {
  if (!await(word)) {
    return std::nullopt;
  }
  const auto found = run_.mails.find(word);
  return found == run_.mails.end() ? std::string() : found->second;
}

void SimStage::signal(const std::string& role, os::Signal signal) {
  for (const Member* each : run_.by_index) {
    if (each->plays(role) && each != &member_) {
      run_.machine.kernel.deliver(each->system->task(), signal);
    }
  }
}

void SimStage::stop(const std::string& role) {
  signal(role, os::Signal::stop);
}

bool SimStage::resume(const std::string& role) {
  const bool any = std::ranges::any_of(run_.by_index, [&](const Member* each) {
    const Task& task = each->system->task();
    return each->plays(role) && task.stopped && task.life == Task::Life::running;
  });
  signal(role, os::Signal::resume);
  return any;
}

void SimStage::kill(const std::string& role) {
  run_.kill(role);
  run_.machine.scheduler.mind_death();
  run_.machine.scheduler.bury_the_doomed();
}

void SimStage::interrupt_all() {
  for (const Member* each : run_.by_index) {
    Task& task = each->system->task();
    task.sent.insert(os::Signal::interrupt);
    run_.machine.kernel.deliver(task, os::Signal::interrupt);
  }
  run_.machine.scheduler.mind_death();
  run_.machine.scheduler.bury_the_doomed();
}

std::size_t SimStage::processes(const std::string& role) {
  return static_cast<std::size_t>(std::ranges::count_if(run_.by_index, [&](const Member* each) {
    const Task& task = each->system->task();
    return each->plays(role) && task.life == Task::Life::running && !task.doomed;
  }));
}

bool SimStage::is_undisturbed() const noexcept {
  return !run_.gates.has_fired();
}

void SimStage::refute(const std::string& claim, const std::string& seen) {
  run_.note(member_, RecordKind::fact, fact::refuted, claim);
  run_.note(member_, RecordKind::fact, fact::seen, seen);
}

void SimStage::note(std::string_view word, const std::string& text, bool begins, int error) {
  run_.note(member_, begins ? RecordKind::word_begin : RecordKind::word_end, word, text);
  run_.journal.back().error = error;
}

}  // namespace lastref::harness::sim
