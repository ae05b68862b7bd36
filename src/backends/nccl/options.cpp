#include "backends/nccl/options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace trunkline::backends::nccl {
namespace {

using measure::OptionKind;

constexpr std::size_t kMostSizes = 200;

tl::unexpected<Error> usage(std::string message, std::string hint) {
  return fail({ErrorKind::usage, std::move(message), {}, std::move(hint)});
}

}  // namespace

std::vector<measure::Option> options() {
  return {
      {"-b,--minbytes", OptionKind::text, "SIZE", "of collective: smallest size (8, 32M, 1 MiB); default 1 KiB"},
      {"-e,--maxbytes", OptionKind::text, "SIZE", "of collective: largest size; default 1 GiB"},
      {"-f,--stepfactor", OptionKind::number, "N", "of collective: each size is so many times the one before; default 4", {}, 1.01},
      {"-i,--stepbytes", OptionKind::text, "SIZE", "of collective: each size is so many bytes more than the one before"},
      {"-g,--ngpus", OptionKind::integer, "N", "of collective: so many GPUs; default: all", {}, 2},
      {"-n,--iters", OptionKind::integer, "N", "of collective: so many in a row for each sample; default 20", {}, 1},
      {"-w,--warmup_iters", OptionKind::integer, "N", "of collective: so many before the first sample; default 5", {}, 0},
      {"-c,--check", OptionKind::integer, "0|1", "of collective: check the results; default 1", {}, 0},
      {"--op", OptionKind::text, "OP", "of collective: of those that reduce, sum (default), max, min", {"sum", "max", "min"}},
      {"--datatype",
       OptionKind::text,
       "TYPE",
       "of collective: float (default), half, bfloat16, double, int32, int8",
       {"float", "half", "bfloat16", "double", "int32", "int8"}},
      {"--root", OptionKind::integer, "RANK", "of collective: broadcast from or reduce to this rank; default 0", {}, 0},
  };
}

Result<Bytes> size_from(const std::string& text, const std::string& option) {
  std::string number(trim(text));
  std::int64_t unit = 1;
  if (!number.empty()) {
    const char last = number.back();
    const char* found = std::find(std::begin("KMG"), std::end("KMG") - 1, last);
    if (found != std::end("KMG") - 1) {
      unit = std::int64_t(1) << (10 * (found - std::begin("KMG") + 1));
      number.pop_back();
    }
  }
  if (const auto count = parse_integer(number); count && *count > 0 && *count <= (std::int64_t(1) << 50) / unit)
    return Bytes(*count * unit);
  const auto size = parse_bytes(text);
  if (size && size->count() > 0) return *size;
  return usage(fmt::format("--{}: \"{}\" is no size", option, excerpt(text)),
               "for example 8, 32M, 1G (binary, as nccl-tests) or \"1 MiB\"");
}

Result<std::vector<Bytes>> sizes_from(const measure::Settings& settings) {
  const bool chosen = settings.has("minbytes") || settings.has("maxbytes") || settings.has("stepfactor") || settings.has("stepbytes");
  if (settings.quick && !chosen) return std::vector{kib(64), mib(1), mib(16), mib(256)};
  TRUNKLINE_ASSIGN(least, size_from(settings.text("minbytes").value_or("1K"), "minbytes"));
  TRUNKLINE_ASSIGN(most, size_from(settings.text("maxbytes").value_or("1G"), "maxbytes"));
  if (most < least) return usage("--maxbytes is less than --minbytes", "swap them");
  if (settings.has("stepfactor") && settings.has("stepbytes"))
    return usage("--stepfactor and --stepbytes exclude each other", "leave one of them out");
  Bytes step;
  if (settings.has("stepbytes")) {
    TRUNKLINE_ASSIGN(given, size_from(*settings.text("stepbytes"), "stepbytes"));
    step = given;
  }
  const double factor = settings.number("stepfactor").value_or(4);
  std::vector<Bytes> out;
  for (Bytes size = least; size <= most; size = step.count() > 0 ? size + step : std::max(size + Bytes(1), scaled(size, factor))) {
    out.push_back(size);
    if (out.size() > kMostSizes)
      return usage(fmt::format("more than {} sizes between --minbytes and --maxbytes", kMostSizes), "take larger steps: -f 2");
  }
  return out;
}

}  // namespace trunkline::backends::nccl
