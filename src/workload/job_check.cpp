#include "workload/job_check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trunkline::workload {
namespace {

constexpr double kMostGpus = 1e7;

class Checker {
 public:
  Checker(Job& job, const io::Value& value) : job_(job), value_(value), p_(job.parallelism), open_(job.open) {}

  Result<void> run() {
    TRUNKLINE_TRY(size());
    for (const Tower& t : job_.model.towers) {
      TRUNKLINE_TRY(tensor(t));
      TRUNKLINE_TRY(experts(t));
      TRUNKLINE_TRY(sequence(t));
    }
    TRUNKLINE_TRY(pipeline());
    TRUNKLINE_TRY(batch());
    return groups();
  }

 private:
  // The line of `key` in `block`, or of the nearest thing above it.
  Where line(const char* block, const char* key) const {
    const io::Value* outer = value_.find(block);
    if (!outer) return value_.where();
    const io::Value* inner = outer->find(key);
    return inner ? inner->where() : outer->where();
  }
  tl::unexpected<Error> wrong(const char* block, const char* key, const std::string& message, std::string hint) const {
    return bad_input(line(block, key), fmt::format("{}.{}: {}", block, key, message), std::move(hint));
  }

  Result<void> size() const {
    const double gpus = double(p_.tp) * p_.pp * p_.cp * p_.dp;
    if (gpus <= kMostGpus) return {};
    return wrong("parallelism", "dp", fmt::format("tp·pp·cp·dp comes to {:.3g} GPUs", gpus), "expected at most 1e7");
  }

  // `tp: auto` and its like are settled later, by whoever knows the machine.
  Result<void> tensor(const Tower& t) {
    if (open_.tp || p_.tp == 1) return {};
    if (t.heads % p_.tp != 0)
      return wrong("parallelism", "tp", fmt::format("{} does not divide the {} attention heads of {}", p_.tp, t.heads, label(t)),
                   "choose a divisor of the heads");
    if (t.ffn % p_.tp != 0)
      return wrong("parallelism", "tp", fmt::format("{} does not divide the feed-forward width {} of {}", p_.tp, t.ffn, label(t)),
                   "choose a divisor of both");
    if (t.latent.kv_rank > 0) return {};
    if (p_.tp > t.kv_heads && p_.tp % t.kv_heads == 0) {
      job_.assumed.emplace_back("parallelism.tp", fmt::format("the {} key-value heads are replicated {} times to serve tp {}", t.kv_heads,
                                                              p_.tp / t.kv_heads, p_.tp));
      return {};
    }
    if (p_.tp <= t.kv_heads && t.kv_heads % p_.tp == 0) return {};
    return wrong("parallelism", "tp",
                 fmt::format("{} and the {} key-value heads of {} do not divide each other", p_.tp, t.kv_heads, label(t)),
                 "choose a divisor or a multiple of the key-value heads");
  }

  Result<void> experts(const Tower& t) const {
    if (p_.ep == 1) return {};
    const int count = t.experts.count;
    if (count == 0)
      return wrong("parallelism", "ep", fmt::format("{} found, but {} has no experts", p_.ep, label(t)),
                   "remove ep, or choose a mixture of experts");
    if (count % p_.ep == 0) return {};
    return wrong("parallelism", "ep", fmt::format("{} does not divide the {} experts", p_.ep, count), "choose a divisor of the experts");
  }

  Result<void> sequence(const Tower& t) const {
    if (t.is_vision()) return {};
    const std::int64_t tokens = t.tokens(job_.batch.sequence);
    if (t.positions == Positions::learned && tokens > t.max_positions) {
      return wrong("batch", "sequence",
                   fmt::format("{} tokens, but the position table of {} has {} rows", tokens, label(t), t.max_positions),
                   fmt::format("expected at most {}, or override model.max_positions", t.max_positions));
    }
    if (tokens % p_.cp != 0)
      return wrong("parallelism", "cp", fmt::format("{} does not divide the sequence of {} tokens", p_.cp, tokens),
                   "choose a divisor of batch.sequence");
    if (p_.sequence_parallel && !open_.sequence_parallel && tokens / p_.cp % p_.tp != 0) {
      return wrong("parallelism", "sequence_parallel",
                   fmt::format("tp {} does not divide the {} tokens that a rank holds", p_.tp, tokens / p_.cp),
                   "choose a sequence that tp·cp divides");
    }
    return {};
  }

