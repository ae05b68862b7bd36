#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "cli/cmd.hpp"
#include "cli/offers.hpp"
#include "io/value.hpp"
#include "report/compare_report.hpp"

namespace trunkline::cli {
namespace {

struct CompareOptions {
  std::vector<std::string> results, platforms;
  std::string promise, at_least, storage, job, of = "step", seed;
  bool all = false;
};

struct Settings {
  calibrate::Store store = calibrate::Store::unsaid;
  compare::Quantity quantity = compare::Quantity::step;
  compare::Rules rules;
  double at_least = compare::kKept;
};

Result<Settings> settings_of(const CompareOptions& o) {
  Settings out;
  TRUNKLINE_ASSIGN(store, store_named(o.storage));
  out.store = store;
  const std::vector<std::string> quantities = {"step", "epoch", "job"};
  const auto quantity = std::find(quantities.begin(), quantities.end(), o.of);
  if (quantity == quantities.end())
    return usage_error(fmt::format("--of takes step, epoch or job, found \"{}\"", excerpt(o.of)), did_you_mean(o.of, quantities));
  out.quantity = compare::Quantity(quantity - quantities.begin());
  if (!o.seed.empty()) {
    const auto seed = parse_integer(o.seed);
    if (!seed || *seed < 0)
      return usage_error(fmt::format("--seed takes a whole number, found \"{}\"", excerpt(o.seed)), "for example --seed 7");
    out.rules.seed = std::uint64_t(*seed);
  }
  if (!o.at_least.empty()) {
    const auto share = parse_number(o.at_least);
    if (!share || *share <= 0 || *share > 1.5)
      return usage_error(fmt::format("--at-least takes a share such as 0.9, found \"{}\"", excerpt(o.at_least)),
                         "0.9 = 90 % of what is promised");
    out.at_least = *share;
  }
  return out;
}

// What belongs together on the command line.
Result<void> check_options(const CompareOptions& o) {
  const char* example = "for example: trunkline compare before.json after.json";
  if (o.results.empty() && o.platforms.empty()) return usage_error("compare needs results", example);
  if (o.results.size() == 1 && o.promise.empty() && o.platforms.empty())
    return usage_error("one result alone: against what?", "name a second one, or --promise PLATFORM");
  if (!o.job.empty() && o.platforms.empty())
    return usage_error("--job needs the platforms that the results were taken on", "one --platform FILE a result");
  if (!o.platforms.empty() && o.job.empty()) return usage_error("--platform needs a job to rank the platforms by", "add --job JOB");
  if (!o.results.empty() && !o.platforms.empty() && o.results.size() != o.platforms.size())
    return usage_error(fmt::format("{} results and {} platforms", o.results.size(), o.platforms.size()),
                       "one --platform FILE a result, in their order");
  if (o.promise.empty() && !o.at_least.empty()) return usage_error("--at-least belongs to --promise", "add --promise PLATFORM");
  if (o.results.empty() && !o.promise.empty())
    return usage_error("--promise needs a result to check", "trunkline compare result.json --promise platform.yaml");
  return {};
}

// The n-th platform with the result that was taken there: the n-th of the command line, or the one that its file names.
Result<compare::Offer> offer_of(const CompareOptions& o, std::size_t i, const report::Comparing& comparing, const Settings& settings) {
  TRUNKLINE_ASSIGN(platform, topology::read_platform(o.platforms[i]));
  if (i < comparing.results.size()) return compare::offer_of(platform, comparing.results[i], settings.store);
  TRUNKLINE_ASSIGN(result, measured_by(platform));
  return compare::offer_of(platform, std::move(result), settings.store);
}

Result<void> rank(const CompareOptions& o, const Settings& settings, report::Comparing& comparing) {
  TRUNKLINE_ASSIGN(job, workload::read_job(o.job));
  std::vector<compare::Offer> offers;
  for (std::size_t i = 0; i < o.platforms.size(); ++i) {
    TRUNKLINE_ASSIGN(offer, offer_of(o, i, comparing, settings));
    const bool twice =
        std::any_of(offers.begin(), offers.end(), [&](const auto& other) { return other.applied.platform.name == offer.name; });
    if (twice) offer.name += fmt::format(" ({})", i + 1);  // two results of one platform
    offers.push_back(std::move(offer));
  }
  TRUNKLINE_ASSIGN(ranking, compare::ranking_of(job, offers));
  comparing.ranking = std::move(ranking);
  for (std::size_t i = 1; i < offers.size(); ++i) {
    TRUNKLINE_ASSIGN(gap, compare::causes_of(job, offers.front(), offers[i], settings.quantity));
    comparing.gaps.push_back(std::move(gap));
  }
  return {};
}

Result<int> compare_all(const CompareOptions& o, Session& session) {
  TRUNKLINE_TRY(check_options(o));
  TRUNKLINE_ASSIGN(settings, settings_of(o));
  report::Comparing comparing;
  comparing.every_row = o.all;
  for (const auto& file : o.results) {
    TRUNKLINE_ASSIGN(result, read_runs(file));
    comparing.results.push_back(std::move(result));
  }
  bool problem = false;
  if (comparing.results.size() > 1) {
    comparing.comparison = compare::compare(comparing.results, settings.rules);
    problem = comparing.comparison->worse() || !comparing.comparison->comparable;
  }
  if (!o.promise.empty()) {
    TRUNKLINE_ASSIGN(platform, topology::read_platform(o.promise));
    const calibrate::Machine machine(platform, settings.store);
    for (const auto& result : comparing.results) {
      comparing.promises.push_back(compare::check_promise(result, machine, settings.at_least));
      problem = problem || comparing.promises.back().shortfall();
    }
  }
  if (!o.platforms.empty()) TRUNKLINE_TRY(rank(o, settings, comparing));
  TRUNKLINE_TRY(session.output.write(report::compare_document(comparing, session.context)));
  return problem ? 1 : 0;
}

}  // namespace

Command compare_command() {
  Command command;
  command.name = "compare";
  command.arguments = "RESULT RESULT… [--promise PLATFORM] [--job JOB --platform FILE…]";
  command.answers = "which of these results is better, and is the difference real";
  command.examples = {
      {"trunkline compare before.json after.json", "what differs in conditions, then a verdict a metric"},
      {"trunkline compare a1.log,a2.log,a3.log b1.log,b2.log,b3.log", "several runs of each; any of the formats below"},
      {"trunkline compare r.json --promise platform.yaml", "share of what the platform file promises"},
      {"trunkline compare a.json b.json --job job.yaml --platform a.yaml --platform b.yaml", "ranking, and what causes the gap"}};
  command.notes =
      "Results are files of trunkline measure, or what nccl-tests (text, JSON), nvbandwidth (text, JSON), fio (JSON), iperf3 (JSON), "
      "perftest and "
      "ucx_perftest print. Exit status 1: something is worse, not comparable, or falls short of its promise.";
  command.declare = [](CLI::App& app) -> Action {
    auto o = std::make_shared<CompareOptions>();
    app.add_option("RESULT", o->results, "results, the first is the reference; runs of one thing joined by commas");
    app.add_option("--promise", o->promise, "a platform file: what should be reached")->type_name("PLATFORM");
    app.add_option("--at-least", o->at_least, "share of the promise that counts as kept; default 0.9")->type_name("SHARE");
    app.add_option("--storage", o->storage, "which storage was measured, where the platform has both: volume or local_disk")
        ->type_name("WHICH");
    app.add_option("--job", o->job, "a job: ranks the platforms by its step")->type_name("JOB");
    app.add_option("-p,--platform", o->platforms, "the platform of each result, in their order; alone: with the result that it names")
        ->type_name("FILE")
        ->allow_extra_args(false);
    app.add_option("--of", o->of, "the time whose gap is explained: step (default), epoch or job")->type_name("TIME");
    app.add_option("--seed", o->seed, "of the bootstrap; default 1")->type_name("N");
    app.add_flag("--all", o->all, "show every metric, also what is the same");
    return [o](Session& session) { return compare_all(*o, session); };
  };
  return command;
}

}  // namespace trunkline::cli
