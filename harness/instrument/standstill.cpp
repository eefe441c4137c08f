#include "harness/instrument/standstill.hpp"

#include "harness/journal/record.hpp"

namespace lastref::harness {

bool looks_at_kills(std::span<const Fault> faults) noexcept {
  return !faults.empty() && hash_of(to_text(faults.front())) % 4 != 0;
}

bool Standstill::resolve() {
  return (has_moved() && ask_tracker()) || let_doomed_go() || let_down_one_who_awaits() ||
         let_stopped_go();
}

}  // namespace lastref::harness
