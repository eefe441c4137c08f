// points: own structs through worker processes; results in the order of the inputs.
#include <cmath>
#include <cstdio>
#include <vector>

#include <lastref/pool.hpp>

struct Point {
  double x, y;
};
struct Polar {
  double radius, angle;
};

Polar to_polar(Point p) {
  return {std::hypot(p.x, p.y), std::atan2(p.y, p.x)};
}

int main(int argc, char** argv) {
  lastref::init(argc, argv);  // A worker does its work in here and does not return.
  std::vector<Point> points(10'000, {3, 4});

  lastref::Pool pool;  // One worker process per core.
  const auto polar = pool.map<to_polar>(points);
  if (!polar) {
    // "points: task 17, to_polar, worker 4711: killed by SIGSEGV"
    return lastref::fail(polar.error());
  }
  auto one = pool.submit<to_polar>(Point{1, 2});  // Future<Polar>
  // value() throws lastref::Failure.
  std::printf("%g %g\n", (*polar)[0].radius, one.get().value().angle);
}
