#include "report/catalog_report.hpp"
#include "report/json_io.hpp"

namespace trunkline::report {

std::string parts_json(std::span<const catalog::Part> parts, const Context& context) {
  Json out;
  out["parts"] = Json::array();
  for (const auto& part : parts) {
    Json facts = Json::array();
    for (const auto& fact : part.facts) {
      facts.push_back({{"field", fact.field},
                       {"value", fact.value},
                       {"source", or_null(fact.source)},
                       {"confidence", catalog::name_of(fact.confidence)},
                       {"printed", or_null(fact.printed)},
                       {"note", or_null(fact.note)}});
    }
    out["parts"].push_back({{"kind", catalog::name_of(part.kind)},
                            {"id", part.id},
                            {"name", part.name},
                            {"aliases", part.aliases},
                            {"facts", std::move(facts)},
                            {"notes", or_null(part.notes)}});
  }
  out["context"] = context_json(context);
  return text_of(out);
}

}  // namespace trunkline::report
