#include "validate/nccl_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "stats/summary.hpp"

namespace trunkline::validate {
namespace {

using Members = std::vector<const CollectiveRow*>;
using Question = std::tuple<std::string, std::int64_t, std::string>;  // collective, size, forced

Question question_of(const CollectiveRow& row) { return {row.collective, row.size.count(), row.forced}; }

// Slowest over fastest, for every size that was measured more than once.
std::vector<double> repeats(const Members& members) {
  std::map<Question, std::vector<double>> times;
  for (const CollectiveRow* row : members) times[question_of(*row)].push_back(row->measured_s);
  std::vector<double> ratios;
  for (const auto& [question, values] : times) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (values.size() > 1) ratios.push_back(*high / *low);
  }
  return ratios;
}

class Evidence {
 public:
  Evidence(const std::vector<CollectiveRow>& rows, const std::string& system) {
    for (const auto& row : rows) {
      if (!row.judged) continue;
      (row.system == system ? own_ : others_[row.system]).push_back(&row);
    }
  }

  std::vector<std::string> read() {
    if (own_.empty()) return {};
    say_repeats();
    say_rate();
    say_algorithm();
    say_siblings();
    say_words();
    return std::move(out_);
  }

 private:
  void say_repeats() {
    const auto mine = repeats(own_);
    std::vector<double> medians;
    for (const auto& [name, members] : others_) {
      const auto ratios = repeats(members);
      if (!ratios.empty()) medians.push_back(stats::median(ratios));
    }
    if (mine.empty() || *std::max_element(mine.begin(), mine.end()) < 1.5) return;
    std::string text = fmt::format("the same size measured twice differs by a factor of up to {} (median {}",  //
                                   significant(*std::max_element(mine.begin(), mine.end())), significant(stats::median(mine)));
    if (!medians.empty()) text += fmt::format("; median of other systems {}", significant(stats::median(medians)));
    out_.push_back(text + ")");
  }

  void say_rate() {
    const CollectiveRow& largest =
        **std::max_element(own_.begin(), own_.end(), [](const auto* a, const auto* b) { return a->size < b->size; });
    const CollectiveCase& q = *largest.question;
    const double moved = double(largest.size.count()) * collectives::bus_factor(q.collective, q.domain.ranks());
    std::string text =
        fmt::format("{} of {}: bus bandwidth measured {}, predicted {} ({})", largest.collective, to_text(largest.size),
                    to_text(byte_per_s(moved / largest.measured_s)), to_text(byte_per_s(moved / largest.predicted_s)), largest.chosen);
    if (q.domain.nodes > 1) {
      text += fmt::format("; a node's NICs carry {}, of which a ring would use {:.0f} %", to_text(q.domain.network),
                          100 * moved / largest.measured_s / q.domain.network.si());
    }
    out_.push_back(std::move(text));
  }

  // Median |error| of the rows from 1 MiB on, had NCCL been told to take this algorithm.
  double error_with(collectives::Algorithm algorithm) const {
    std::vector<double> errors;
    for (const CollectiveRow* row : own_) {
      if (row->size < mib(1) || row->question->options.algorithm) continue;
      CollectiveCase q = *row->question;
      q.options.algorithm = algorithm;
      const double predicted = std::max(time_of(q.domain, q.collective, q.size, q.options).time.si(), q.floor_s);
      errors.push_back(std::abs(predicted / row->measured_s - 1));
    }
    return errors.empty() ? 1 : stats::median(errors);
  }

  void say_algorithm() {
    std::vector<double> now;
    for (const CollectiveRow* row : own_) {
      if (row->size >= mib(1)) now.push_back(std::abs(row->error));
    }
    if (now.empty()) return;
    for (const auto algorithm : {collectives::Algorithm::ring, collectives::Algorithm::tree}) {
      const double error = error_with(algorithm);
      if (error < std::min(0.1, 0.5 * stats::median(now))) {
        out_.push_back(
            fmt::format("with {} instead of what the model chooses the median error would be {} %: these rows look as if NCCL took it",
                        collectives::name_of(algorithm), significant(100 * error)));
      }
    }
  }

  // Systems of the same GPUs, number and nodes, at the same questions.
  void say_siblings() {
    for (const auto& [name, members] : others_) {
      const CollectiveRow &mine = *own_.front(), &theirs = *members.front();
      if (mine.gpu != theirs.gpu || mine.gpus != theirs.gpus || mine.nodes != theirs.nodes) continue;
      std::map<Question, double> times;
      for (const CollectiveRow* row : members) times[question_of(*row)] = row->measured_s;
      std::vector<double> ratios;
      for (const CollectiveRow* row : own_) {
        const auto same = times.find(question_of(*row));
        if (same != times.end() && row->size >= mib(1)) ratios.push_back(row->measured_s / same->second);
      }
      if (ratios.empty()) continue;
      const double ratio = stats::median(ratios);
      if (std::max(ratio, 1 / ratio) < 1.2) continue;
      out_.push_back(fmt::format("{}, the same GPUs, took {} times as long for the same sizes", name, significant(1 / ratio)));
    }
  }

  void say_words() {
    std::string words;
    for (const std::string& text : {own_.front()->network, own_.front()->notes}) {
      if (!text.empty()) words += (words.empty() ? "" : "; ") + excerpt(text, 160);
    }
    if (!words.empty()) out_.push_back("its rows say: " + words);
  }

  Members own_;
  std::map<std::string, Members> others_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> evidence_of(const std::vector<CollectiveRow>& rows, const std::string& system) {
  return Evidence(rows, system).read();
}

}  // namespace trunkline::validate
