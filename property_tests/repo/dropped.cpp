// dropped: does not compile without a warning, whichever of the functions DROPPED names.
#include <lastref/task.hpp>

lastref::Status status() {
  return lastref::ok();
}

lastref::Result<int> result() {
  return 1;
}

lastref::Outcome<int> outcome() {
  return 1;
}

int main() {
  DROPPED();
}
