#include "backends/nvml/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace trunkline::backends::nvml {
namespace {

constexpr char kInstall[] = "install NVIDIA's driver; in a container, start it with access to the GPUs (docker run --gpus all)";

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

// The name of the first function that is not there, or nullptr.
const char* load(void* library, Required& f) {
  const char* lacking = nullptr;
  const auto need = [&](const char* name, auto& out) {
    if (!find(library, name, out)) lacking = name;
  };
  need("nvmlInit_v2", f.init);
  need("nvmlShutdown", f.shutdown);
  need("nvmlErrorString", f.error_text);
  need("nvmlSystemGetDriverVersion", f.driver_version);
  need("nvmlDeviceGetCount_v2", f.device_count);
  need("nvmlDeviceGetHandleByIndex_v2", f.device);
  need("nvmlDeviceGetName", f.name);
  need("nvmlDeviceGetPciInfo_v3", f.pci);
  return lacking;
}

void load(void* library, Optional& f) {
  find(library, "nvmlDeviceGetUUID", f.uuid);
  find(library, "nvmlDeviceGetMemoryInfo", f.memory);
  find(library, "nvmlDeviceGetClockInfo", f.clock);
  find(library, "nvmlDeviceGetMaxClockInfo", f.max_clock);
  find(library, "nvmlDeviceGetPowerUsage", f.power);
  find(library, "nvmlDeviceGetEnforcedPowerLimit", f.power_limit);
  find(library, "nvmlDeviceGetTemperature", f.temperature);
  find(library, "nvmlDeviceGetCurrentClocksEventReasons", f.throttle);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", f.throttle_old);
  find(library, "nvmlDeviceGetCurrPcieLinkGeneration", f.pcie_generation);
  find(library, "nvmlDeviceGetCurrPcieLinkWidth", f.pcie_width);
  find(library, "nvmlDeviceGetMaxPcieLinkGeneration", f.max_pcie_generation);
  find(library, "nvmlDeviceGetMaxPcieLinkWidth", f.max_pcie_width);
  find(library, "nvmlDeviceGetEccMode", f.ecc);
  find(library, "nvmlDeviceGetFieldValues", f.fields);
  find(library, "nvmlDeviceGetNvLinkState", f.link_state);
  find(library, "nvmlDeviceGetNvLinkErrorCounter", f.link_errors);
  find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", f.link_remote_pci);
  find(library, "nvmlDeviceGetNvLinkRemoteDeviceType", f.link_remote_kind);
}

tl::unexpected<Error> missing(std::string message, std::string hint) {
  return fail({ErrorKind::missing, std::move(message), {}, std::move(hint)});
}

std::string hint_for(Status status) {
  if (status == status::kDriverNotLoaded) return "load the kernel module (modprobe nvidia), or " + std::string(kInstall);
  if (status == status::kVersionMismatch)
    return "the driver was updated while it ran: reboot, or unload and load its kernel modules, so that both have one version";
  if (status == status::kNoPermission) return "this user may not open /dev/nvidia*: ask for access, or run as root";
  return kInstall;
}

}  // namespace

Result<std::unique_ptr<Library>> Library::open(std::span<const std::string> files) {
  std::unique_ptr<Library> out(new Library);
  std::string first_error;
  for (const std::string& file : files) {
    out->handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (out->handle_) break;
    if (first_error.empty()) first_error = ::dlerror();
  }
  if (!out->handle_) return missing("no NVIDIA driver here: " + first_error, kInstall);
  if (const char* lacking = load(out->handle_, out->required))
    return missing(fmt::format("NVML lacks {}: this driver is too old, or it is another library", lacking), kInstall);
  load(out->handle_, out->optional);
  const Status done = out->required.init();
  if (done != status::kSuccess) return missing("the NVIDIA driver does not answer: " + out->text(done), hint_for(done));
  out->initialised_ = true;
  return out;
}

Library::~Library() {
  if (initialised_) required.shutdown();
  if (handle_) ::dlclose(handle_);
}

std::string Library::driver_version() const {
  char text[96] = {};
  return required.driver_version(text, sizeof text) == status::kSuccess ? text : "";
}

Result<std::vector<Device>> Library::devices() const {
  unsigned count = 0;
  if (const Status done = required.device_count(&count); done != status::kSuccess)
    return missing("the NVIDIA driver does not say how many GPUs there are: " + text(done), hint_for(done));
  std::vector<Device> out;
  for (unsigned i = 0; i < count; ++i) {
    Device device{};
    const Status done = required.device(i, &device);
    if (done != status::kSuccess)
      return fail({ErrorKind::failed, fmt::format("GPU {} does not answer: {}", i, text(done)), {}, "nvidia-smi and dmesg say more"});
    out.push_back(device);
  }
  return out;
}

}  // namespace trunkline::backends::nvml
