// typed_function: a function of yours as a task: its name, and its arguments and result as bytes.
//
// A function or a lambda without captures is a template argument, so the compiler checks what it is
// called with. Each use of one in a program registers it before main, in the program and in its
// workers. So there are no names to choose and no table to keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <lastref/array.hpp>
#include <lastref/codec.hpp>
#include <lastref/error.hpp>

namespace lastref {

/// The first call of `main` in a program that has a Pool. In a worker or a tracker it does the work
/// of the process, and ends it.
void init(int argc, char** argv);

/// Called by a worker that has loaded a shared object for its functions. The program and each
/// shared object have one of their own, so its address says which of them a function is in.
[[gnu::visibility("hidden")]] inline void init_here(int argc, char** argv) {
  init(argc, argv);
}

/// Arguments that all tasks of a call share. A worker receives them once, and decodes them with the
/// first task.
struct SharedArguments {
  std::vector<std::byte> bytes = {};
  std::vector<Array> arrays = {};
  std::shared_ptr<void> decoded = {};
};

/// What a function is called with.
struct Invocation {
  Reader& own;                        ///< The task's own arguments.
  SharedArguments* shared = nullptr;  ///< Null if there are none.
  const void* state = nullptr;        ///< Null if it takes none.
};

/// A function that is registered, or a loader of a worker's state. Never destroyed.
class TypedFunction {
 public:
  using Body = Status (*)(Invocation& with, Writer& result);
  using Loader = std::shared_ptr<void> (*)();
  using Init = void (*)(int argc, char** argv);

  TypedFunction(std::string_view its_name,
                Body its_body,
                const std::type_info* its_state,
                Init its_init,
                bool may_return_blocks) noexcept;
  /// A loader.
  TypedFunction(std::string_view its_name,
                Loader its_loader,
                const std::type_info* its_state,
                Init its_init) noexcept;
  TypedFunction(const TypedFunction&) = delete;
  TypedFunction& operator=(const TypedFunction&) = delete;
  ~TypedFunction() = default;

  /// As in the source, for messages.
  std::string_view name() const noexcept { return name_; }
  /// Its name, its place in the program or shared object, and the build id of that: the same in all
  /// processes that have the same build loaded.
  std::string id() const;
  /// The init_here of its program or shared object.
  Init init() const noexcept { return init_; }
  Body body() const noexcept { return body_; }
  Loader loader() const noexcept { return loader_; }
  /// The type of the state that it takes or loads; null if none.
  const std::type_info* state() const noexcept { return state_; }
  /// Whether its results may be large.
  bool may_return_blocks() const noexcept { return may_return_blocks_; }

  /// All of this process are in one list.
  static const TypedFunction* first() noexcept;
  const TypedFunction* next() const noexcept { return next_; }

 private:
  void enlist() noexcept;

  std::string_view name_;
  Body body_ = nullptr;
  Loader loader_ = nullptr;
  const std::type_info* state_;
  Init init_;
  bool may_return_blocks_ = false;
  const TypedFunction* next_ = nullptr;
};

/// The parameters and the result of a function or a lambda.
template <typename Function>
struct Signature : Signature<decltype(&Function::operator())> {};
template <typename Result, typename... Parameters>
struct Signature<Result (*)(Parameters...)> {
  using Return = Result;
  using All = std::tuple<Parameters...>;
};
template <typename Result, typename... Parameters>
struct Signature<Result (*)(Parameters...) noexcept> : Signature<Result (*)(Parameters...)> {};
template <typename Result, typename Object, typename... Parameters>
struct Signature<Result (Object::*)(Parameters...) const> : Signature<Result (*)(Parameters...)> {};
template <typename Result, typename Object, typename... Parameters>
struct Signature<Result (Object::*)(Parameters...) const noexcept>
    : Signature<Result (*)(Parameters...)> {};

template <typename T>
struct Unwrapped {
  using Type = T;
};
template <typename T>
struct Unwrapped<Result<T>> {
  using Type = T;
};

/// The type of the results of tasks that call `f`: for a function that returns a Result, its value.
template <auto f>
using ResultOf = typename Unwrapped<
    std::remove_cvref_t<typename Signature<std::remove_cv_t<decltype(f)>>::Return>>::Type;

template <typename R>
inline constexpr bool may_be_large =
    !std::is_void_v<R> && !std::is_enum_v<R> && !PlainBytes<R> && !std::is_same_v<R, bool>;

template <auto f>
inline constexpr std::size_t parameters_of =
    std::tuple_size_v<typename Signature<std::remove_cv_t<decltype(f)>>::All>;
template <auto f, std::size_t index>
using ParameterOf =
    std::tuple_element_t<index, typename Signature<std::remove_cv_t<decltype(f)>>::All>;

/// "to_polar", from "... [with auto f = to_polar; ...]" or "... [f = &to_polar]".
template <auto f>
constexpr std::string_view name_of_function() noexcept {
  std::string_view name = __PRETTY_FUNCTION__;
  name = name.substr(name.find("f = ") + 4);
  name = name.substr(0, std::min(name.find(';'), name.rfind(']')));
  return name.starts_with('&') ? name.substr(1) : name;
}

/// Whether a parameter `Parameter` would be written to in vain: it is a copy in another process,
/// unless its type is a handle of something that processes share.
template <typename Parameter>
inline constexpr bool is_lost_output =
    std::is_lvalue_reference_v<Parameter> && !std::is_const_v<std::remove_reference_t<Parameter>> &&
    !is_handle<std::remove_cvref_t<Parameter>>;

/// A call of `f` with a state if `states` is 1, then `shared` shared arguments, then its own ones.
/// Each shared object has its own: functions of one name in two of them are two functions.
template <auto f, std::size_t states, std::size_t shared>
class __attribute__((visibility("hidden"))) TypedCall {
  static constexpr std::size_t count = parameters_of<f>;
  template <std::size_t index>
  using Stored = std::remove_cvref_t<ParameterOf<f, index>>;
  template <std::size_t first, std::size_t... index>
  static std::tuple<Stored<first + index>...> stored(std::index_sequence<index...>);
  using Shared = decltype(stored<states>(std::make_index_sequence<shared>()));
  using Own =
      decltype(stored<states + shared>(std::make_index_sequence<count - states - shared>()));

