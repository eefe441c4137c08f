#include <array>
#include <atomic>
#include <charconv>
#include <map>

#include <lastref/npy.hpp>
#include <lastref/owners.hpp>
#include <lastref/task.hpp>
#include <lastref/typed_function.hpp>

#include "impl/backends/typed_call.hpp"
#include "impl/os/kernel_os_objects.hpp"
#include "impl/os/wire.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

/// Changed by static initialisation, and by the loader of a shared object.
std::atomic<const TypedFunction*>& newest() noexcept {
  static std::atomic<const TypedFunction*> first = nullptr;
  return first;
}

/// What a worker has received for its tasks.
struct Received {
  std::map<std::int64_t, SharedArguments> shared;
  std::string loader;  ///< Id of the loader of the state.
  std::shared_ptr<void> state;
  std::string results;  ///< What the names of its files of results begin with; empty: none.
  std::uint64_t result_size_max = 0;
  std::uint64_t next_result = 0;
};

/// The files of one call for its large results. The parent removes them, unless the call fails.
/// What cannot be put into a file travels through the pipe.
class ResultFiles {
 public:
  ResultFiles(os::Os& os, Received& received) noexcept
      : os_(os), received_(received), first_(received.next_result) {}
  ResultFiles(const ResultFiles&) = delete;
  ResultFiles& operator=(const ResultFiles&) = delete;
  ~ResultFiles() {
    static_cast<void>(os::had_memory([&] {
      while (received_.next_result > first_) {
        remove_last();
      }
    }));
  }

  /// The array in a file; none if it is small.
  std::optional<Array> store(const Array& array) {
    const bool is_plain = array.is_c_contiguous() || array.is_f_contiguous();
    if (received_.results.empty() || array.nbytes() <= received_.result_size_max || !is_plain ||
        array.memory()->file() || array.dtype().has_object()) {
      return std::nullopt;
    }
    const std::string path = path_of(received_.next_result);
    auto file = os::open_file(os_, path, {.write = true, .create = true});
    if (!file) {
      return std::nullopt;
    }
    ++received_.next_result;
    if (write_npy(os_, file->get(), array) && file->close()) {
      if (auto map = map_npy(os_, path, MapMode::read_write)) {
        return *std::move(map);
      }
    }
    remove_last();
    return std::nullopt;
  }

  void keep() noexcept { first_ = received_.next_result; }

 private:
  std::string path_of(std::uint64_t number) const {
    return received_.results + std::to_string(number);
  }
  void remove_last() { static_cast<void>(os::discard(os_, path_of(--received_.next_result))); }

  os::Os& os_;
  Received& received_;
  std::uint64_t first_;
};

/// Of the digits of a build id. Each task carries them.
constexpr std::size_t build_digits = 16;

/// What an id has of the name.
std::string_view shown(std::string_view name) noexcept {
  return name.substr(0, function_name_size_max / 2);
}

/// The arrays at the end of a task's arguments.
std::vector<Array> arrays_from(const Arguments& arguments, std::size_t first) {
  std::vector<Array> arrays;
  for (std::size_t index = first; index < arguments.size(); ++index) {
    if (const Array* array = arguments[index].get_if<Array>()) {
      arrays.push_back(*array);
    }
  }
  return arrays;
}

Status load_state(Received& received, const std::string& id) {
  if (id.empty() || received.loader == id) {
    return ok();
  }
  for (const TypedFunction* each = TypedFunction::first(); each != nullptr; each = each->next()) {
    if (each->loader() != nullptr && each->id() == id) {
      received.loader.clear();
      received.state = nullptr;
      received.state = each->loader()();
      received.loader = id;
      return ok();
    }
  }
  return failure(backends::about_unknown(id));
}

/// {group or 0, id of the state's loader, own arguments, arrays...}
Result<Value> call(const TypedFunction& function,
                   Received& received,
                   os::Os& os,
                   const Arguments& arguments) {
  LASTREF_TRY(group, arguments.as<std::int64_t>(0));
  LASTREF_TRY(loader, arguments.as<std::string>(1));
  const auto* own = arguments[2].get_if<ByteString>();
  if (own == nullptr) {
    return failure(std::errc::bad_message, "a task without arguments");
  }
  LASTREF_CHECK(load_state(received, loader));
  const std::vector<Array> arrays = arrays_from(arguments, 3);
  Reader reader(*own, arrays);
  Invocation with{.own = reader, .state = loader.empty() ? nullptr : received.state.get()};
  if (const auto found = received.shared.find(group); found != received.shared.end()) {
    with.shared = &found->second;
  }
  ResultFiles files(os, received);
  Writer result([&](os::Bytes block) -> Result<std::optional<Array>> {
    LASTREF_TRY(array, backends::array_of(block));
    return files.store(array);
  });
  LASTREF_CHECK(function.body()(with, result));
  LASTREF_CHECK(result.stored());
  if (result.arrays().empty()) {
    return Value(std::move(result.bytes()));
  }
  List all{Value(std::move(result.bytes()))};
  for (Array& array : result.arrays()) {
    all.emplace_back(files.store(array).value_or(array));
  }
  files.keep();
  return Value(std::move(all));
}

