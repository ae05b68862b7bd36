// Every value that can be calibrated: its place in the file, its form, where a platform keeps it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "calibrate/calibration.hpp"

namespace trunkline::calibrate {

enum class Form { share, bandwidth, per_second, power };

// What a platform must have in common with the one that was measured.
enum class Needs { same_gpu, same_nic, volume, local_disk, ingest };

struct ValueKind {
  std::string key;
  Form form = Form::share;
  Needs needs = Needs::same_gpu;
  std::string doc;
  std::function<double(const Applied&)> get;
  std::function<void(Applied&, double)> put;
};

std::span<const ValueKind> value_kinds();
const ValueKind* kind_of(std::string_view key);

// Whether the platform has what the value belongs to (a volume, cards, links).
bool has_place(const topology::Platform& platform, const ValueKind& kind);

// "0.803241", "55.2 GB/s": six digits.
std::string file_text(const ValueKind& kind, double value);
std::string shown_text(const ValueKind& kind, double value);  // three digits

}  // namespace trunkline::calibrate
