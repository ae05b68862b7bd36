// What a backend implements: probes with stable names, each of which measures one thing or says why it cannot.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "measure/sampler.hpp"
#include "measure/settings.hpp"

namespace trunkline::measure {

// What running a probe will cost, at most.
struct Estimate {
  Bytes written, read;  // at a device or over a link
  Bytes memory;         // held at once
  Bytes disk;           // free space that it takes while it runs
  Seconds time;
  std::string note;  // what the numbers rest on, where they rest on an assumption
};

class Probe {
 public:
  virtual ~Probe() = default;

  virtual std::string name() const = 0;     // stable: "storage.write"
  virtual std::string answers() const = 0;  // one line
  virtual std::string needs() const = 0;    // what must be here: "a folder with free space"

  // Touches nothing. An error of the kind `missing` says why the probe will be waived; `budget` is the time it is given.
  virtual Result<Estimate> estimate(const Settings& settings, Seconds budget) const = 0;

  // Measures by means of the sampler, within its budget, and leaves nothing behind on any way out. An error of the kind `missing`
  // waives the probe, `interrupted` ends the run, any other fails the probe; what was sampled until then is kept.
  virtual Result<void> run(const Settings& settings, Sampler& sampler) = 0;
};

using Probes = std::vector<std::unique_ptr<Probe>>;

// Something that a backend stands on, for `doctor`.
struct Need {
  std::string name;        // "NVIDIA driver"
  std::string needed_for;  // "gpu.*"
  bool present = false;
  std::string found;  // what is there, or what is missing
  std::string fix;    // empty where it is present
};

// A folder of src/backends/ as the command line sees it.
struct Backend {
  std::string name;
  std::vector<Option> options;
  std::function<Probes()> probes;
  // Versions of the libraries that take part, for the result file.
  std::vector<std::pair<std::string, std::string>> libraries = {};
  // What this backend knows of the machine, added at the start and at the end of a run. Libraries that are opened at run time
  // are opened here at the earliest, so that other commands start without them.
  std::function<void(Context&)> describe = {}, complete = {};
  std::function<std::vector<Need>()> needs = {};  // for `doctor`; may open libraries
};

// The probes that `words` select, in their own order: a name, or the beginning of names up to a dot ("storage"). All of them
// where there are no words. The error names the nearest.
Result<std::vector<Probe*>> select(const Probes& probes, const std::vector<std::string>& words);

}  // namespace trunkline::measure
