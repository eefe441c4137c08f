#include "harness/kernel/wire.hpp"

#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>

#include "harness/journal/run_log.hpp"

namespace lastref::harness {
namespace {

/// Writes values one after the other.
class Put {
 public:
  template <typename Number>
  std::enable_if_t<std::is_trivially_copyable_v<Number>> operator()(const Number& number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void operator()(const std::string& text) {
    (*this)(text.size());
    bytes_ += text;
  }
  template <typename T>
  void operator()(const std::vector<T>& all) {
    (*this)(all.size());
    for (const T& each : all) {
      visit(*this, each);
    }
  }
  void operator()(const std::optional<RunResults>& results) {
    (*this)(results.has_value());
    (*this)(results ? results->size() : 0);
    for (const auto& [result, value] : results.value_or(RunResults{})) {
      (*this)(result);
      (*this)(value);
    }
  }
  void operator()(const std::shared_ptr<RunLog>& log) {
    (*this)(log != nullptr);
    if (log != nullptr) {
      put_all(log->records);
      put_all(log->steps);
    }
  }
  void operator()(const std::shared_ptr<const RunEstimate>& estimate) {
    (*this)(estimate != nullptr);
    (*this)(estimate == nullptr ? RunEstimate() : *estimate);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <typename T>
  void put_all(const std::vector<T>& all) {
    (*this)(all.size());
    for (const T& each : all) {
      (*this)(each);
    }
  }

  std::string bytes_;
};

/// Reads them in the same order. The other side is the same program, so nothing else is checked.
class Get {
 public:
  explicit Get(const std::string& bytes) : bytes_(bytes) {}

  template <typename Number>
  std::enable_if_t<std::is_trivially_copyable_v<Number>> operator()(Number& number) {
    LASTREF_ASSERT(bytes_.size() - at_ >= sizeof(number));
    std::memcpy(&number, bytes_.data() + at_, sizeof(number));
    at_ += sizeof(number);
  }
  void operator()(std::string& text) {
    std::size_t size = 0;
    (*this)(size);
    LASTREF_ASSERT(bytes_.size() - at_ >= size);
    text = bytes_.substr(at_, size);
    at_ += size;
  }
  template <typename T>
  void operator()(std::vector<T>& all) {
    std::size_t size = 0;
    (*this)(size);
    all.resize(size);
    for (T& each : all) {
      visit(*this, each);
    }
  }
  void operator()(std::optional<RunResults>& results) {
    bool is_there = false;
    (*this)(is_there);
    results = is_there ? std::optional<RunResults>(std::in_place) : std::nullopt;
    std::size_t size = 0;
    (*this)(size);
    for (; size > 0; --size) {
      std::string result;
      (*this)(result);
      (*this)((*results)[result]);
    }
  }
  void operator()(std::shared_ptr<const RunEstimate>& estimate) {
    bool is_there = false;
    (*this)(is_there);
    RunEstimate read;
    (*this)(read);
    estimate = is_there ? std::make_shared<const RunEstimate>(std::move(read)) : nullptr;
  }

  void operator()(std::shared_ptr<RunLog>& log) {
    bool is_there = false;
    (*this)(is_there);
    log = is_there ? std::make_shared<RunLog>() : nullptr;
    if (log != nullptr) {
      get_all(log->records);
      get_all(log->steps);
    }
  }

 private:
  template <typename T>
  void get_all(std::vector<T>& all) {
    std::size_t size = 0;
    (*this)(size);
    all.resize(size);
    for (T& each : all) {
      (*this)(each);
    }
  }

  const std::string& bytes_;
  std::size_t at_ = 0;
};

template <typename Visitor, typename Number>
std::enable_if_t<std::is_arithmetic_v<std::remove_const_t<Number>>> visit(Visitor& with,
                                                                          Number& number) {
  with(number);
}

template <typename Visitor, typename Plain>
std::enable_if_t<std::is_same_v<std::remove_const_t<Plain>, Switch> ||
                 std::is_same_v<std::remove_const_t<Plain>, ActorSteps>>
visit(Visitor& with, Plain& plain) {
  with(plain);
}

template <typename Visitor>
void visit(Visitor& with, std::string& text) {
  with(text);
}
template <typename Visitor>
void visit(Visitor& with, const std::string& text) {
  with(text);
}

template <typename Visitor, typename Of>
void visit_site(Visitor& with, Of& site) {
  with(site.role);
  with(site.name);
  with(site.object);
  with(site.k);
}

template <typename Visitor, typename Of>
void visit_fault(Visitor& with, Of& fault) {
  visit_site(with, fault.site);
  with(fault.kind);
  with(fault.error);
  with(fault.whole_tree);
}
template <typename Visitor>
void visit(Visitor& with, Fault& fault) {
  visit_fault(with, fault);
}
template <typename Visitor>
void visit(Visitor& with, const Fault& fault) {
  visit_fault(with, fault);
}

template <typename Visitor, typename Of>
void visit_parameter(Visitor& with, Of& parameter) {
  with(parameter.name);
  with(parameter.value);
}
template <typename Visitor>
void visit(Visitor& with, ParameterValue& parameter) {
  visit_parameter(with, parameter);
}
template <typename Visitor>
void visit(Visitor& with, const ParameterValue& parameter) {
  visit_parameter(with, parameter);
}

template <typename Visitor, typename Of>
void visit_finding(Visitor& with, Of& finding) {
  with(finding.claim);
  with(finding.seen);
}
template <typename Visitor>
void visit(Visitor& with, Finding& finding) {
  visit_finding(with, finding);
}
template <typename Visitor>
void visit(Visitor& with, const Finding& finding) {
  visit_finding(with, finding);
}

template <typename Visitor, typename Of>
void visit_look(Visitor& with, Of& look) {
  with(look.seen);
  with(look.filled);
  with(look.waiver);
}
template <typename Visitor>
void visit(Visitor& with, Look& look) {
  visit_look(with, look);
}
template <typename Visitor>
void visit(Visitor& with, const Look& look) {
  visit_look(with, look);
}

template <typename Visitor, typename Of>
void visit_crossing(Visitor& with, Of& crossing) {
  visit_site(with, crossing.site);
  with(crossing.error);
  with(crossing.injected);
  with(crossing.waited);
  with(crossing.has_limit);
  with(crossing.may_be_cut);
  with(crossing.callers);
}
template <typename Visitor>
void visit(Visitor& with, Crossing& crossing) {
  visit_crossing(with, crossing);
}
template <typename Visitor>
void visit(Visitor& with, const Crossing& crossing) {
  visit_crossing(with, crossing);
}

template <typename Visitor, typename Of>
void visit_request(Visitor& with, Of& request) {
  with(request.scenario);
  with(request.plan.faults);
  with(request.plan.choices);
  with(request.plan.seed);
  with(request.plan.policy);
  with(request.plan.estimate);
  with(request.plan.switches);
  with(request.plan.wants_estimate);
  with(request.plan.wants_crossings);
  with(request.plan.wants_aftermath);
  with(request.plan.ambient);
  with(request.plan.wants_results);
  with(request.plan.wants_allocations);
  with(request.plan.wants_log);
  with(request.plan.parameters);
  with(request.ungated);
}

template <typename Visitor, typename Of>
void visit_outcome(Visitor& with, Of& outcome) {
  with(outcome.findings);
  with(outcome.looks);
  with(outcome.crossings);
  with(outcome.allocations);
  with(outcome.last_crossings);
  with(outcome.choices);
  with(outcome.options);
  with(outcome.switches);
  with(outcome.estimate);
  with(outcome.standard_error);
  with(outcome.reached);
  with(outcome.probes);
  with(outcome.kills);
  with(outcome.faults_fired);
  with(outcome.leftovers);
  with(outcome.permitted_leftovers);
  with(outcome.results);
  with(outcome.log);
}

template <typename Visitor, typename Of>
void visit_ungated(Visitor& with, Of& outcome) {
  with(outcome.findings);
  with(outcome.needs_gate);
  with(outcome.killed);
  with(outcome.took);
  with(outcome.standard_error);
}

}  // namespace

std::string encode_request(const RunRequest& request) {
  Put put;
  visit_request(put, request);
  return put.take();
}

std::string encode_outcome(const Outcome& outcome) {
  Put put;
  visit_outcome(put, outcome);
  return put.take();
}

std::string encode_ungated(const UngatedOutcome& outcome) {
  Put put;
  visit_ungated(put, outcome);
  return put.take();
}

RunRequest decode_request(const std::string& bytes) {
  Get get(bytes);
  RunRequest request;
  visit_request(get, request);
  return request;
}

Outcome decode_outcome(const std::string& bytes) {
  Get get(bytes);
  Outcome outcome;
  visit_outcome(get, outcome);
  return outcome;
}

UngatedOutcome decode_ungated(const std::string& bytes) {
  Get get(bytes);
  UngatedOutcome outcome;
  visit_ungated(get, outcome);
  return outcome;
}

}  // namespace lastref::harness
