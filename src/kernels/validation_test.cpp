// The kernel models against what was measured on an H200 and what others published; docs/kernels.md has the tables, which
// `test_kernels --gtest_filter='Validation.*'` prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity_text.hpp"
#include "catalog/catalog.hpp"
#include "io/csv.hpp"
#include "kernels/kernels.hpp"

using namespace trunkline;
using namespace trunkline::kernels;
using catalog::Precision;

namespace {

class Table {
 public:
  explicit Table(const std::string& name) : csv_(*io::CsvTable::read(std::string(TRUNKLINE_SOURCE_DIR) + "/data/calibration/" + name)) {}
  const std::vector<io::CsvRow>& rows() const { return csv_.rows(); }
  const std::string& text(const io::CsvRow& row, const char* column) const { return csv_.cell(row, column); }
  double number(const io::CsvRow& row, const char* column) const {
    const auto value = parse_number(text(row, column));
    EXPECT_TRUE(value) << csv_.file() << ":" << row.line << " " << column;
    return value.value_or(0);
  }

 private:
  io::CsvTable csv_;
};

Precision precision_named(const std::string& name) {
  for (std::size_t p = 0; p < kPrecisions; ++p) {
    if (name_of(Precision(p)) == name) return Precision(p);
  }
  ADD_FAILURE() << name;
  return Precision::bf16;
}

const catalog::Gpu& gpu(const std::string& id) { return **catalog::Catalog::builtin().gpu(id); }

// Errors (predicted − measured)/measured time, by what they belong to.
class Errors {
 public:
  void add(const std::string& of, double predicted_s, double measured_s) { by_[of].push_back(predicted_s / measured_s - 1); }
  double median(const std::string& of) const { return quantile(of, 0.5); }
  double quantile(const std::string& of, double q) const {
    std::vector<double> sizes;
    for (double e : by_.at(of)) sizes.push_back(std::abs(e));
    std::sort(sizes.begin(), sizes.end());
    return sizes[std::min(sizes.size() - 1, std::size_t(q * double(sizes.size())))];
  }
  void print(const char* title) const {
    std::printf("%s\n| what | n | median error | 90th percentile | mean signed |\n|---|---|---|---|---|\n", title);
    for (const auto& [of, errors] : by_) {
      double sum = 0;
      for (double e : errors) sum += e;
      std::printf("| %s | %zu | %.1f %% | %.1f %% | %+.1f %% |\n", of.c_str(), errors.size(), 100 * median(of), 100 * quantile(of, 0.9),
                  100 * sum / double(errors.size()));
    }
  }
  const std::map<std::string, std::vector<double>>& all() const { return by_; }

 private:
  std::map<std::string, std::vector<double>> by_;
};

// The loops that measured the H200 table warmed the chip themselves: a kernel of t seconds, repeated 8–200 times, left
// the burst rate for the power limit's the more the longer it took (half-way at 150 µs, found with the fit).
double within_its_loop(double burst_s, double sustained) {
  constexpr double kHalfWay = 150e-6;
  return burst_s / (sustained + (1 - sustained) / (1 + burst_s / kHalfWay));
}

const char* kH200 = "h200-sxm";

}  // namespace

TEST(Validation, GemmOnH200) {
  const Table table("h200_kernels.csv");
  const Kernels kernels(gpu(kH200));
  Errors errors;
  int index = 0;
  for (const auto& row : table.rows()) {
    if (table.text(row, "kind") != "gemm") continue;
    const std::string type = table.text(row, "dtype"), layout = table.text(row, "direction");
    const double measured = table.number(row, "median_us") * 1e-6;
    // Below this the row shows the launch, not the kernel (the other precisions went through slower front ends).
    if (measured < (type == "bf16" ? 40e-6 : 100e-6)) continue;
    const Precision precision = precision_named(type);
    const Gemm shape{
        table.number(row, "m"), table.number(row, "n"), table.number(row, "k"), 1, precision, type == "fp32" || type == "tf32" ? 4 : 2};
    const double burst = kernels.gemm(shape).si();
    std::string of = "gemm " + type;
    if (type == "bf16") {
      of += layout != "NN" ? " " + layout : index++ % 2 ? ", half not fitted on" : ", half fitted on";
      if (layout == "NN") errors.add("gemm bf16, as if always burst", burst, measured);
    }
    errors.add(of, within_its_loop(burst, kernels.sustained(precision)), measured);
  }
  errors.print("H200, GEMM");
  EXPECT_LE(errors.median("gemm bf16, half not fitted on"), 0.05);
  EXPECT_LE(errors.quantile("gemm bf16, half not fitted on", 0.9), 0.12);
  for (const char* of : {"gemm fp16", "gemm fp32", "gemm tf32", "gemm fp8"}) EXPECT_LE(errors.median(of), 0.13) << of;
}

