// every_call: a class of Os that implements its calls once for all rows of calls.def.
//
// EveryCall<Self> is an os::Os that overrides each method with a row by Self::every. So in
//
//   class CountingOs final : public EveryCall<CountingOs> {
//    public:
//     template <Call call, typename... Given>
//     AnswerOf<call> every(Given&&... given) noexcept {
//       ++count;
//       return CallOf<call>::make(inner, std::forward<Given>(given)...);
//     }
//     Status close(os::Fd fd) noexcept override { ... }
//
// sync(fd) is every<Call::sync>(fd), which returns the result of inner.sync(fd). A call that gets a
// row later is counted as well. Self overrides special calls, like close here, in the usual way.
// Self also implements the methods without a row.
//
// Implementation: each row defines a CallOf, which names the method, and an Override of the method,
// with the signature that the compiler derives from Os. An Override derives from that of the row
// above it, the first one from os::Os, and EveryCall is the last one. The compiler knows which
// calls Self overrides when it knows `every`, so it never instantiates `every` for one of these.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <lastref/os.hpp>

namespace lastref::harness {

/// A row, for templates. Its members are
///   Method            the type of a pointer to the method of os::Os
///   traits            as in the table
///   make(of, given)   calls the method of that name, on an Os or any other object that has one
template <Call call>
struct CallOf;

template <Call call, typename Self, typename Method = typename CallOf<call>::Method>
class Override;

template <>
struct CallOf<Call::none> {
  using Method = void;
};

template <typename Self>
class Override<Call::none, Self, void> : public os::Os {};

constexpr Call row_above(Call call) noexcept {
  return static_cast<Call>(static_cast<std::uint8_t>(call) - 1);
}

#define LASTREF_CALL(method, point, trait, ...)                                            \
  template <>                                                                              \
  struct CallOf<Call::method> {                                                            \
    using Method = decltype(&os::Os::method);                                              \
    static constexpr Traits traits = [] {                                                  \
      using enum Traits;                                                                   \
      return trait;                                                                        \
    }();                                                                                   \
    template <typename Of, typename... Given>                                              \
    static decltype(auto) make(Of& of, Given&&... given) {                                 \
      return of.method(std::forward<Given>(given)...);                                     \
    }                                                                                      \
  };                                                                                       \
  template <typename Self, bool is_noexcept, typename Answer, typename... Given>           \
  class Override<Call::method, Self, Answer (os::Os::*)(Given...) noexcept(is_noexcept)>   \
      : public Override<row_above(Call::method), Self> {                                   \
   public:                                                                                 \
    Answer method(Given... given) noexcept(is_noexcept) override {                         \
      if constexpr (std::is_same_v<decltype(&Self::method),                                \
                                   Answer (Self::*)(Given...) noexcept> ||                 \
                    std::is_same_v<decltype(&Self::method), Answer (Self::*)(Given...)>) { \
        LASTREF_ASSERT(false); /* Self overrides it. */                                    \
      } else {                                                                             \
        return static_cast<Self&>(*this).template every<Call::method>(                     \
            std::forward<Given>(given)...);                                                \
      }                                                                                    \
    }                                                                                      \
  };
#include <lastref/calls.def>
#undef LASTREF_CALL

constexpr Call last_row() noexcept {
  Call last = Call::none;
#define LASTREF_CALL(method, ...) last = Call::method;
#include <lastref/calls.def>
#undef LASTREF_CALL
  return last;
}

template <typename Self>
using EveryCall = Override<last_row(), Self>;

template <bool is_noexcept, typename Answer, typename... Given>
Answer answer_of(Answer (os::Os::*)(Given...) noexcept(is_noexcept));

/// The return type of the method.
template <Call call>
using AnswerOf = decltype(answer_of(typename CallOf<call>::Method{}));

/// Whether it can fail.
template <Call call>
inline constexpr bool can_fail = requires(AnswerOf<call> answer) {
  answer.error();
};

/// Whether it may transfer fewer bytes than it is given.
template <Call call>
inline constexpr bool may_shorten = has(CallOf<call>::traits, Traits::shortens);

/// The arguments of a call, or the first `taken(size)` bytes of them if it may transfer fewer.
template <Call call, typename Given, typename Taken>
const Given& part_of(const Given& given, const Taken&) noexcept {
  return given;
}
template <Call call, typename Each, typename Taken>
std::span<Each> part_of(std::span<Each> given, const Taken& taken) noexcept {
  if constexpr (may_shorten<call>) {
    return given.first(taken(given.size()));
  } else {
    return given;
  }
}

}  // namespace lastref::harness
