#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <typeinfo>
#include <utility>

#include <lastref/owners.hpp>
#include <lastref/process_objects.hpp>
#include <lastref/task.hpp>
#include <lastref/tracker_client.hpp>

#include "impl/backends/exceptions.hpp"
#include "impl/backends/pool_future.hpp"
#include "impl/backends/typed_call.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

/// The type of the exception that is being handled.
std::string current_type() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) {
    return "an unknown type";
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? readable.get() : type->name();
}

/// The exception that is being handled, if there is memory to describe it.
TaskFailure caught_here() {
  try {
    throw;
  } catch (const Interrupt&) {
    return WorkerInterrupt();
  } catch (const std::bad_alloc&) {
    return Error{.code = std::errc::not_enough_memory, .subject = {}};
  } catch (const tl::bad_expected_access<TaskFailure>& thrown) {
    return TransportableException{
        .type = current_type(), .message = describe(thrown.error()), .where = {}};
  } catch (const std::exception& thrown) {
    const char* message = thrown.what();
    return TransportableException{
        .type = current_type(), .message = message == nullptr ? "" : message, .where = {}};
  } catch (const std::string& text) {
    return TransportableException{.type = current_type(), .message = text, .where = {}};
  } catch (const char* text) {
    return TransportableException{
        .type = current_type(), .message = text == nullptr ? "" : text, .where = {}};
  } catch (...) {
    return TransportableException{.type = current_type(), .message = {}, .where = {}};
  }
}

tl::unexpected<TaskFailure> caught_at(TaskFailure failure, std::string where) {
  if (auto* thrown = std::get_if<TransportableException>(&failure)) {
    thrown->where = std::move(where);
  } else if (auto* interrupt = std::get_if<WorkerInterrupt>(&failure)) {
    interrupt->where = std::move(where);
  } else if (auto* error = std::get_if<Error>(&failure)) {
    error->subject = std::move(where);
  }
  return tl::unexpected<TaskFailure>(std::move(failure));
}

/// The references of a session for which there was no memory.
class NoReferences final : public References {
 public:
  using References::register_name;
  Status register_name(const Resource& /*resource*/,
                       const std::optional<Identity>& /*identity*/) override {
    return os::no_memory("a session");
  }
  Status hold(const Resource& /*resource*/) override { return os::no_memory("a session"); }
  Status release(const Resource& /*resource*/) override { return os::no_memory("a session"); }
  Status forget(const Resource& /*resource*/) override { return os::no_memory("a session"); }
  bool is_attributed() const noexcept override { return true; }
};

/// A session that reports the missing memory at its first use. Allocates nothing itself.
Session without_memory(os::Os& os) noexcept {
  // Never destroyed: static objects may still use it.
  alignas(NoReferences) static std::array<std::byte, sizeof(NoReferences)> place;
  static NoReferences& none = *new (place.data()) NoReferences();
  return {.os = &os,
          .references = std::shared_ptr<References>(std::shared_ptr<void>(), &none),
          .tree = []() -> Result<std::string> { return os::no_memory("a session"); },
          .in_worker = false};
}

struct Describe {
  std::string operator()(const Error& error) const { return lastref::describe(error); }
  std::string operator()(const TransportableException& thrown) const {
    return thrown.type + ": " + thrown.message + " (" + thrown.where + ')';
  }
  std::string operator()(const WorkerInterrupt& interrupt) const {
    return "interrupted (" + interrupt.where + ')';
  }
  std::string operator()(const TerminatedWorker& dead) const {
    const std::string worker = "worker " + std::to_string(dead.pid);
    const std::string running = dead.task.empty() ? std::string() : " in " + dead.task;
    if (!dead.exit) {
      return worker + " has ended" + running + ", exit status unknown";
    }
    return worker + (dead.exit->killed ? " was killed by signal " : " exited with code ") +
           std::to_string(dead.exit->code) + running +
           (dead.reason.empty() ? "" : ": " + dead.reason);
  }
};

}  // namespace

Session Session::lead(os::Os& os) try {
  os::ProcessObjects& objects = os.objects();
  const os::MonitorLock held(objects.monitor());
  std::erase_if(objects.memberships, [](const auto& item) { return item.second.client.expired(); });
  os::ProcessObjects::Membership& shared = objects.memberships[&os];
  auto client = std::static_pointer_cast<tracker::Client>(shared.client.lock());
  if (!client) {
    client = tracker::Client::lead(os);
    if (!client) {
      return without_memory(os);
    }
    shared = {.client = client};
  }
  Session session = of(os, client);
  session.in_worker = shared.in_worker;
  return session;
} catch (const std::bad_alloc&) {
  return without_memory(os);
}

Session Session::of_worker(os::Os& os, const std::shared_ptr<tracker::Client>& client) try {
  const os::MonitorLock held(os.objects().monitor());
  os.objects().memberships[&os] = {.client = client, .in_worker = true};
  Session session = of(os, client);
  session.in_worker = true;
  return session;
} catch (const std::bad_alloc&) {
  Session session = without_memory(os);
  session.in_worker = true;
  return session;
}

