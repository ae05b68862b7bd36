// The program: one command line in, one exit status out.
#pragma once

namespace trunkline::cli {

int run(int count, const char* const* arguments);

}  // namespace trunkline::cli
