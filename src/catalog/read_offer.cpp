// Storage, rental prices, and what others measured on whole machines.
#include "catalog/readers.hpp"

namespace trunkline::catalog {
namespace {

using io::FieldType;

std::string text(const PartEntry& entry, std::string_view key) { return io::get_text(entry.values, key).value_or(""); }

}  // namespace

const PartForm& storage_form() {
  static const PartForm form{
      PartKind::storage,
      "storage",
      {"storage",
       "A drive, a volume or a file system.",
       {required("class", FieldType::text, "what it is"), optional("read", FieldType::bandwidth, "within `scope`"),
        optional("write", FieldType::bandwidth, "within `scope`"),
        optional("read_per_tib", FieldType::bandwidth, "for each TiB of capacity"),
        optional("write_per_tib", FieldType::bandwidth, "for each TiB of capacity"),
        optional("iops_read", FieldType::number, "operations a second"), optional("iops_write", FieldType::number, "operations a second"),
        optional("latency", FieldType::time, "of one operation"), optional("capacity", FieldType::bytes, "within `scope`"),
        optional("scope", FieldType::text, "what the figures hold for"), optional("date", FieldType::text, "when it was so")}}};
  return form;
}

Result<Storage> storage_from(const PartEntry& entry) {
  Storage out;
  out.id = entry.part.id;
  out.name = entry.part.name;
  out.kind = text(entry, "class");
  out.read = io::get_bandwidth(entry.values, "read").value_or(Bandwidth{});
  out.write = io::get_bandwidth(entry.values, "write").value_or(Bandwidth{});
  out.iops_read = io::get_number(entry.values, "iops_read").value_or(0);
  out.iops_write = io::get_number(entry.values, "iops_write").value_or(0);
  out.scope = text(entry, "scope");
  out.date = text(entry, "date");
  return out;
}

const PartForm& price_form() {
  static const PartForm form{
      PartKind::price,
      "prices",
      {"price",
       "A rental price as seen at a date.",
       {required("provider", FieldType::text, "who rents it out"), required("instance", FieldType::text, "the provider's name for it"),
        required("gpu", FieldType::text, "id of the GPU in gpus.yaml"), required("gpus", FieldType::integer, "GPUs of one instance"),
        required("per_hour", FieldType::money, "of the instance"), required("per_gpu_hour", FieldType::money, "of one GPU"),
        required("kind", FieldType::text, "on-demand, capacity block, …"), optional("region", FieldType::text, "where"),
        optional("date", FieldType::text, "when it was seen"), optional("superseded", FieldType::boolean, "its own source calls it old")}}};
  return form;
}

Result<Price> price_from(const PartEntry& entry) {
  Price out;
  out.id = entry.part.id;
  out.provider = text(entry, "provider");
  out.instance = text(entry, "instance");
  out.gpu_id = text(entry, "gpu");
  out.kind = text(entry, "kind");
  out.date = text(entry, "date");
  out.gpus = int(io::get_integer(entry.values, "gpus").value_or(0));
  out.per_hour = io::get_money(entry.values, "per_hour").value_or(Money{});
  out.per_gpu_hour = io::get_money(entry.values, "per_gpu_hour").value_or(Money{});
  out.superseded = io::get_bool(entry.values, "superseded").value_or(false);
  return out;
}

const PartForm& measurement_form() {
  static const PartForm form{
      PartKind::measurement,
      "measurements",
      {"measurement",
       "What somebody measured on a whole machine.",
       {required("what", FieldType::text, "the quantity"), optional("low", FieldType::bandwidth, "least of the figures printed"),
        optional("high", FieldType::bandwidth, "greatest of the figures printed"),
        optional("limit", FieldType::bandwidth, "what the hardware allows"),
        optional("latency_low", FieldType::time, "least of the figures printed"),
        optional("latency_high", FieldType::time, "greatest of the figures printed"), optional("curve", FieldType::text, "share@size …")}}};
  return form;
}

}  // namespace trunkline::catalog