 public:
  static const std::type_info* state_type() noexcept {
    if constexpr (states == 0) {
      return nullptr;
    } else {
      return &typeid(Stored<0>);
    }
  }

  /// Appends arguments from parameter `first` on, as the types of the parameters.
  template <std::size_t first, typename... Arguments>
  static void write(Writer& to, const Arguments&... arguments) {
    if constexpr (sizeof...(Arguments) == 0) {
      to.write(std::tuple<>());
    } else {
      [&]<std::size_t... index>(std::index_sequence<index...>) {
        (write_one<Stored<first + index>>(to, arguments), ...);
      }
      (std::index_sequence_for<Arguments...>());
    }
  }

  static Status run(Invocation& with, Writer& result) {
    check_outputs(std::make_index_sequence<count - states>());
    LASTREF_TRY(common, shared_of(with));
    LASTREF_TRY(own, with.own.read<Own>());
    LASTREF_CHECK(with.own.finish());
    return call(with.state, common, own, result, std::make_index_sequence<count>());
  }

  static inline const TypedFunction registered{
      name_of_function<f>(), &run, state_type(), &init_here, may_be_large<ResultOf<f>>};

 private:
  template <typename T>
  static void write_one(Writer& to, const T& argument) {
    static_assert(Encodable<T>, "an argument of f has no codec: specialise lastref::Codec");
    to.write(argument);
  }

  template <std::size_t... index>
  static void check_outputs(std::index_sequence<index...>) {
    static_assert(!(is_lost_output<ParameterOf<f, states + index>> || ...),
                  "f writes to a copy of its argument: return the value, or use Pool::zeros");
  }

  static Result<Shared*> shared_of(Invocation& with) {
    if constexpr (shared == 0) {
      return static_cast<Shared*>(nullptr);
    } else {
      if (with.shared == nullptr) {
        return failure(std::errc::bad_message, "the shared arguments have not arrived");
      }
      if (!with.shared->decoded) {
        LASTREF_TRY(values, decode<Shared>(Reader(with.shared->bytes, with.shared->arrays)));
        *with.shared = {.decoded = std::make_shared<Shared>(std::move(values))};
      }
      return static_cast<Shared*>(with.shared->decoded.get());
    }
  }

  template <std::size_t index>
  static decltype(auto) argument(const void* state, Shared* common, Own& own) {
    if constexpr (index < states) {
      return *static_cast<const Stored<index>*>(state);
    } else if constexpr (index < states + shared) {
      return (std::get<index - states>(*common));
    } else {
      return static_cast<ParameterOf<f, index>&&>(std::get<index - states - shared>(own));
    }
  }

  template <std::size_t... index>
  static Status call(
      const void* state, Shared* common, Own& own, Writer& result, std::index_sequence<index...>) {
    using Return = typename Signature<std::remove_cv_t<decltype(f)>>::Return;
    static_cast<void>(state);
    static_cast<void>(common);
    if constexpr (std::is_void_v<Return>) {
      f(argument<index>(state, common, own)...);
    } else if constexpr (std::is_same_v<ResultOf<f>, std::remove_cvref_t<Return>>) {
      result.write(f(argument<index>(state, common, own)...));
    } else {
      auto returned = f(argument<index>(state, common, own)...);
      LASTREF_CHECK(status_of(returned));
      if constexpr (!std::is_void_v<ResultOf<f>>) {
        result.write(*returned);
      }
    }
    return ok();
  }
};

/// Loads the state of a worker.
template <auto load>
struct __attribute__((visibility("hidden"))) StateOf {
  using Loaded = std::remove_cvref_t<typename Signature<std::remove_cv_t<decltype(load)>>::Return>;

  static std::shared_ptr<void> make() { return std::make_shared<Loaded>(load()); }
  static inline const TypedFunction registered{
      name_of_function<load>(), &make, &typeid(Loaded), &init_here};
};

/// The functions of this process, by their ids, for `run_if_spawned`. `before_each` is called
/// before each function, in its thread.
class Functions;
std::shared_ptr<const Functions> typed_functions(const std::function<void()>& before_each = {});

}  // namespace lastref
