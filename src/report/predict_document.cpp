#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "report/assumed.hpp"
#include "report/predict_rows.hpp"

namespace trunkline::report {

using predict::Prediction;

namespace {

constexpr std::size_t kSuggestions = 3;

// 6.74e9 → "6.74 B parameters".
std::string parameters_words(double count) {
  return count >= 1e9 ? significant(count * 1e-9) + " B parameters" : significant(count * 1e-6) + " M parameters";
}

std::string job_words(const workload::Job& job) {
  std::string out =
      fmt::format("{} ({}), {} training with {} in {}, {} samples a step", job.model.name, parameters_words(job.model.parameters()),
                  workload::name_of(job.kind), workload::name_of(job.framework), catalog::name_of(job.precision.compute), job.batch.global);
  if (job.batch.sequence > 0) out += fmt::format(" of {} tokens", job.batch.sequence);
  return out;
}

// GPU memory is counted in GiB, as its makers do when they say "80 GB".
std::string gib_text(Bytes bytes) { return significant(as_gib(bytes)) + " GiB"; }

std::string misfit_words(const PredictionEntry& entry) {
  const auto& m = entry.prediction->memory;
  std::string out =
      fmt::format("{}: does not fit, a GPU lacks {} (figures in brackets: if it did).", entry.platform, gib_text(m.per_gpu - m.capacity));
  std::vector<std::string> changes;
  for (const auto& s : m.suggestions) {
    if (s.fits && changes.size() < kSuggestions)
      changes.push_back(
          fmt::format("{} ({}{})", s.change, gib_text(s.bytes), s.gpus != entry.prediction->gpus ? fmt::format(", {} GPUs", s.gpus) : ""));
  }
  if (changes.empty()) return out + " No single change would make it fit.";
  return out + " It would fit with: " + join(changes, "; ") + ".";
}

// "staging not modelled (no ingest line given)".
std::string not_modelled_words(const PredictionEntry& entry) {
  std::vector<std::string> parts;
  for (const auto& [part, why] : entry.prediction->not_modelled) parts.push_back(fmt::format("{} not modelled, {}", part, why));
  return fmt::format("{}: {}: taken as free.", entry.platform, join(parts, "; "));
}

// The job in words where all predictions are of the same one; a sweep may change it.
std::string common_words(const PredictionSet& set) {
  std::string common;
  for (const auto& entry : set.entries) {
    if (!entry.prediction) continue;
    const std::string words = job_words(entry.prediction->job);
    if (!common.empty() && words != common) return {};
    common = words;
  }
  return common;
}

std::string name_of(const PredictionEntry& entry) {
  std::string out = entry.platform;
  for (const auto& [key, value] : entry.swept) out += fmt::format(", {} {}", key, value);
  return out;
}

struct Assumed {
  Assumptions everywhere;
  std::vector<std::string> single;  // keys that only some predictions, or each differently, had to assume
};

Assumed assumed_of(const PredictionSet& set) {
  std::vector<const Prediction*> predictions;
  for (const auto& entry : set.entries) {
    if (entry.prediction) predictions.push_back(&*entry.prediction);
  }
  Assumed out;
  for (const Prediction* p : predictions) {
    for (const auto& pair : p->assumed) {
      const bool everywhere = std::all_of(predictions.begin(), predictions.end(), [&](const Prediction* other) {
        return std::find(other->assumed.begin(), other->assumed.end(), pair) != other->assumed.end();
      });
      if (everywhere && p == predictions.front()) out.everywhere.push_back(pair);
      if (!everywhere && std::find(out.single.begin(), out.single.end(), pair.first) == out.single.end()) out.single.push_back(pair.first);
    }
  }
  return out;
}

void add_assumed(const PredictionSet& set, Document& document) {
  const Assumed assumed = assumed_of(set);
  if (!assumed.everywhere.empty()) document.blocks.emplace_back(assumed_list(assumed.everywhere, "assumed, as the files do not say"));
  if (assumed.single.empty()) return;
  document.blocks.emplace_back(
      Paragraph{"assumed differently from one to the next (values: --json): " + join(assumed.single, ", "), Tone::dim, 2});
}

}  // namespace

Document predictions_document(const PredictionSet& set, const Context& context) {
  Document document;
  if (const std::string words = common_words(set); !words.empty()) document.heading(words);
  document.blocks.emplace_back(set.swept() ? sweep_table(set) : comparison_table(set));
  for (const auto& entry : set.entries) {
    if (!entry.prediction)
      document.blocks.emplace_back(Paragraph{name_of(entry) + ": " + entry.error.text(), Tone::bad, 2});
    else if (!set.swept() && !entry.prediction->memory.fits)
      document.blocks.emplace_back(Paragraph{misfit_words(entry), Tone::bad, 2});
    if (entry.prediction && !set.swept() && !entry.prediction->not_modelled.empty())
      document.blocks.emplace_back(Paragraph{not_modelled_words(entry), Tone::bad, 2});
  }
  add_assumed(set, document);
  document.data = prediction_data(set);
  document.json = predictions_json(set, context);
  return document;
}

}  // namespace trunkline::report
