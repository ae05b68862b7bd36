// Results from whatever file they come in: our own, or the output of a tool that people already use. The format is known from the content.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "measure/result.hpp"

namespace trunkline::explain::readers {

struct Reader {
  const char* name;   // "nccl-tests"
  const char* shows;  // one line, for help
  bool (*recognises)(std::string_view text);
  Result<measure::Measurement> (*read)(std::string_view text, const std::string& file);
};

std::span<const Reader> all_readers();

// The first reader that recognises the text, or nullptr.
const Reader* reader_for(std::string_view text);

// Errors: unreadable, no known format (with the list of those that are), or what the format's reader says, with file and line.
Result<measure::Measurement> result_from(std::string_view text, const std::string& file);
Result<measure::Measurement> read_result(const std::string& path);

}  // namespace trunkline::explain::readers