/// {path, bytes}
Result<Value> set_results(Received& received, const Arguments& arguments) {
  LASTREF_TRY(path, arguments.as<std::string>(0));
  LASTREF_TRY(size, arguments.as<std::int64_t>(1));
  received.results = std::move(path);
  received.result_size_max = static_cast<std::uint64_t>(size);
  return Value();
}

/// {group, shared arguments, arrays...}
Result<Value> share(Received& received, const Arguments& arguments) {
  LASTREF_TRY(group, arguments.as<std::int64_t>(0));
  LASTREF_TRY(bytes, arguments.as<ByteString>(1));
  received.shared[group] = {.bytes = std::move(bytes), .arrays = arrays_from(arguments, 2)};
  return Value();
}

/// {group}
Result<Value> forget(Received& received, const Arguments& arguments) {
  LASTREF_TRY(group, arguments.as<std::int64_t>(0));
  received.shared.erase(group);
  return Value();
}

}  // namespace

TypedFunction::TypedFunction(std::string_view its_name,
                             Body its_body,
                             const std::type_info* its_state,
                             Init its_init,
                             bool may_return_blocks) noexcept
    : name_(its_name),
      body_(its_body),
      state_(its_state),
      init_(its_init),
      may_return_blocks_(may_return_blocks) {
  enlist();
}

TypedFunction::TypedFunction(std::string_view its_name,
                             Loader its_loader,
                             const std::type_info* its_state,
                             Init its_init) noexcept
    : name_(its_name), loader_(its_loader), state_(its_state), init_(its_init) {
  enlist();
}

void TypedFunction::enlist() noexcept {
  next_ = newest().load();
  while (!newest().compare_exchange_weak(next_, this)) {
  }
}

const TypedFunction* TypedFunction::first() noexcept {
  return newest().load();
}

std::string TypedFunction::id() const {
  // Two functions of one name are at two places of their program.
  const auto init = reinterpret_cast<std::uintptr_t>(init_);
  const auto place = reinterpret_cast<std::uintptr_t>(this) - init;
  std::array<char, sizeof place * 2> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), place, 16).ptr;
  const auto object = os::object_file_at(init);
  return std::string(shown(name_)) + '#' + std::string(digits.data(), end) + '@' +
         (object ? object->build_id.substr(0, build_digits) : std::string());
}

Error backends::about_unknown(std::string_view id) {
  const std::size_t place = id.rfind('#');
  const auto unknown = [](std::string subject) {
    return Error{.code = std::errc::function_not_supported, .subject = std::move(subject)};
  };
  const auto build_of = [](std::string_view any) {
    return std::string(any.substr(any.rfind('@')));
  };
  if (place == std::string::npos || id.find('@', place) == std::string::npos) {
    return unknown("no function is registered as \"" + std::string(id) + '"');
  }
  const std::string_view name = id.substr(0, place);
  const std::string subject = std::string(name) + build_of(id) + ": ";
  for (const TypedFunction* each = TypedFunction::first(); each != nullptr; each = each->next()) {
    if (shown(each->name()) == name) {
      return unknown(subject + "the program or shared object of this worker is of another build, " +
                     build_of(each->id()));
    }
  }
  return unknown(subject +
                 "not in the program of this worker, nor in a shared object that it has loaded");
}

std::shared_ptr<const Functions> typed_functions(const std::function<void()>& before_each) {
  auto functions = std::make_shared<Functions>();
  const auto received = std::make_shared<Received>();
  const auto add = [&](std::string name, TaskFunction function) {
    static_cast<void>(functions->add(std::move(name), std::move(function)));
  };
  add(backends::share_function, [received](const TaskContext&, const Arguments& arguments) {
    return share(*received, arguments);
  });
  add(backends::results_function, [received](const TaskContext&, const Arguments& arguments) {
    return set_results(*received, arguments);
  });
  add(backends::forget_function, [received](const TaskContext&, const Arguments& arguments) {
    return forget(*received, arguments);
  });
  for (const TypedFunction* each = TypedFunction::first(); each != nullptr; each = each->next()) {
    if (each->body() != nullptr) {
      add(each->id(),
          [each, received, before_each](const TaskContext& context, const Arguments& arguments) {
            if (before_each) {
              before_each();
            }
            return os::within_memory(
                "a task", [&] { return call(*each, *received, *context.session.os, arguments); });
          });
    }
  }
  return functions;
}

}  // namespace lastref
