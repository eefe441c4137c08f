// plugin: a shared object in another program (a Python extension, an editor). It has no main.
#include <vector>

#include <lastref/pool.hpp>

double half(double value) {
  return value / 2;
}

extern "C" double halves(const double* values, std::size_t count) {
  static lastref::Pool pool({.workers = 2, .host = lastref::installed});  // by `lastref worker`
  const auto all = pool.map<half>(std::vector<double>(values, values + count));
  return all ? all->front() : -1;
}
