// guard: a parent for a supervisor. If the supervisor dies, all that it watched dies, and if the
// parent dies, the supervisor ends what it watches: calls that stop for nobody would fail, and the
// programs would go on so.
#pragma once

#include <functional>

namespace lastref::harness::warden {

/// Does the work in a child, and gives what it gives; `died` if it was killed. Signals that are
/// sent to us alone it hears, too. Children that we had before are none of those that are
/// watched.
int guarded(const std::function<int()>& work, int died);

}  // namespace lastref::harness::warden
