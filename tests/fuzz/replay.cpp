// The main() of a fuzz target in the normal build: every file of its corpus, and a few hundred small mutations of each
// (cut short, a byte changed, a piece repeated), must pass without a crash. A crash that libFuzzer finds becomes a regression
// test by copying its input into the corpus.
//
//   fuzz_NAME CORPUS_FOLDER_OR_FILE…
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/rng.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int kMutations = 300;
constexpr std::size_t kLargestMutated = 64 << 10;  // larger files are replayed as they are

void run(const std::string& input) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()); }

std::string mutated(std::string text, trunkline::Rng& rng) {
  const auto position = [&] { return std::size_t(rng.below(text.size())); };
  const std::uint64_t changes = 1 + rng.below(3);
  for (std::uint64_t i = 0; i < changes && !text.empty(); ++i) {
    switch (rng.below(5)) {
      case 0: text.resize(position()); break;
      case 1: text[position()] = char(rng.next()); break;
      case 2: text.erase(position(), 1 + rng.below(8)); break;
      case 3: text.insert(position(), text.substr(position(), 1 + rng.below(64))); break;
      default: text.insert(position(), 1, "{}[]:,\"'\n &*#-\\0e"[rng.below(17)]);
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::exists(argv[i])) continue;  // a target without a corpus yet
    if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
    } else {
      files.emplace_back(argv[i]);
    }
  }
  std::sort(files.begin(), files.end());
  run({});
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      return 1;
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::printf("%s\n", path.c_str());  // names the culprit if the next line crashes
    std::fflush(stdout);
    run(text);
    trunkline::Rng rng(text.size());
    for (int i = 0; i < kMutations && text.size() <= kLargestMutated; ++i) run(mutated(text, rng));
  }
  std::printf("%zu passed, 0 failed\n", files.size() + 1);
  return 0;
}
