#include "predict/search.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "predict/least_time.hpp"
#include "predict/plans.hpp"
#include "predict/settled.hpp"
#include "workload/framework.hpp"

using namespace trunkline;
using namespace trunkline::predict;
using workload::Framework;
using workload::Job;
using workload::Recompute;
using workload::Sharding;

namespace {

topology::Platform platform_from_text(const std::string& text) {
  const auto value = io::parse_yaml(text, "platform.yaml");
  EXPECT_TRUE(value);
  auto platform = topology::platform_from(*value);
  EXPECT_TRUE(platform) << (platform ? "" : platform.error().text());
  return *std::move(platform);
}

Job job_from_text(const std::string& text) {
  const auto value = io::parse_yaml(text, "job.yaml");
  EXPECT_TRUE(value);
  auto job = workload::job_from(*value, ".");
  EXPECT_TRUE(job) << (job ? "" : job.error().text());
  return *std::move(job);
}

std::string words(const Job& job) {
  const auto& p = job.parallelism;
  return "tp " + std::to_string(p.tp) + ", pp " + std::to_string(p.pp) + ", vpp " + std::to_string(p.vpp) + ", cp " + std::to_string(p.cp) +
         ", ep " + std::to_string(p.ep) + ", etp " + std::to_string(p.etp) + ", dp " + std::to_string(p.dp) + ", " +
         workload::name_of(p.sharding) + ", micro " + std::to_string(job.batch.micro) + ", " + workload::name_of(job.recompute) + " " +
         std::to_string(job.recompute_share);
}

std::string note_on(const Prediction& p, const std::string& what) {
  for (const auto& [key, text] : p.assumed) {
    if (key == what) return text;
  }
  return {};
}

// Every combination of small numbers, each a job in which all is stated, asked of predict() one by one: no list of plans, no bound, no
// order. Numbers that model, batch or GPUs forbid are passed over by the rules of a job file.
class BruteForce {
 public:
  BruteForce(Job open, const topology::Platform& platform) : open_(std::move(open)), model_(platform), gpus_(platform.gpus()) {}

  double fastest_s() {
    for (int tp = 1; tp <= (open_.open.tp ? gpus_ : 1); ++tp) {
      for (int pp = 1; pp <= (open_.open.pp ? gpus_ : 1); ++pp) {
        for (int cp = 1; cp <= (open_.open.cp ? 4 : 1); cp *= 2) {
          if (gpus_ % (tp * pp * cp) == 0) degrees(tp, pp, cp);
        }
      }
    }
    return best_s_;
  }
  const std::string& best() const { return best_; }
  int asked() const { return asked_; }

 private:
  void degrees(int tp, int pp, int cp) {
    const auto& t = open_.model.towers.front();
    const int dp = gpus_ / (tp * pp * cp);
    if (t.heads % tp != 0 || t.ffn % tp != 0 || (t.kv_heads % tp != 0 && tp % t.kv_heads != 0) || pp > t.layers) return;
    if (open_.batch.global % dp != 0 || (cp > 1 && open_.batch.sequence / cp < 4096)) return;
    const int most_experts = open_.open.ep ? std::max(1, t.experts.count) : 1;
    for (int ep = 1; ep <= most_experts; ++ep) {
      for (const int etp : {0, 1}) {
        if ((ep > 1 && t.experts.count % ep != 0) || (tp * cp * dp) % (ep * (etp == 1 ? 1 : tp)) != 0) continue;
        if (etp == 1 && (ep == 1 || tp == 1)) continue;
        Job job = open_;
        job.open = {};
        auto& p = job.parallelism;
        p.tp = tp, p.pp = pp, p.cp = cp, p.dp = dp, p.ep = ep, p.etp = etp;
        p.sequence_parallel = tp > 1 && workload::behaviour_of(job.framework, model_.platform().node.gpu.generation).sequence_parallel;
        schedules(job);
      }
    }
  }

  void schedules(Job job) {
    auto& p = job.parallelism;
    const std::int64_t local = job.batch.global / p.dp;
    for (std::int64_t micro = 1; micro <= local; ++micro) {
      if (local % micro != 0) continue;
      for (int vpp = 1; vpp <= job.model.towers.front().layers + 2; ++vpp) {
        const int layers = job.model.towers.front().layers, chunks = p.pp * vpp;
        if (vpp > 1 && (!open_.open.vpp || p.pp == 1 || (local / micro) % p.pp != 0 ||
                        (layers % chunks != 0 && (layers + 1) % chunks != 0 && (layers + 2) % chunks != 0)))
          continue;
        job.batch.micro = micro, p.vpp = vpp;
        shardings(job);
      }
    }
  }