TEST(Validation, SustainedRateOnH200) {
  // 20 s of bf16 8192³ without a pause: 662.6 TFLOP/s at 684–690 W of 700 W.
  const Kernels kernels(gpu(kH200));
  const double rate = 2 * std::pow(8192.0, 3) / kernels.gemm({8192, 8192, 8192}).si();
  EXPECT_NEAR(rate * kernels.sustained(Precision::bf16) / 662.6e12, 1, 0.03);
  EXPECT_NEAR(rate / 789e12, 1, 0.07);  // its burst
}

TEST(Validation, AttentionOnH200) {
  const Table table("h200_kernels.csv");
  const Kernels kernels(gpu(kH200));
  Errors errors;
  for (const auto& row : table.rows()) {
    const std::string kind = table.text(row, "kind"), direction = table.text(row, "direction");
    const double measured = table.text(row, "median_us").empty() ? 0 : table.number(row, "median_us") * 1e-6;
    if (!kind.starts_with("attention") || measured < 40e-6) continue;
    const double length = table.number(row, "seq");
    const Attention shape{table.number(row, "batch"),    table.number(row, "heads"), table.number(row, "kv_heads"), length, length,
                          table.number(row, "head_dim"), kind == "attention_causal", AttentionKind::flash3};
    const bool forward = direction == "forward";
    const double burst = (forward ? kernels.attention_forward(shape) : kernels.attention_backward(shape)).si();
    // Calls beyond some milliseconds ran at the power limit, as the long GEMMs did.
    const double most =
        kernels.sustained(Precision::bf16) * Efficiencies::default_for(gpu(kH200)).flash3_forward.share * gpu(kH200).bf16.si();
    const double work = (forward ? 4 : 10) * shape.batch * shape.heads * length * length * shape.head_dim * (shape.causal ? 0.5 : 1);
    const double predicted = measured > 4e-3 ? std::max(burst, work / most) : burst;
    errors.add("attention " + direction + (shape.causal ? " causal" : "") + ", head size " + table.text(row, "head_dim"), predicted,
               measured);
    errors.add("attention, all", predicted, measured);
  }
  errors.print("H200, attention");
  EXPECT_LE(errors.median("attention, all"), 0.05);
  for (const auto& [of, unused] : errors.all()) EXPECT_LE(errors.median(of), 0.08) << of;
}

namespace {

struct Traffic {
  double bytes;
  MemoryKind kind;
};

// What a kernel of the table really moves; the table's own bytes leave out masks and further passes.
std::optional<Traffic> traffic_of(const std::string& kind, bool forward, double elements, double printed_bytes) {
  if (kind == "rms_norm" || kind == "layer_norm")
    return Traffic{printed_bytes, forward ? MemoryKind::norm_forward : MemoryKind::norm_backward};
  if (kind == "gelu") return Traffic{printed_bytes, forward ? MemoryKind::math : MemoryKind::elementwise};
  if (kind == "silu") return Traffic{printed_bytes, MemoryKind::elementwise};
  if (kind == "add") return Traffic{forward ? printed_bytes : 4 * elements, MemoryKind::elementwise};         // backward writes two copies
  if (kind == "dropout") return Traffic{5 * elements, forward ? MemoryKind::math : MemoryKind::elementwise};  // and a mask of a byte
  if (kind == "cross_entropy") return Traffic{(forward ? 3 : 2) * printed_bytes, MemoryKind::cross_entropy};  // log-softmax, then the loss
  if (kind == "adamw_fused") return Traffic{printed_bytes, MemoryKind::optimizer};
  if (kind == "copy_d2d") return Traffic{printed_bytes, MemoryKind::copy};
  return std::nullopt;
}

}  // namespace

