// Which files a command line names, and that none of those it reads is written by the same command.
#pragma once

#include <string>

#include "base/result.hpp"

namespace CLI {
class App;
}

namespace trunkline::cli {

// The group of options that name a file to write: `app.add_option("--timeline", …)->group(kWritten)`.
inline const std::string kWritten = "files written";

// Before the work: no option is empty or given twice, and what is written is neither an input (by whatever spelling or link) nor
// written twice.
Result<void> check_named_files(const CLI::App& parser);

// At its end, for inputs that other files named (a model's config, a platform's results): `path` leads to none of them.
Result<void> check_not_read(const std::string& path);

}  // namespace trunkline::cli