  // Stages hold whole layers. Without interleaving they may differ by one layer; interleaved chunks are equal, except
  // that the embedding and the output layer may each take the place of one layer (Llama 3.1 405B: 126 + 2 = 128).
  Result<void> pipeline() {
    if (open_.pp) return {};
    if (p_.pp > 1 && job_.model.towers.size() > 1)
      return wrong("parallelism", "pp", "a model of several towers is not pipelined here", "write pp: 1");
    if (p_.pp > 1 && p_.cp > 1 && job_.model.kind == Model::Kind::classifier)
      return wrong("parallelism", "cp", "a vision model has no long sequence to split", "write cp: 1");
    if (p_.vpp > 1 && p_.pp == 1)
      return wrong("parallelism", "vpp", "interleaving needs more than one pipeline stage", "write vpp: 1, or pp above 1");
    const int layers = job_.model.towers.front().layers;
    const std::int64_t chunks = std::int64_t(p_.pp) * (open_.vpp ? 1 : p_.vpp);
    if (chunks > layers + (chunks == p_.pp ? 0 : 2)) {
      return wrong("parallelism", p_.vpp > 1 ? "vpp" : "pp", fmt::format("{} chunks for {} layers", chunks, layers),
                   "every stage needs at least one layer");
    }
    if (layers % chunks == 0) return {};
    if (chunks == p_.pp) {
      const std::int64_t larger = layers % chunks;
      job_.assumed.emplace_back("parallelism.pp", fmt::format("{} stages of {} layers and {} of {}", larger, layers / chunks + 1,
                                                              chunks - larger, layers / chunks));
      return {};
    }
    for (const int ends : {1, 2}) {
      if ((layers + ends) % chunks != 0) continue;
      job_.assumed.emplace_back("parallelism.vpp", ends == 2 ? "the embedding and the output layer each take the place of one layer"
                                                             : "the output layer takes the place of one layer");
      return {};
    }
    return wrong("parallelism", "vpp", fmt::format("pp·vpp = {} does not divide {} layers", chunks, layers),
                 "interleaved chunks are equal: choose divisors, or vpp: 1, which allows stages that differ by one layer");
  }

  Result<void> batch() const {
    const Batch& b = job_.batch;
    if (!open_.dp && !open_.micro) {
      const std::int64_t together = p_.dp * b.micro;
      if (b.global % together == 0) return {};
      return wrong("batch", "global", fmt::format("{} samples are no multiple of dp·micro = {}·{}", b.global, p_.dp, b.micro),
                   fmt::format("the nearest are {} and {}", std::max<std::int64_t>(1, b.global / together) * together,
                               (b.global / together + 1) * together));
    }
    if (!open_.dp && b.global % p_.dp != 0)
      return wrong("batch", "global", fmt::format("{} samples are no multiple of dp {}", b.global, p_.dp),
                   "every data-parallel rank gets the same number");
    if (!open_.micro && b.global % b.micro != 0)
      return wrong("batch", "global", fmt::format("{} samples are no multiple of micro {}", b.global, b.micro), "choose a divisor");
    return {};
  }

  Result<void> groups() const {
    if (open_.dp || open_.tp) return {};
    const int ranks = p_.tp * p_.cp * p_.dp;
    if (p_.ep > 1 && ranks % p_.ep != 0)
      return wrong("parallelism", "ep", fmt::format("{} does not divide the {} ranks of a pipeline stage (tp·cp·dp)", p_.ep, ranks),
                   "experts are spread over those ranks");
    const std::int64_t etp = p_.etp > 0 ? p_.etp : p_.tp;
    if (p_.ep > 1 && ranks % (p_.ep * etp) != 0) {
      return wrong("parallelism", "ep",
                   fmt::format("ep·etp = {}·{} does not divide the {} ranks of a pipeline stage (tp·cp·dp)", p_.ep, etp, ranks),
                   "write etp: 1, or a smaller ep");
    }
    if (!open_.sharding && p_.sharding != Sharding::none && p_.shard_group > 0 && (p_.dp * p_.cp) % p_.shard_group != 0) {
      return wrong("parallelism", "shard_group",
                   fmt::format("{} does not divide the {} data-parallel ranks", p_.shard_group, p_.dp * p_.cp),
                   "choose a divisor of dp·cp");
    }
    return {};
  }

  std::string label(const Tower& t) const {
    return job_.model.towers.size() > 1 ? fmt::format("{}'s {} tower", job_.model.name, t.name) : job_.model.name;
  }

  Job& job_;
  const io::Value& value_;
  const Parallelism& p_;
  const Open& open_;
};

}  // namespace

Result<void> check_job(Job& job, const io::Value& value) { return Checker(job, value).run(); }

}  // namespace trunkline::workload
