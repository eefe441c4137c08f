#include "harness/instrument/standstill.hpp"

namespace lastref::harness {

bool Standstill::resolve() {
  return (has_moved() && ask_tracker()) || let_doomed_go() || let_down_one_who_awaits() ||
         let_stopped_go();
}

}  // namespace lastref::harness