  void shardings(Job job) {
    auto& p = job.parallelism;
    for (const Sharding s : {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3, Sharding::hsdp}) {
      const bool fsdp = job.framework == Framework::pytorch_fsdp || job.framework == Framework::torchtitan;
      if (p.dp * p.cp == 1 && s != Sharding::none) continue;
      if (p.pp > 1 && s > Sharding::zero1 && !fsdp) continue;
      const auto f = job.framework;  // Megatron-Core shares out the optimizer's state alone
      if ((f == Framework::megatron || f == Framework::nemo) && s > Sharding::zero1) continue;
      p.sharding = s;
      p.shard_group = 0;
      if (s == Sharding::hsdp) {
        p.shard_group = model_.platform().node.gpus / p.tp;
        if (!fsdp || p.shard_group >= p.dp * p.cp || p.dp * p.cp % p.shard_group != 0) continue;
      }
      for (int layers = 0; layers <= 64; ++layers) ask(job, layers ? Recompute::full : Recompute::none, layers ? layers / 64.0 : 1);
      ask(job, Recompute::selective, 1);
    }
  }

  void ask(Job job, Recompute recompute, double share) {
    job.recompute = recompute, job.recompute_share = share;
    ++asked_;
    if (workload::memory_needed(job).total() > model_.platform().node.gpu.memory) return;
    Options bare;
    bare.extras = false;
    const auto p = predict::predict(job, model_, bare);
    ASSERT_TRUE(p) << p.error().text() << words(job);
    if (p->step_s < best_s_) best_s_ = p->step_s, best_ = words(job);
  }

  Job open_;
  PlatformModel model_;
  int gpus_;
  double best_s_ = std::numeric_limits<double>::infinity();
  std::string best_;
  int asked_ = 0;
};

const char* kTwo4090 =
    "name: two RTX 4090\n"
    "node: {gpu: rtx4090, gpus: 2, gpu_links: none, sockets: 1, pcie_switches: 0, pcie_p2p: false, nics: none, count: 1}\n";

Job gpt2_xl(const std::string& training) {
  return job_from_text("model: gpt2-xl\nbatch: {global: 64, sequence: 1024}\nparallelism: auto\n" + training);
}

}  // namespace

// ------------------------------------------------------------------------------------------------ the fastest

TEST(Search, FindsWhatTryingEverythingFinds) {
  struct Question {
    const char* job;
    const char* platform;
  };
  const Question questions[] = {
      {"model: {config: llama-3.2-1b}\nbatch: {global: 16, sequence: 8192}\ntraining: {framework: megatron}\nparallelism: auto\n",
       "name: a\nnode: {type: hgx-a100-40, count: 1}\n"},
      {"model: {config: llama-2-7b, layers: 6}\nbatch: {global: 8, sequence: 2048}\ntraining: {framework: torchtitan}\nparallelism: "
       "auto\n",
       "name: b\nnode: {gpu: rtx4090, gpus: 4, gpu_links: none, nics: {part: cx6-hdr, count: 1}, count: 2}\nfabric: {kind: roce}\n"},
      {"model: {config: mixtral-8x7b, layers: 4}\nbatch: {global: 16, sequence: 4096}\ntraining: {framework: nemo}\nparallelism: auto\n",
       "name: c\nnode: {type: hgx-h100, count: 1}\n"},
      {"model: gpt2-xl\nbatch: {global: 24, sequence: 1024}\ntraining: {framework: pytorch-ddp}\nparallelism: {dp: auto}\n", kTwo4090},
      {"model: {config: llama-2-13b}\nbatch: {global: 12, sequence: 4096}\ntraining: {framework: megatron}\n"
       "parallelism: {tp: 1, pp: auto, vpp: auto, dp: auto}\n",
       "name: d\nnode: {gpu: a100-sxm-80, gpus: 6, gpu_links: {kind: nvswitch, generation: 3}, nics: none, count: 1}\n"},
  };
  for (const Question& q : questions) {
    const Job job = job_from_text(q.job);
    const topology::Platform platform = platform_from_text(q.platform);
    const auto ranking = search(job, PlatformModel(platform));
    ASSERT_TRUE(ranking) << ranking.error().text();
    ASSERT_FALSE(ranking->fastest.empty()) << q.job;
    BruteForce brute(job, platform);
    const double least = brute.fastest_s();
    EXPECT_GT(brute.asked(), 500);
    EXPECT_EQ(ranking->fastest.front().step_s, least)
        << q.job << "found " << words(ranking->fastest.front().job) << "\nbest " << brute.best();
  }
}

