#include "harness/scenario/look.hpp"

#include <lastref/error.hpp>

namespace lastref::harness {

std::string_view name_of(Waiver waiver) noexcept {
  switch (waiver) {
    case Waiver::none:
      return "judged";
    case Waiver::has_fault:
      return "a fault struck that may be noticed";
    case Waiver::has_order:
      return "the order was not the usual one";
    case Waiver::two_faults:
      return "more than one fault that may be noticed was planned";
    case Waiver::fails_for_ever:
      return "a call fails for ever";
    case Waiver::has_error:
      return "a call was made to fail that it takes to clean up";
    case Waiver::whole_tree:
      return "the whole tree was killed";
    case Waiver::last_tracker:
      return "the tracker was killed, and no root could start another";
    case Waiver::no_promise:
      return "the tracker had no ledger";
    case Waiver::next_start:
      return "the scenario leaves it to the next start";
    case Waiver::ambient:
      return "another promise in this ambient";
    case Waiver::no_fault:
      return "no fault was planned";
  }
  LASTREF_ASSERT(false);
}

}  // namespace lastref::harness
