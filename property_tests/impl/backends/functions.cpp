#include "property_tests/impl/backends/functions.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>

#include <lastref/backend.hpp>
#include <lastref/owners.hpp>
#include <lastref/reducers.hpp>
#include <lastref/worker.hpp>

#include "property_tests/support/array_model.hpp"
#include "property_tests/support/process_actions.hpp"

namespace lastref::pretend {
namespace {

using Arguments = std::span<const Value>;

std::int64_t number_of(const Value& value) {
  return must(value.as<std::int64_t>());
}
std::string text_of(const Value& value) {
  return must(value.as<std::string>());
}

void touch(const std::string& path) {
  std::ofstream(path) << "x";
}

/// Its arguments, as a list.
Result<Value> echo(const TaskContext&, Arguments arguments) {
  return List(arguments.begin(), arguments.end());
}
Result<Value> square(const TaskContext&, Arguments arguments) {
  const std::int64_t number = number_of(arguments[0]);
  return number * number;
}
Result<Value> pid(const TaskContext& context, Arguments) {
  return context.session.os->process_id();
}
Result<Value> in_worker(const TaskContext& context, Arguments) {
  return context.session.in_worker;
}
/// {name}: the variable, or nothing.
Result<Value> variable(const TaskContext& context, Arguments arguments) {
  const auto value = context.session.os->environment(text_of(arguments[0]));
  return value ? Value(*value) : Value();
}

/// {script}: the output of a shell that this process executes.
Result<Value> shell(const TaskContext&, Arguments arguments) {
  return said_by_shell(text_of(arguments[0]));
}

Result<Value> refuse(const TaskContext&, Arguments arguments) {
  return failure(std::errc::no_space_on_device, text_of(arguments[0]), Call::write);
}
Result<Value> throw_standard(const TaskContext&, Arguments arguments) {
  throw std::out_of_range(text_of(arguments[0]));
}
Result<Value> throw_number(const TaskContext&, Arguments) {
  throw 42;
}
Result<Value> throw_interrupt(const TaskContext&, Arguments) {
  throw Interrupt();
}
/// An exception with a null what().
Result<Value> throw_silent(const TaskContext&, Arguments) {
  class Silent final : public std::exception {
    const char* what() const noexcept override { return nullptr; }
  };
  throw Silent();
}
Result<Value> throw_no_memory(const TaskContext&, Arguments) {
  throw std::bad_alloc();
}

/// {.., number}
Result<Value> second_number(const TaskContext&, const lastref::Arguments& arguments) {
  LASTREF_TRY(number, arguments.as<std::int64_t>(1));
  return number;
}
Result<Value> sixth(const TaskContext&, const lastref::Arguments& arguments) {
  return arguments[5];
}
/// {text}: calls value() on a result that has none.
Result<Value> value_of_error(const TaskContext& context, Arguments arguments) {
  return refuse(context, arguments).value();
}
Result<Value> value_of_failure(const TaskContext&, Arguments) {
  return Outcome<Value>(tl::unexpected<TaskFailure>(WorkerInterrupt{.where = "there"})).value();
}
/// {array or a list with one}: stores 7 in its first byte.
Result<Value> store(const TaskContext&, Arguments arguments) {
  const auto* list = arguments[0].get_if<List>();
  LASTREF_TRY(array, (list == nullptr ? arguments[0] : list->front()).as<Array>());
  LASTREF_TRY(data, array.mutable_data());
  *data = std::byte{7};
  return Value();
}

/// {size}: that many bytes.
Result<Value> make_bytes(const TaskContext&, Arguments arguments) {
  return ByteString(static_cast<std::size_t>(number_of(arguments[0])), std::byte{7});
}
Result<Value> size_of_bytes(const TaskContext&, Arguments arguments) {
  return static_cast<std::int64_t>(must(arguments[0].as<ByteString>()).size());
}
/// {array}: the sum of its bytes.
Result<Value> sum(const TaskContext&, Arguments arguments) {
  const Array array = must(arguments[0].as<Array>());
  std::int64_t sum = 0;
  for (const std::byte byte : elements_of(array)) {
    sum += std::to_integer<std::int64_t>(byte);
  }
  return sum;
}
/// Whether its memory is a map.
Result<Value> is_mapped(const TaskContext&, Arguments arguments) {
  return has_shareable_memory(must(arguments[0].as<Array>()));
}
Result<Value> make_objects(const TaskContext&, Arguments) {
  return must(Array::zeros(dtype_of("|O"), {2}));
}
/// {array}: keeps it, until the function is called without one.
Result<Value> keep(const TaskContext&, Arguments arguments) {
  static std::optional<Array> kept;
  kept = arguments.empty() ? std::nullopt : std::optional(must(arguments[0].as<Array>()));
  return Value();
}

/// {mark}: makes it.
Result<Value> mark(const TaskContext&, Arguments arguments) {
  touch(text_of(arguments[0]));
  return Value();
}
/// {mark}: waits for it, and returns the other arguments.
Result<Value> wait_for(const TaskContext&, Arguments arguments) {
  const std::string path = text_of(arguments[0]);
  until([&] { return std::filesystem::exists(path); });
  return List(arguments.begin() + 1, arguments.end());
}
/// {mark, mark}: makes one, and waits for the other.
Result<Value> mark_and_wait(const TaskContext& context, Arguments arguments) {
  touch(text_of(arguments[0]));
  return wait_for(context, arguments.subspan(1));
}
/// {mark}: makes it, and never ends.
Result<Value> mark_and_hang(const TaskContext&, Arguments arguments) {
  touch(text_of(arguments[0]));
  hang();
}

/// {number}: sends that signal to its own process.
Result<Value> signal_self(const TaskContext& context, Arguments arguments) {
  send_signal(context.session.os->process_id(), static_cast<int>(number_of(arguments[0])));
  return "lives";
}
Result<Value> leave_with(const TaskContext&, Arguments arguments) {
  leave(static_cast<int>(number_of(arguments[0])));
}
/// The copy returns as well.
Result<Value> fork_and_return(const TaskContext&, Arguments) {
  return fork_here() == 0 ? "copy" : "original";
}
/// {path}: appends one byte.
Result<Value> append(const TaskContext&, Arguments arguments) {
  std::ofstream(text_of(arguments[0]), std::ios::app) << "x";
  return Value();
}
Result<Value> daemonise(const TaskContext&, Arguments arguments) {
  daemonise_until(text_of(arguments[0]));
  return Value();
}
Result<Value> close_fds(const TaskContext&, Arguments arguments) {
  for (const Value& each : arguments) {
    close_here(static_cast<int>(number_of(each)));
  }
  return Value();
}
/// {fd}: closes it, and never returns.
Result<Value> close_and_hang(const TaskContext& context, Arguments arguments) {
  LASTREF_CHECK(status_of(close_fds(context, arguments)));
  hang();
}
/// {fd, number}: closes it, waits until no process can send this worker more jobs, and exits.
Result<Value> close_and_leave_with(const TaskContext& context, Arguments arguments) {
  LASTREF_CHECK(status_of(close_fds(context, arguments.first(1))));
  os::PollItem jobs{.fd = os::Fd{worker::jobs_fd}};
  while (!jobs.hung_up) {
    LASTREF_CHECK(status_of(context.session.os->poll({&jobs, 1}, std::nullopt)));
  }
  return leave_with(context, arguments.subspan(1));
}
/// {bytes}: writes them to the parent, on the descriptor for the worker's results.
Result<Value> say(const TaskContext& context, Arguments arguments) {
  const ByteString bytes = must(arguments[0].as<ByteString>());
  LASTREF_CHECK(os::write_all(*context.session.os, os::Fd{worker::results_fd}, bytes));
  return Value();
}
/// {n_jobs}: how many jobs a process backend in this process would have, and whether it has a
/// fallback.
Result<Value> nested(const TaskContext& context, Arguments arguments) {
  ProcessBackend backend(context.session, test_functions());
  const auto made = backend.configure({.n_jobs = static_cast<int>(number_of(arguments[0]))});
  if (!made) {
    return failure(made.error());
  }
  return List{static_cast<std::int64_t>(made->n_jobs), made->fallback != nullptr};
}

/// The folder of the tree of a session that is made in this process.
Result<Value> lead_a_tree(const TaskContext& context, Arguments) {
  LASTREF_TRY(tree, Session::lead(*context.session.os).tree());
  return Value(tree);
}

}  // namespace

std::shared_ptr<const Functions> test_functions() {
  static const std::shared_ptr<const Functions> all = [] {
    const std::pair<const char*, Result<Value> (*)(const TaskContext&, Arguments)> table[] = {
        {"echo", echo},
        {"square", square},
        {"say", say},
        {"pid", pid},
        {"in_worker", in_worker},
        {"variable", variable},
        {"shell", shell},
        {"refuse", refuse},
        {"throw_standard", throw_standard},
        {"throw_number", throw_number},
        {"throw_interrupt", throw_interrupt},
        {"throw_silent", throw_silent},
        {"throw_no_memory", throw_no_memory},
        {"value_of_error", value_of_error},
        {"value_of_failure", value_of_failure},
        {"store", store},
        {"make_bytes", make_bytes},
        {"size_of_bytes", size_of_bytes},
        {"sum", sum},
        {"is_mapped", is_mapped},
        {"make_objects", make_objects},
        {"keep", keep},
        {"mark", mark},
        {"wait_for", wait_for},
        {"mark_and_wait", mark_and_wait},
        {"mark_and_hang", mark_and_hang},
        {"signal_self", signal_self},
        {"leave_with", leave_with},
        {"fork_and_return", fork_and_return},
        {"append", append},
        {"daemonise", daemonise},
        {"close_fds", close_fds},
        {"close_and_hang", close_and_hang},
        {"close_and_leave_with", close_and_leave_with},
        {"nested", nested},
        {"lead_a_tree", lead_a_tree},
    };
    auto functions = std::make_shared<Functions>();
    for (const auto& [name, function] : table) {
      must(functions->add(name, function));
    }
    must(functions->add("second_number", second_number));
    must(functions->add("sixth", sixth));
    return functions;
  }();
  return all;
}

}  // namespace lastref::pretend