// Bounds only save work: without them the same plans come out, in the same order.
TEST(Search, LeavingOutHopelessPlansChangesNothing) {
  const Job job = job_from_text("model: llama-2-13b\nbatch: {global: 64, sequence: 8192}\nparallelism: auto\n");
  const PlatformModel platform(platform_from_text("name: p\nnode: {type: hgx-h100, count: 4}\n"));
  const auto pruned = search(job, platform, {}, {.keep = 10, .prune = true}), all = search(job, platform, {}, {.keep = 10, .prune = false});
  ASSERT_TRUE(pruned && all);
  EXPECT_LT(pruned->predicted, all->predicted);
  ASSERT_EQ(pruned->fastest.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(words(pruned->fastest[i].job), words(all->fastest[i].job));
    EXPECT_EQ(pruned->fastest[i].step_s, all->fastest[i].step_s);
    if (i > 0) EXPECT_GE(all->fastest[i].step_s, all->fastest[i - 1].step_s);
  }
}

// A candidate is a job like any other: predict() says of it what the search said.
TEST(Search, CandidatesKeepWhatTheyPromise) {
  Job job = job_from_text(
      "model: llama-2-7b\nbatch: {global: 64, sequence: 4096}\nparallelism: auto\n"
      "data: {samples: 1e6, bytes_per_sample: 500 MB, source: volume, staging: none}\ncheckpoint: {every: 10 steps}\n");
  const PlatformModel platform(
      platform_from_text("name: p\nnode: {type: hgx-a100-80, count: 2}\nstorage: {volume: {write: 2 GB/s, read: 20 GB/s}}\n"));
  const auto ranking = search(job, platform, {}, {.keep = 5});
  ASSERT_TRUE(ranking);
  ASSERT_EQ(ranking->fastest.size(), 5U);
  for (const Candidate& c : ranking->fastest) {
    const auto p = predict::predict(c.job, platform);
    ASSERT_TRUE(p);
    EXPECT_EQ(p->step_s, c.step_s);
    EXPECT_EQ(p->memory.per_gpu, c.memory);
    EXPECT_TRUE(p->memory.fits);
    EXPECT_GT(p->breakdown.checkpoint_s, 0);
  }
}

// What a file states stays as it is, however slow.
TEST(Search, VariesOnlyWhatIsOpen) {
  const Job job = job_from_text(
      "model: llama-2-7b\ntraining: {recompute: full}\nbatch: {global: 32, micro: 2, sequence: 4096}\n"
      "parallelism: {tp: auto, pp: 2, dp: auto, sharding: zero1}\n");
  const auto ranking = search(job, PlatformModel(platform_from_text("name: p\nnode: {type: hgx-h100, count: 1}\n")), {}, {.keep = 100});
  ASSERT_TRUE(ranking);
  std::set<int> tensor;
  for (const Candidate& c : ranking->fastest) {
    EXPECT_EQ(c.job.parallelism.pp, 2);
    EXPECT_EQ(c.job.parallelism.vpp, 1);
    EXPECT_EQ(c.job.parallelism.sharding, Sharding::zero1);
    EXPECT_EQ(c.job.batch.micro, 2);
    EXPECT_EQ(c.job.recompute, Recompute::full);
    tensor.insert(c.job.parallelism.tp);
  }
  EXPECT_GT(tensor.size(), 1U);
}

// A job that fixes a degree which matches nothing says so with its file and what to do.
TEST(Search, NothingThatDividesIsAnError) {
  const Job job = job_from_text("model: llama-2-7b\nbatch: {global: 30, sequence: 4096}\nparallelism: {tp: auto, pp: 7, dp: auto}\n");
  const auto p = predict::predict(job, platform_from_text("name: p\nnode: {type: hgx-h100, count: 1}\n"));
  ASSERT_FALSE(p);
  EXPECT_NE(p.error().text().find("the job fixes make 7 GPUs, and \"p\" has 8"), std::string::npos) << p.error().text();
}

// Plain FSDP wraps data parallelism round a model: no pipeline is invented for it.
TEST(Search, FsdpAloneSplitsNoModel) {
  const Job job =
      job_from_text("model: llama-2-7b\nbatch: {global: 64, sequence: 4096}\ntraining: {framework: pytorch-fsdp}\nparallelism: auto\n");
  const auto p = predict::predict(job, platform_from_text("name: p\nnode: {gpu: rtx4090, gpus: 8, count: 1}\n"));
  ASSERT_TRUE(p) << p.error().text();
  EXPECT_EQ(p->job.parallelism.dp, 8);
}

