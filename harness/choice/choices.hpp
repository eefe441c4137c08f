// Choices: every nondeterministic decision is a question to this class, so a run is a list of
// answers.
//
// The list can be printed, replayed and shrunk. Answer 0 always means "the usual": the same thread
// continues, the whole buffer is transferred. So the empty list, and every prefix of a list, is a
// run too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/choice/footprint.hpp"
#include "harness/choice/schedule_policy.hpp"
#include "harness/choice/switches.hpp"

namespace lastref::harness {

/// The cost of an answer other than 0; exhaustive enumeration has a budget for it.
enum class Cost : std::uint8_t { free, preemption };

/// A question: its answer is below `options`, which is at least 1.
struct Question {
  std::uint32_t options = 1;
  Cost cost = Cost::free;
  /// Bit n: answer n may have results that no other has. For exhaustive enumeration only, and only
  /// for the first 64; 0 is always tried.
  std::uint64_t worthwhile = ~std::uint64_t{0};
  /// The actor of each answer, if the question is which one continues; otherwise empty.
  std::span<const ReadyActor> ready = {};
  /// A hash of the state that the run has come to, apart from answers; 0: not known.
  std::uint64_t state = 0;
  /// No step of another actor can matter before the next step of the running one, whatever other
  /// actors have done before.
  bool is_private = false;
};

class Choices {
 public:
  Choices() = default;
  Choices(const Choices&) = delete;
  Choices& operator=(const Choices&) = delete;
  virtual ~Choices() = default;

  /// The answer. A question with one option is not recorded.
  std::uint32_t pick(const Question& question) noexcept;
  std::uint32_t pick(std::uint32_t options) noexcept { return pick(Question{.options = options}); }

  /// All answers since the last `begin`, and the number of options of each.
  const std::vector<std::uint32_t>& answers() const noexcept { return answers_; }
  const std::vector<std::uint32_t>& options() const noexcept { return options_; }
  /// The answers other than 0.
  const Switches& switches() const noexcept { return switches_; }
  /// All questions about actors, if they are kept.
  const std::vector<Turn>& turns() const noexcept { return turns_; }
  /// From the next `begin` on.
  void keep_turns() noexcept { keeps_turns_ = true; }

  /// Clears the record: a new run begins. Releases `hold`.
  void begin() noexcept;
  /// A fault was injected.
  virtual void fault_struck() noexcept {}
  /// Whether the run is to end here, as other runs show all that it can still show.
  virtual bool is_redundant() const noexcept { return false; }
  /// The running actor has made a step with these accesses since the last question about actors.
  virtual void step_made(std::span<const ObjectAccess>) noexcept {}
  /// While held, every question is answered 0, and recorded like others.
  void hold(bool held) noexcept { held_ = held; }
  /// The last questions, of which the last `recorded` are recorded and the others have one option,
  /// will be asked again, and get the same answers.
  void expect_again(std::size_t questions, std::size_t recorded) noexcept;

 protected:
  virtual std::uint32_t answer(const Question& question) noexcept = 0;
  /// The place of the question in the run: a switch without its answer.
  Switch place_of(const Question& question) const noexcept;
  /// The running actor, and how often it was chosen.
  Switch place_of_actor() const noexcept;
  /// A question with one option.
  virtual void only_one(const Question&) noexcept {}
  virtual void begun() noexcept {}
  bool is_held() const noexcept { return held_; }

 private:
  void count(const Question& question, std::uint32_t picked);

  std::vector<std::uint32_t> answers_;
  std::vector<std::uint32_t> options_;
  Switches switches_;
  bool keeps_turns_ = false;
  std::vector<Turn> turns_;
  std::uint32_t running_ = 0;            ///< The actor that was chosen last
  std::vector<std::uint32_t> steps_of_;  ///< How often each actor was chosen
  std::uint32_t other_questions_ = 0;
  bool held_ = false;
  std::size_t again_ = 0;           ///< Questions that are asked again
  std::size_t recorded_again_ = 0;  ///< Those of them that are recorded
};

/// Answers from a list; after its end at random if there is a seed, else 0. An answer that is out
/// of range counts as the highest, so a list remains a run when the code changes.
class ListedChoices final : public Choices {
 public:
  explicit ListedChoices(std::vector<std::uint32_t> list,
                         std::optional<std::uint64_t> seed = std::nullopt)
      : list_(std::move(list)), seed_(seed), state_(seed.value_or(0)) {}

 private:
  std::uint32_t answer(const Question& question) noexcept override;
  void begun() noexcept override;

