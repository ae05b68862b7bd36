// Result<T>: a value, or an Error that tells a person what to do next.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace trunkline {
inline namespace base {

enum class ErrorKind {
  usage,      // the command line is wrong
  bad_input,  // a file or value is wrong
  missing,    // something needed is not on this machine
  failed,     // it ran and broke
  interrupted,
};

struct Where {
  std::string file;
  int line = 0;  // 1-based; 0 = the file as a whole
};

struct Error {
  ErrorKind kind = ErrorKind::bad_input;
  std::string message;  // what was found and what was expected
  Where where;
  std::string hint;  // what to do next

  // "file:line: message" and, on a second line, the hint.
  std::string text() const;
};

// The process exit status that an error of this kind means.
int exit_status(ErrorKind kind);

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

tl::unexpected<Error> bad_input(Where where, std::string message, std::string hint = {});

// Returns the error of `expression`, or goes on.
#define TRUNKLINE_TRY(expression)                                                                                                 \
  do {                                                                                                                            \
    if (auto trunkline_result_ = (expression); !trunkline_result_) return ::tl::unexpected(std::move(trunkline_result_).error()); \
  } while (false)

// Declares `name` as the value of `expression`, or returns its error.
#define TRUNKLINE_ASSIGN(name, expression)                                         \
  auto name##_result_ = (expression);                                              \
  if (!name##_result_) return ::tl::unexpected(std::move(name##_result_).error()); \
  auto name = std::move(*name##_result_)

}  // namespace base
}  // namespace trunkline
