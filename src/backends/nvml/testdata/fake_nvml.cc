// A stand-in for NVML with two GPUs whose answers are known. On GPU 1 link 7 is down and link 3 has counted errors; GPU 1 is held down by
// its power cap. FAKE_NVML_INIT chooses what initialising answers.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backends/nvml/library.hpp"

namespace nv = trunkline::backends::nvml;
using nv::Device;
using nv::Status;

namespace {

constexpr Status kOk = nv::status::kSuccess, kNo = nv::status::kNotSupported;
constexpr unsigned kLinks = 18;
char gpus[2];

int index_of(Device device) { return int(reinterpret_cast<char*>(device) - gpus); }

Status put(char* out, unsigned size, const char* text) {
  std::snprintf(out, size, "%s", text);
  return kOk;
}

}  // namespace

extern "C" {

Status nvmlInit_v2() {
  const char* answer = std::getenv("FAKE_NVML_INIT");
  return answer ? std::atoi(answer) : kOk;
}
Status nvmlShutdown() { return kOk; }
const char* nvmlErrorString(Status status) { return status == nv::status::kDriverNotLoaded ? "Driver Not Loaded" : "Not Supported"; }
Status nvmlSystemGetDriverVersion(char* out, unsigned size) { return put(out, size, "580.1"); }
Status nvmlDeviceGetCount_v2(unsigned* out) {
  *out = 2;
  return kOk;
}
Status nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* out) {
  *out = reinterpret_cast<Device>(gpus + index);
  return kOk;
}
Status nvmlDeviceGetName(Device, char* out, unsigned size) { return put(out, size, "NVIDIA H200"); }
Status nvmlDeviceGetPciInfo_v3(Device device, nv::PciInfo* out) {
  *out = {};
  out->bus = unsigned(0x18 + index_of(device));
  return kOk;
}
Status nvmlDeviceGetUUID(Device device, char* out, unsigned size) { return put(out, size, index_of(device) == 0 ? "GPU-a" : "GPU-b"); }
Status nvmlDeviceGetMemoryInfo(Device, nv::MemoryInfo* out) {
  *out = {150'754'820'096ULL, 150'000'000'000ULL, 754'820'096ULL};
  return kOk;
}
Status nvmlDeviceGetClockInfo(Device, unsigned kind, unsigned* out) {
  *out = kind == 1 ? 1500 : 3201;
  return kOk;
}
Status nvmlDeviceGetMaxClockInfo(Device, unsigned, unsigned* out) {
  *out = 1980;
  return kOk;
}
Status nvmlDeviceGetPowerUsage(Device, unsigned* out) {
  *out = 690'500;
  return kOk;
}
Status nvmlDeviceGetTemperature(Device, unsigned, unsigned*) { return kNo; }
Status nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* out) {
  *out = index_of(device) == 1 ? 0x5 : 0x1;
  return kOk;
}
Status nvmlDeviceGetCurrPcieLinkGeneration(Device, unsigned* out) {
  *out = 4;
  return kOk;
}
Status nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned* out) {
  if (link >= kLinks) return kNo;
  *out = index_of(device) == 1 && link == 7 ? 0 : 1;
  return kOk;
}
Status nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned link, unsigned counter, unsigned long long* out) {
  if (counter > 1) return kNo;
  *out = index_of(device) == 1 && link == 3 ? 40 + counter : 0;
  return kOk;
}
Status nvmlDeviceGetNvLinkRemoteDeviceType(Device, unsigned, unsigned* out) {
  *out = 2;
  return kOk;
}
// Answers only the field that is common to all links, as drivers of the A100's time did.
Status nvmlDeviceGetFieldValues(Device, int count, nv::FieldValue* fields) {
  for (int i = 0; i < count; ++i) {
    fields[i].status = fields[i].field == 90 ? kOk : kNo;
    fields[i].type = 1;
    fields[i].value.number = 26562;
  }
  return kOk;
}
}
