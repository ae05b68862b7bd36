#include "base/result.hpp"

#include <fmt/format.h>

namespace trunkline {
inline namespace base {

std::string Error::text() const {
  std::string out;
  if (!where.file.empty()) {
    out = where.line > 0 ? fmt::format("{}:{}: ", where.file, where.line) : fmt::format("{}: ", where.file);
  }
  out += message;
  if (!hint.empty()) out += "\n  " + hint;
  return out;
}

int exit_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::bad_input: return 2;
    case ErrorKind::missing: return 3;
    case ErrorKind::failed: return 4;
    case ErrorKind::interrupted: return 130;
  }
  return 4;
}

tl::unexpected<Error> bad_input(Where where, std::string message, std::string hint) {
  return fail({ErrorKind::bad_input, std::move(message), std::move(where), std::move(hint)});
}

}  // namespace base
}  // namespace trunkline
