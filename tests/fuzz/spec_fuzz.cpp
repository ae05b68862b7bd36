#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "io/spec.hpp"

using namespace trunkline;
using io::FieldType;

namespace {

const io::ObjectSpec kPart{.name = "file.part",
                           .doc = "a part",
                           .fields = {{.name = "size", .type = FieldType::bytes, .doc = "its size", .required = true},
                                      {.name = "rate", .type = FieldType::bandwidth, .doc = "its rate", .also = {"auto"}}}};

const io::ObjectSpec kFile{.name = "file",
                           .doc = "a file with a field of every form",
                           .fields = {{.name = "name", .doc = "its name"},
                                      {.name = "kind", .type = FieldType::choice, .doc = "its kind", .choices = {"ring", "tree"}},
                                      {.name = "on", .type = FieldType::boolean, .doc = "whether"},
                                      {.name = "count", .type = FieldType::integer, .doc = "how many", .min = 1, .max = 8},
                                      {.name = "share", .type = FieldType::number, .doc = "what part", .min = 0, .max = 1},
                                      {.name = "wait", .type = FieldType::time, .doc = "how long"},
                                      {.name = "speed", .type = FieldType::flop_rate, .doc = "how fast"},
                                      {.name = "price", .type = FieldType::money, .doc = "how much"},
                                      {.name = "part", .type = FieldType::object, .doc = "one part", .object = &kPart},
                                      {.name = "parts", .type = FieldType::list, .doc = "many parts", .object = &kPart},
                                      {.name = "free", .type = FieldType::any, .doc = "anything"}}};

}  // namespace

// After check() has accepted a file, every present field must convert.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = io::parse_yaml({reinterpret_cast<const char*>(data), size}, "input.yaml");
  if (!value) return 0;
  if (const auto checked = io::check(*value, kFile); !checked) {
    if (checked.error().message.empty() || checked.error().where.line < 1) std::abort();
    return 0;
  }
  const auto present = [&](const char* key) {
    const io::Value* field = value->find(key);
    return field && !field->is_null();
  };
  if (present("count") && !io::get_integer(*value, "count")) std::abort();
  if (present("share") && !io::get_number(*value, "share")) std::abort();
  if (present("wait") && !io::get_seconds(*value, "wait")) std::abort();
  if (present("speed") && !io::get_flop_rate(*value, "speed")) std::abort();
  if (present("price") && !io::get_money(*value, "price")) std::abort();
  if (present("on") && !io::get_bool(*value, "on")) std::abort();
  if (present("part") && !io::get_bytes(*value->find("part"), "size")) std::abort();
  return 0;
}
