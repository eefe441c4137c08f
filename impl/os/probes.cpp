// probes: the rows of probes.def as data.
#include <lastref/probe.hpp>

namespace lastref {
namespace {

constexpr ProbeRow rows[] = {
#define LASTREF_PROBE(name, sentence) {Probe::name, #name, sentence},
#include <lastref/probes.def>
#undef LASTREF_PROBE
};

}  // namespace

std::span<const ProbeRow> probe_rows() noexcept {
  return rows;
}

}  // namespace lastref