  std::vector<std::uint32_t> list_;
  std::optional<std::uint64_t> seed_;
  std::uint64_t state_;
  std::size_t asked_ = 0;
};

/// Lets a policy choose the actors, and answers all other questions at random, mostly with 0.
class PolicyChoices final : public Choices {
 public:
  PolicyChoices(PolicyName name, std::uint64_t seed, RunEstimate estimate)
      : name_(name), seed_(seed), estimate_(std::move(estimate)) {}

  void fault_struck() noexcept override;

 private:
  std::uint32_t answer(const Question& question) noexcept override;
  void only_one(const Question& question) noexcept override;
  void begun() noexcept override;

  PolicyName name_;
  std::uint64_t seed_;
  RunEstimate estimate_;
  std::unique_ptr<SchedulePolicy> policy_;
  std::uint64_t chance_ = 0;
};

/// Makes these switches where it can, and gives the usual answers elsewhere.
class SwitchChoices final : public Choices {
 public:
  explicit SwitchChoices(Switches switches) : wanted_(std::move(switches)) {}

 private:
  std::uint32_t answer(const Question& question) noexcept override;
  void only_one(const Question& question) noexcept override { note_pause(question); }
  void begun() noexcept override { paused_.clear(); }
  void note_pause(const Question& question) noexcept;
  const Switch* wanted_at(const Switch& place) const noexcept;

  Switches wanted_;
  std::vector<std::uint32_t> paused_;
};

struct ExhaustiveBounds {
  std::uint32_t preemptions = ~0U;         ///< Maximum number of answers other than 0 with
                                           ///< Cost::preemption,
  std::uint32_t deviations = ~0U;          ///< and of answers other than 0 at all.
  std::vector<std::uint32_t> prefix = {};  ///< Fixed first answers: one shard of the whole.
  /// Whether a run that comes to a known state is cut off: from there all answers within the bounds
  /// were tried, at no more cost until then.
  bool reduces = false;
};

/// Depth-first over all answers within bounds. After each run `advance` returns whether another is
/// left.
///
/// For example, two questions with two options each give 00, 01, 10, 11.
class ExhaustiveChoices final : public Choices {
 public:
  explicit ExhaustiveChoices(ExhaustiveBounds bounds = {}) : bounds_(std::move(bounds)) {}

  /// Proceeds to the next run. False when all are done.
  bool advance() noexcept;
  /// False once a run asked other questions than an earlier run with the same answers.
  bool deterministic() const noexcept { return deterministic_; }
  /// The number of runs that were cut off because they came to a known state.
  std::uint64_t cut_off() const noexcept { return cut_off_; }
  bool is_redundant() const noexcept override { return is_redundant_; }

 private:
  struct Frame {
    std::uint32_t answer = 0;
    std::uint32_t options = 1;     ///< The number of options
    std::uint64_t worthwhile = 0;  ///< Answers to try
  };

  /// What a run has spent of the bounds.
  struct Spent {
    std::uint32_t preemptions = 0;
    std::uint32_t deviations = 0;
  };

  std::uint32_t answer(const Question& question) noexcept override;
  void only_one(const Question& question) noexcept override;
  void begun() noexcept override;
  void note_answer(const Question& question, std::uint32_t picked) noexcept;
  bool is_known(const Question& question);

  ExhaustiveBounds bounds_;
  std::vector<Frame> frames_;
  std::size_t depth_ = 0;
  Spent spent_;
  bool deterministic_ = true;

  /// By a hash of the state: what the runs that came to it had spent, none less than another.
  std::unordered_map<std::uint64_t, std::vector<Spent>> known_;
  bool is_redundant_ = false;  ///< The run has come to a known state.
  std::uint64_t cut_off_ = 0;
  std::uint64_t others_ = 0;          ///< Of the answers to questions that are not about actors
  std::uint32_t others_in_step_ = 0;  ///< Such questions since the last one about actors
};

/// The next of a fixed sequence of well-mixed numbers (splitmix64, Steele et al. 2014).
std::uint64_t next_random(std::uint64_t& state) noexcept;

/// A random answer, below `options`. With `mostly_stays` it is mostly 0: rare changes find more
/// than constant ones.
std::uint32_t random_answer(std::uint64_t& state,
                            std::uint32_t options,
                            bool mostly_stays) noexcept;

/// The answer to a question: the given one, or the highest if that is out of range; else a random
/// one if `chance` is given; else 0.
std::uint32_t answer_of(std::optional<std::uint32_t> given,
                        std::uint64_t* chance,
                        std::uint32_t options,
                        bool mostly_stays) noexcept;

/// "2.1.+44.1", and back: each answer, or how many usual ones, which are zeros, follow each other.
/// Those at the end are omitted. None for another text, and for one of more than a million answers.
std::string to_text(std::span<const std::uint32_t> answers);
std::optional<std::vector<std::uint32_t>> parse_choices(std::string_view text);

}  // namespace lastref::harness