Session Session::of(os::Os& os, const std::shared_ptr<tracker::Client>& client) try {
  return {.os = &os,
          .references = references_of(client),
          .tree = [client] { return client->tree(); },
          .in_worker = false};
} catch (const std::bad_alloc&) {
  return without_memory(os);
}

Status Functions::add(std::string name, TaskFunction function) try {
  if (name.empty() || !function) {
    return failure(std::errc::invalid_argument, "a function needs a name and a body");
  }
  if (name.size() > function_name_size_max) {
    return failure(std::errc::invalid_argument, "the name of a function that is too long");
  }
  const auto [added, is_new] = functions_.try_emplace(std::move(name));
  if (!is_new) {
    return failure(std::errc::file_exists, added->first);
  }
  added->second = std::move(function);
  return ok();
} catch (const std::bad_alloc&) {
  return os::no_memory("a function");
}

const TaskFunction* Functions::find(std::string_view name) const noexcept {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : &found->second;
}

const Value& Arguments::operator[](std::size_t index) const noexcept {
  static const Value nothing;
  return index < values_.size() ? values_[index] : nothing;
}

Error Arguments::mismatch(std::size_t index, std::string_view expected) const {
  const std::string which = "argument " + std::to_string(index) + " of " + std::string(function_);
  const std::string observed = index < values_.size()
                                   ? values_[index].mismatch(expected)
                                   : "expected " + std::string(expected) + ", observed " +
                                         std::to_string(values_.size()) + " arguments";
  return {.code = std::errc::invalid_argument, .subject = which + ": " + observed};
}

std::string describe(const TaskFailure& failure) {
  return std::visit(Describe(), failure);
}

void throw_failure(const TaskFailure& failure) {
  throw tl::bad_expected_access<TaskFailure>(failure);
}

Outcome<Value> call_safely(const Functions& functions,
                           const TaskContext& context,
                           const Task& task,
                           PositionInBatch position) {
  const TaskFunction* function = functions.find(task.function);
  if (function == nullptr) {
    return failed(backends::about_unknown(task.function));
  }
  TaskFailure thrown;
  try {
    Result<Value> result = (*function)(context, Arguments(task.function, task.arguments));
    if (!result) {
      return failed(std::move(result).error());
    }
    return *std::move(result);
  } catch (...) {
    thrown = backends::current_failure();
  }
  const std::string number = position.of == 1 ? std::string()
                                              : "task " + std::to_string(position.number) + " of " +
                                                    std::to_string(position.of) + ", ";
  return caught_at(
      std::move(thrown),
      number + task.function + ", in process " + std::to_string(context.session.os->process_id()));
}

Outcome<std::optional<Task>> backends::next_task(const TaskSource& source) {
  TaskFailure thrown;
  try {
    return source();
  } catch (...) {
    thrown = current_failure();
  }
  return caught_at(std::move(thrown), "the source of tasks");
}

TaskFailure backends::current_failure() noexcept {
  try {
    return caught_here();
  } catch (...) {
    return Error{.code = std::errc::not_enough_memory, .subject = {}};
  }
}

TaskFailure backends::with_context(TaskFailure failure, const char* where) noexcept {
  try {
    return caught_at(std::move(failure), where).value();
  } catch (...) {
    return Error{.code = std::errc::not_enough_memory, .subject = {}};
  }
}

namespace {

/// Makes arrays read-only, so that a task cannot depend on whether its stores reach other
/// processes.
void protect(Value& value) noexcept {
  if (auto* array = std::get_if<Array>(&value.content())) {
    if (array->writable() && !array->is_shared()) {
      *array = array->read_only();
    }
  } else if (auto* list = std::get_if<List>(&value.content())) {
    std::ranges::for_each(*list, protect);
  } else if (auto* map = std::get_if<Map>(&value.content())) {
    for (auto& [key, each] : *map) {
      protect(each);
    }
  }
}

Outcome<List> call_each(const Functions& functions,
                        const TaskContext& context,
                        Batch& batch,
                        const std::function<bool()>& after_each) {
  List results;
  results.reserve(batch.size());
  for (Task& task : batch) {
    std::ranges::for_each(task.arguments, protect);
    Outcome<Value> result =
        call_safely(functions, context, task, {.number = results.size() + 1, .of = batch.size()});
    const bool goes_on = !after_each || after_each();
    if (!result) {
      return tl::unexpected<TaskFailure>(std::move(result).error());
    }
    results.push_back(*std::move(result));
    task.arguments.clear();
    if (!goes_on && results.size() < batch.size()) {
      return backends::canceled_outcome();
    }
  }
  return results;
}

}  // namespace

Outcome<List> call_all(const Functions& functions,
                       const TaskContext& context,
                       Batch batch,
                       const std::function<bool()>& after_each) {
  Outcome<List> outcome;
  // Only the results can lack memory here.
  if (auto thrown = backends::catch_as_failure(
          [&] { outcome = call_each(functions, context, batch, after_each); }, "a batch")) {
    return tl::unexpected<TaskFailure>(*std::move(thrown));
  }
  return outcome;
}

}  // namespace lastref
