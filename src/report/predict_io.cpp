#include "base/quantity_text.hpp"
#include "report/json_io.hpp"
#include "report/predict_report.hpp"

namespace trunkline::report {

using predict::Prediction;

namespace {

Json money_json(const std::optional<Money>& money) {
  if (!money) return nullptr;
  return {{"amount", money->amount}, {"currency", money->currency}};
}

Json job_json(const workload::Job& job) {
  return {{"file", or_null(job.file)},
          {"model", job.model.name},
          {"parameters", std::int64_t(std::min(job.model.parameters(), 9e18))},
          {"kind", workload::name_of(job.kind)},
          {"framework", workload::name_of(job.framework)},
          {"compute_precision", catalog::name_of(job.precision.compute)},
          {"optimizer", workload::name_of(job.optimizer)},
          {"recompute", workload::name_of(job.recompute)},
          {"global_batch", job.batch.global},
          {"sequence", job.batch.sequence > 0 ? Json(job.batch.sequence) : Json(nullptr)}};
}

Json parallelism_json(const workload::Job& job) {
  const auto& p = job.parallelism;
  return {{"tp", p.tp},
          {"pp", p.pp},
          {"vpp", p.vpp},
          {"dp", p.dp},
          {"cp", p.cp},
          {"ep", p.ep},
          {"sharding", workload::name_of(p.sharding)},
          {"micro_batch", job.batch.micro}};
}

Json breakdown_json(const predict::Breakdown& b) {
  return {{"compute_s", b.compute_s},     {"exposed_comm_s", b.exposed_comm_s}, {"bubble_s", b.bubble_s},
          {"data_wait_s", b.data_wait_s}, {"checkpoint_s", b.checkpoint_s},     {"other_s", b.other_s}};
}

// What the parts of the breakdown consist of; these are for explanations and need not add up.
Json detail_json(const timeline::StepDetail& d) {
  return {{"matrix_s", d.matrix_s},           {"memory_bound_s", d.memory_s},   {"recompute_s", d.recompute_s},
          {"optimizer_s", d.optimizer_s},     {"contention_s", d.contention_s}, {"tensor_parallel_s", d.tensor_s},
          {"data_parallel_s", d.data_s},      {"sharding_s", d.shard_s},        {"pipeline_s", d.pipeline_s},
          {"hidden_comm_s", d.hidden_comm_s}, {"launch_s", d.launch_s},         {"busiest_stage", d.busiest_stage}};
}

Json memory_json(const predict::Memory& m) {
  const auto& p = m.parts;
  Json out;
  out["per_gpu_bytes"] = m.per_gpu.count();
  out["capacity_bytes"] = m.capacity.count();
  out["fits"] = m.fits;
  out["parts"] = {{"weights_bytes", p.weights.count()},
                  {"gradients_bytes", p.gradients.count()},
                  {"optimizer_bytes", p.optimizer.count()},
                  {"activations_bytes", p.activations.count()},
                  {"logits_bytes", p.logits.count()},
                  {"workspace_bytes", p.workspace.count()},
                  {"communication_bytes", p.communication.count()},
                  {"framework_bytes", p.framework.count()},
                  {"fragmentation_bytes", p.fragmentation.count()}};
  out["stage"] = p.stage;
  out["would_fit"] = Json::array();
  for (const auto& s : m.suggestions) {
    out["would_fit"].push_back({{"change", s.change}, {"per_gpu_bytes", s.bytes.count()}, {"gpus", s.gpus}, {"fits", s.fits}});
  }
  return out;
}

Json epoch_json(const std::optional<predict::Epoch>& e) {
  if (!e) return nullptr;
  return {{"s", e->s},
          {"staging_s", e->staging_s},
          {"staging_hidden_s", e->staging_hidden_s},
          {"compute_s", e->compute_s},
          {"sync_s", e->sync_s},
          {"rest_s", e->rest_s},
          {"later_s", e->later_s},
          {"steps", e->steps},
          {"per_week", e->per_week}};
}

Json run_json(const std::optional<predict::JobTime>& t) {
  if (!t) return nullptr;
  return {{"steps", t->steps},       {"train_s", t->train_s},         {"failure_s", t->failure_s},
          {"failures", t->failures}, {"loss_each_s", t->loss_each_s}, {"total_s", t->total_s}};
}

Json checkpoint_json(const std::optional<predict::Checkpointing>& c) {
  if (!c) return nullptr;
  return {{"bytes", c->bytes.count()},
          {"write_s", c->write_s},
          {"snapshot_s", c->snapshot_s},
          {"stall_s", c->stall_s},
          {"read_s", c->read_s},
          {"interval_s", c->interval_s},
          {"best_every_steps", c->best_every_steps > 0 ? Json(c->best_every_steps) : Json(nullptr)}};
}

Json bottleneck_json(const predict::Bottleneck& b) {
  return {{"trunk", predict::name_of(b.trunk)},
          {"link", b.link},
          {"share", b.share},
          {"weakest_trunk", predict::name_of(b.weakest_trunk)},
          {"weakest_link", or_null(b.weakest_link)},
          {"weakest_share", b.weakest_share}};
}

Json fabric_json(const std::optional<predict::FabricUse>& f) {
  if (!f) return nullptr;
  Json out;
  out["fabric"] = f->fabric;
  out["queue_pairs"] = f->queue_pairs;
  out["flows"] = f->flows;
  out["unserved"] = f->unserved;
  out["solves"] = f->solves;
  out["nic_step_s"] = f->nic_step_s;
  out["cost_s"] = f->step_s - f->nic_step_s;
  out["kinds"] = Json::array();
  for (const auto& k : f->kinds) {
    out["kinds"].push_back({{"name", k.name},
                            {"flows", k.flows},
                            {"busy_share", k.busy},
                            {"nic_share", k.share},
                            {"nic_share_alone", k.alone},
                            {"nic_share_mean", k.mean},
                            {"hottest_link", or_null(k.hottest)},
                            {"hottest_asked", k.asked}});
  }
  return out;
}

Json prediction_json(const Prediction& p) {
  Json out;
  out["platform"] = p.platform;
  out["gpus"] = p.gpus;
  out["step_s"] = p.step_s;
  out["samples_per_s"] = p.samples_per_s;
  out["tokens_per_s"] = p.tokens_per_s;
  out["tokens_per_s_per_gpu"] = p.tokens_per_s_per_gpu;
  out["model_flops_per_gpu_per_s"] = p.model_flops_per_gpu_per_s;
  out["mfu"] = p.mfu;
  out["hfu"] = p.hfu;
  out["breakdown"] = breakdown_json(p.breakdown);
  out["detail"] = detail_json(p.detail);
  out["memory"] = memory_json(p.memory);
  out["scaling"] = {{"baseline_gpus", p.scaling.baseline_gpus},
                    {"baseline_fits", p.scaling.fits},
                    {"speedup", p.scaling.speedup},
                    {"efficiency", p.scaling.efficiency}};
  out["epoch"] = epoch_json(p.epoch);
  out["checkpoint"] = checkpoint_json(p.checkpoint);
  out["run"] = run_json(p.run);
  out["cost"] = money_json(p.cost);
  out["storage_cost"] = money_json(p.storage_cost);
  out["cost_per_hour"] = money_json(p.hour);
  out["bottleneck"] = bottleneck_json(p.bottleneck);
  out["interval"] = {{"low_s", p.interval.low_s}, {"high_s", p.interval.high_s}};
  out["parallelism"] = parallelism_json(p.job);
  out["network"] = fabric_json(p.fabric);
  out["job"] = job_json(p.job);
  out["assumed"] = object_of(p.assumed);
  out["not_modelled"] = object_of(p.not_modelled);
  return out;
}

Json entry_json(const PredictionEntry& entry) {
  Json out;
  if (entry.prediction) {
    out = prediction_json(*entry.prediction);
  } else {
    out["platform"] = entry.platform;
    out["error"] = entry.error.text();
  }
  if (!entry.swept.empty()) out["set"] = object_of(entry.swept);
  return out;
}

}  // namespace

std::string predictions_json(const PredictionSet& set, const Context& context) {
  Json out;
  if (set.entries.size() == 1) {
    out = entry_json(set.entries.front());
  } else {
    out["predictions"] = Json::array();
    for (const auto& entry : set.entries) out["predictions"].push_back(entry_json(entry));
  }
  out["context"] = context_json(context);
  return text_of(out);
}

}  // namespace trunkline::report