TEST(LeastTime, IsNeverAboveTheStep) {
  const Options options;
  Rng rng(11);
  for (const char* framework : {"megatron", "maxtext", "torchtitan", "nemo"}) {
    for (const char* model : {"llama-2-7b", "mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b"}) {
      const Job job =
          job_from_text(std::string("model: ") + model +
                        "\nbatch: {global: 128, sequence: 8192}\nparallelism: auto\ntraining: {framework: " + framework + "}\n");
      const PlatformModel platform(platform_from_text("name: p\nnode: {type: hgx-a100-80, count: 8}\n"));
      LeastTime least(platform, options, factor_of(job, platform, options));
      const auto plans = plans_of(job, platform.platform());
      ASSERT_GT(plans.size(), 100U);
      double closest = 0;
      for (int i = 0; i < 200; ++i) {
        Job stated = job;
        const Plan& plan = plans[rng.below(plans.size())];
        stated.open = {};
        stated.parallelism = plan.parallelism, stated.batch.micro = plan.micro;
        stated.recompute = Recompute(rng.below(3));
        stated.recompute_share = stated.recompute == Recompute::full ? rng.uniform() : 1;
        const double step_s = step_s_of(stated, platform, options);
        EXPECT_LE(least.of(stated), step_s) << words(stated);
        closest = std::max(closest, least.of(stated) / step_s);
      }
      EXPECT_GT(closest, 0.5);  // of use
    }
  }
}

// ------------------------------------------------------------------------------------------------ what predict() makes of it

TEST(Search, AMixtureOfExpertsSpreadsItsExperts) {
  const Job job = job_from_text(
      "model: deepseek-v3\nbatch: {global: 4096, sequence: 4096}\ntraining: {framework: megatron-bridge}\nparallelism: auto\n");
  const auto p = predict::predict(job, platform_from_text("name: p\nnode: {type: hgx-h100, count: 128}\n"));
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->memory.fits);
  EXPECT_GT(p->job.parallelism.ep, 1);
}

// Two cards that have to share the weights of GPT-2 XL: no single stated choice of sharding and micro-batch is faster.
TEST(Search, TwoCardsGetTheFastestSharing) {
  const topology::Platform platform = platform_from_text(kTwo4090);
  for (const char* framework : {"pytorch-eager", "pytorch-fsdp", "megatron", "pytorch-ddp"}) {
    const Job open = gpt2_xl(std::string("training: {framework: ") + framework + "}\n");
    const auto chosen = predict::predict(open, platform);
    ASSERT_TRUE(chosen);
    ASSERT_TRUE(chosen->memory.fits) << framework;
    for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
      for (const std::int64_t micro : {1, 2, 4, 8, 16}) {
        Job stated = open;
        stated.open = {};
        stated.open.recompute = true;
        stated.parallelism.dp = 2, stated.parallelism.sharding = sharding, stated.batch.micro = micro;
        const auto other = predict::predict(stated, platform);
        ASSERT_TRUE(other);
        if (other->memory.fits) EXPECT_GE(other->step_s, chosen->step_s) << framework << words(other->job);
      }
    }
  }
}

// Where nothing fits, the answer says so and never that it fits.
TEST(Search, NothingThatFitsIsSaidSo) {
  const Job job = job_from_text("model: llama-2-70b\nbatch: {global: 8, sequence: 4096}\nparallelism: auto\n");
  const auto p = predict::predict(job, platform_from_text("name: p\nnode: {type: hgx-a100-40, count: 1}\n"));
  ASSERT_TRUE(p);
  EXPECT_FALSE(p->memory.fits);
  const std::string note = note_on(*p, "parallelism");
  EXPECT_NE(note.find("nothing that was tried fits"), std::string::npos) << note;
  EXPECT_NE(note.find("the closest needs"), std::string::npos);
  EXPECT_NE(note.find("would fit: "), std::string::npos);
  for (const auto& [key, text] : p->assumed) {
    EXPECT_EQ(text.find("that fits"), std::string::npos) << key << ": " << text;
    EXPECT_EQ(text.find("that fit,"), std::string::npos) << key << ": " << text;
  }
}

// The same for recomputation alone.
TEST(Search, RecomputationThatDoesNotHelpIsSaidSo) {
  const Job job =
      job_from_text("model: llama-2-70b\nbatch: {global: 8, micro: 1, sequence: 4096}\nparallelism: {tp: 8, dp: 1, sharding: none}\n");
  const auto p = predict::predict(job, platform_from_text("name: p\nnode: {type: hgx-a100-40, count: 1}\n"));
  ASSERT_TRUE(p);
  EXPECT_FALSE(p->memory.fits);
  EXPECT_NE(note_on(*p, "recompute").find("even that does not fit"), std::string::npos);
}
