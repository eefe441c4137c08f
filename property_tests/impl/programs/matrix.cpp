// matrix: an array that workers read, and sums that they write in place. Nothing is copied or sent.
#include <cstdio>
#include <numeric>
#include <ranges>

#include <lastref/pool.hpp>

using lastref::View;

void sum_row(View<const double, 2> matrix, View<double, 1> sums, std::size_t row) {
  const auto values = matrix.row(row);  // std::span<const double>
  sums(row) = std::reduce(values.begin(), values.end());
}

int main(int argc, char** argv) {
  lastref::init(argc, argv);
  lastref::Pool pool;
  auto matrix = pool.zeros<double>(1'000, 1'250).value();  // ENOSPC is an error here.
  auto sums = pool.zeros<double>(1'000).value();
  std::iota(matrix.flat().begin(), matrix.flat().end(), 0.0);
  pool.for_each<sum_row>(
          matrix.read_only(), sums, std::views::iota(std::size_t{0}, std::size_t{1'000}))
      .value();
  std::printf("%g\n", sums(999));
}  // Both files are removed, also if this program or all its processes are killed.