TEST(Validation, MemoryBoundOnH200) {
  const Table table("h200_kernels.csv");
  const Kernels kernels(gpu(kH200));
  Errors errors;
  for (const auto& row : table.rows()) {
    const std::string kind = table.text(row, "kind");
    if (table.text(row, "gbytes_per_s").empty() || kind == "gemm") continue;
    const bool forward = table.text(row, "direction") != "backward";
    const double measured = table.number(row, "median_us") * 1e-6;
    const double elements = table.text(row, "elements").empty() ? 0 : table.number(row, "elements");
    const auto traffic = traffic_of(kind, forward, elements, table.number(row, "gbytes_per_s") * 1e9 * measured);
    // Backward calls and optimizers show up to 130 µs of launches; dropout, which launches two kernels, 45 µs.
    const double least = !forward || kind == "adamw_fused" ? 150e-6 : kind == "dropout" ? 60e-6 : 40e-6;
    if (!traffic || measured < least) continue;
    const double predicted = kernels.memory_bound(traffic->bytes, traffic->kind).si();
    errors.add(kind + (forward ? "" : " backward"), predicted, measured);
    errors.add("memory bound, all", predicted, measured);
  }
  errors.print("H200, memory bound");
  EXPECT_LE(errors.median("memory bound, all"), 0.08);
  EXPECT_LE(errors.quantile("memory bound, all", 0.9), 0.25);
}

TEST(Validation, PublishedGemm) {
  const Table table("published_gemm.csv");
  Errors errors;
  for (const auto& row : table.rows()) {
    const std::string id = table.text(row, "gpu"), state = table.text(row, "state");
    const Kernels kernels(gpu(id));
    const Precision precision = precision_named(table.text(row, "precision"));
    const Gemm shape{table.number(row, "m"), table.number(row, "n"), table.number(row, "k"), table.number(row, "batch"), precision, 2};
    // A short loop leaves a module at its boost clock; a PCIe card is at its limit within milliseconds.
    const bool limited = state == "sustained" || (state == "loop" && gpu(id).form == "PCIe");
    const double predicted = kernels.gemm(shape).si() / (limited ? kernels.sustained(precision) : 1);
    const double measured = 2 * shape.m * shape.n * shape.k * shape.batch / (table.number(row, "tflops") * 1e12);
    errors.add(id, predicted, measured);
    errors.add("all", predicted, measured);
  }
  errors.print("Published GEMM rates");
  EXPECT_LE(errors.median("all"), 0.06);
  for (const auto& [id, unused] : errors.all()) {
    if (id == "l4") continue;  // docs/kernels.md says why
    EXPECT_LE(errors.median(id), 0.17) << id;
  }
  for (const char* id :
       {"a100-sxm-80", "h100-sxm", "h200-sxm", "h20", "h100-pcie", "rtx4090", "rtx5090", "l40s", "a6000", "mi300x", "gb200"}) {
    EXPECT_LE(errors.median(id), 0.10) << id;
  }
}

TEST(Validation, PublishedAttention) {
  const Table table("published_attention.csv");
  Errors errors;
  for (const auto& row : table.rows()) {
    const std::string id = table.text(row, "gpu"), kind = table.text(row, "kind"), direction = table.text(row, "direction");
    const double length = table.number(row, "sequence"), heads = table.number(row, "heads");
    Attention shape{table.number(row, "batch"),     heads, heads, length, length, table.number(row, "head_dim"),
                    table.number(row, "causal") > 0};
    shape.kind = kind == "flash2" ? AttentionKind::flash2 : kind == "flash3" ? AttentionKind::flash3 : AttentionKind::unfused;
    const bool forward = direction == "forward";
    const Kernels kernels(gpu(id));
    const double predicted = (forward ? kernels.attention_forward(shape) : kernels.attention_backward(shape)).si();
    const double work = (forward ? 4 : 10) * shape.batch * heads * length * length * shape.head_dim * (shape.causal ? 0.5 : 1);
    errors.add(id + " " + kind + " " + direction, predicted, work / (table.number(row, "tflops") * 1e12));
    errors.add("all", predicted, work / (table.number(row, "tflops") * 1e12));
  }
  errors.print("Published attention rates");
  EXPECT_LE(errors.median("all"), 0.08);
  for (const char* of : {"h100-sxm flash2 forward", "h100-sxm flash2 backward", "h100-sxm flash3 forward", "h100-sxm flash3 backward"}) {
    EXPECT_LE(errors.median(of), 0.08) << of;
  }
  EXPECT_LE(errors.median("h100-sxm unfused forward"), 0.25);
}
