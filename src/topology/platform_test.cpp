// Platform files: what a full file gives, what an open one takes and says, and what every kind of mistake answers.
#include "topology/platform.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace trunkline::topology {
namespace {

Result<Platform> from(const std::string& yaml) {
  TRUNKLINE_ASSIGN(value, io::parse_yaml(yaml, "p.yaml"));
  return platform_from(value);
}

Platform must(const std::string& yaml) {
  auto platform = from(yaml);
  if (!platform) ADD_FAILURE() << platform.error().text();
  return platform ? *platform : Platform{};
}

bool says(const Platform& platform, const std::string& key, const std::string& word) {
  return std::any_of(platform.assumed.begin(), platform.assumed.end(),
                     [&](const auto& note) { return note.first == key && note.second.find(word) != std::string::npos; });
}

constexpr const char* kFull = R"(
name: provider A, 8 nodes
node: {type: hgx-a100-80, count: 8}
fabric: {kind: infiniband, rate: 400 Gb/s, topology: {clos: 2, ports: 64, oversubscription: 2}, routing: adaptive, placement: scattered}
ingest: {line: 10 Gb/s, efficiency: 0.9}
storage: {volume: {write: 8 GB/s, read: 9 GB/s, iops: 120000, price: 0.5 CNY/GB/month}, local: {write: 3 GB/s, read: 4 GB/s, capacity: 28 TB}}
price: {amount: 12 CNY, per: gpu-hour}
reliability: {node_mtbf: 4000 h, restart: 10 min}
measured: results/provider-a.json
)";

TEST(Platform, EveryKeyOfAFullFileArrives) {
  const Platform p = must(kFull);
  EXPECT_EQ(p.name, "provider A, 8 nodes");
  EXPECT_EQ(p.gpus(), 64);
  EXPECT_EQ(p.node.id, "hgx-a100-80");
  EXPECT_EQ(p.node.gpu.id, "a100-sxm-80");
  EXPECT_EQ(p.node.gpu_links, GpuLinks::nvswitch);
  EXPECT_DOUBLE_EQ(as_gbit_per_s(p.node.nics.rate), 400);
  EXPECT_EQ(p.fabric.tiers, 2);
  EXPECT_DOUBLE_EQ(p.fabric.oversubscription, 2);
  EXPECT_EQ(p.fabric.routing, Routing::adaptive);
  EXPECT_EQ(p.fabric.placement, Placement::scattered);
  EXPECT_DOUBLE_EQ(p.ingest->efficiency, 0.9);
  EXPECT_DOUBLE_EQ(as_gbyte_per_s(p.volume->read), 9);
  EXPECT_EQ(p.volume->price_per_gb_month->currency, "CNY");
  EXPECT_DOUBLE_EQ(p.volume->price_per_gb_month->amount, 0.5);
  EXPECT_DOUBLE_EQ(as_gbyte_per_s(p.node.local_disk->write), 3);
  EXPECT_EQ(p.node.local_disk->capacity, gbytes(28000));
  EXPECT_TRUE(p.price->per_gpu);
  EXPECT_DOUBLE_EQ(p.reliability.node_mtbf->si(), 4000 * 3600);
  EXPECT_DOUBLE_EQ(p.reliability.restart->si(), 600);
  EXPECT_EQ(p.measured, "results/provider-a.json");
  EXPECT_EQ(p.file, "p.yaml");
}

TEST(Platform, ANodeSpeltOutEqualsTheReadyMadeOne) {
  const Platform spelt = must(R"(
node: {gpu: a100-sxm-80, gpus: 8, gpu_links: {kind: nvswitch, generation: 3}, sockets: 2, pcie_switches: 4, nics: {part: cx6-hdr, count: 8, near: pcie_switch}}
)");
  const auto ready = node_type("hgx-a100-80");
  ASSERT_TRUE(ready);
  const NodeLimits a = limits_of(spelt.node), b = limits_of(*ready);
  EXPECT_EQ(a.ring, b.ring);
  EXPECT_EQ(a.gpu_to_gpu, b.gpu_to_gpu);
  EXPECT_EQ(a.node_to_network, b.node_to_network);
  EXPECT_EQ(a.host_to_gpu, b.host_to_gpu);
  EXPECT_TRUE(spelt.node.id.empty());
}

TEST(Platform, SingleFieldsOfATypeCanBeChanged) {
  const Platform off = must("node: {type: hgx-a100-80, count: 8, gpu_links: {kind: none}}");
  EXPECT_EQ(off.node.gpu_links, GpuLinks::none);
  EXPECT_EQ(off.node.link_bandwidth.si(), 0);
  EXPECT_FALSE(limits_of(off.node).ring_over_links);
  EXPECT_EQ(off.node.nics.count, 8);
  const Platform word = must("node: {type: hgx-a100-80, gpu_links: none}");
  EXPECT_EQ(word.node.gpu_links, GpuLinks::none);

  const Platform one = must("node: {type: hgx-a100-80, nics: {count: 1}}");
  EXPECT_EQ(one.node.nics.count, 1);
  EXPECT_EQ(one.node.nics.part, "cx6-hdr");
  const Platform half = must("node: {type: hgx-h100, gpus: 4}");
  EXPECT_EQ(half.gpus(), 4);
  EXPECT_EQ(half.node.link_domain, 4);
  const Platform china = must("node: {type: hgx-h100, gpu: h20}");
  EXPECT_EQ(china.node.gpu.id, "h20");
  EXPECT_EQ(china.node.gpu_links, GpuLinks::nvswitch);
  const Platform fewer = must("node: {type: hgx-a100-80, gpu_links: {links: 8}}");
  EXPECT_DOUBLE_EQ(as_gbyte_per_s(fewer.node.link_bandwidth), 200);  // an A800 in all but name
}

TEST(Platform, TheFabricOverridesTheCards) {
  const Platform p = must("node: {type: hgx-h100, count: 2}\nfabric: {kind: roce, rate: 200 Gb/s}");
  EXPECT_EQ(p.node.nics.kind, catalog::NicKind::roce);
  EXPECT_EQ(p.fabric.kind, catalog::NicKind::roce);
  EXPECT_DOUBLE_EQ(as_gbit_per_s(p.node.nics.rate), 200);
  EXPECT_TRUE(says(p, "node.nics.efficiency", "nearest roce card"));
  // stated efficiency stays
  const Platform kept = must("node: {type: hgx-h100, count: 2, nics: {efficiency: 0.5}}\nfabric: {rate: 200 Gb/s}");
  EXPECT_DOUBLE_EQ(kept.node.nics.efficiency, 0.5);
  // the same kind and rate as the card's: the card stays what it is
  const Platform same = must("node: {type: hgx-h100, count: 2}\nfabric: {kind: infiniband, rate: 400 Gb/s}");
  EXPECT_EQ(same.node.nics.part, "cx7-ndr");
}

TEST(Platform, WhatTheFileLeavesOpenIsSaid) {
  const Platform p = must("node: {type: hgx-h100, count: 4}");
  EXPECT_TRUE(says(p, "node", "hgx-h100 as catalogued"));
  EXPECT_TRUE(says(p, "node.nics.efficiency", "ConnectX-7"));
  EXPECT_TRUE(says(p, "fabric", "non-blocking infiniband"));
  EXPECT_TRUE(says(p, "fabric.topology.clos", "1 tier"));
  EXPECT_TRUE(p.fabric.present);
  const Platform bare = must("node: {gpu: l40s, gpus: 4}");
  EXPECT_TRUE(says(bare, "node.sockets", "not stated"));
  EXPECT_TRUE(says(bare, "node.pcie_switches", "none"));
  EXPECT_TRUE(says(bare, "node.pcie_bandwidth", "PCIe 4"));
  const Platform geforce = must("node: {gpu: rtx4090, gpus: 4}");
  EXPECT_FALSE(geforce.node.pcie_p2p);
  EXPECT_TRUE(says(geforce, "node.pcie_p2p", "false"));
  const Platform linked = must("node: {gpu: a100-sxm-80, gpus: 4}");
  EXPECT_TRUE(says(linked, "node.gpu_links", "none"));
}

TEST(Platform, TheFewestTiersThatCarryTheNodesAreTaken) {
  EXPECT_EQ(must("node: {type: hgx-h100, count: 8}").fabric.tiers, 1);    // 64 cards
  EXPECT_EQ(must("node: {type: hgx-h100, count: 9}").fabric.tiers, 2);    // 72
  EXPECT_EQ(must("node: {type: hgx-h100, count: 256}").fabric.tiers, 2);  // 2,048 = 64²/2
  EXPECT_EQ(must("node: {type: hgx-h100, count: 257}").fabric.tiers, 3);
}

// Rails that nothing joins are networks of their own: a switch of 64 ports carries a card of each of 64 nodes.
TEST(Platform, RailOnlyCountsCardsOfARail) {
  const Platform p = must("node: {type: hgx-h100, count: 64}\nfabric: {topology: {ports: 64, rail_only: true}, queue_pairs: 16, seed: 3}");
  EXPECT_TRUE(p.fabric.rail_only);
  EXPECT_TRUE(p.fabric.rail_optimised);
  EXPECT_EQ(p.fabric.tiers, 1);
  EXPECT_EQ(p.fabric.queue_pairs, 16);
  EXPECT_EQ(p.fabric.seed, 3U);
  EXPECT_EQ(must("node: {type: hgx-h100, count: 65}\nfabric: {topology: {ports: 64, rail_only: true}}").fabric.tiers, 2);
}

TEST(Platform, AWholeNvl72RackIsOneDomain) {
  const Platform p = must("node: {type: gb200-nvl72, count: 18}");
  EXPECT_EQ(p.gpus(), 72);
  EXPECT_EQ(p.node.link_domain, 72);
}

struct Mistake {
  const char* why;
  const char* yaml;
  int line;
  const char* message;
  const char* hint;
};

class PlatformMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(PlatformMistakes, NamesLineFoundAndNextStep) {
  const auto& m = GetParam();
  const auto platform = from(m.yaml);
  ASSERT_FALSE(platform) << m.why;
  const Error& error = platform.error();
  EXPECT_EQ(error.where.file, "p.yaml") << m.why;
  EXPECT_EQ(error.where.line, m.line) << m.why << "\n" << error.text();
  EXPECT_NE(error.message.find(m.message), std::string::npos) << m.why << "\n" << error.text();
  EXPECT_NE(error.hint.find(m.hint), std::string::npos) << m.why << "\n" << error.text();
}

INSTANTIATE_TEST_SUITE_P(
    All, PlatformMistakes,
    testing::Values(
        Mistake{"unknown node type", "node:\n  type: hgx-a100-81\n", 2, "no ready-made node", "hgx-a100-80"},
        Mistake{"unknown GPU", "node:\n  gpus: 8\n  gpu: a100-smx-80\n", 3, "a100-smx-80", "a100-sxm-80"},
        Mistake{"unknown NIC", "node:\n  gpu: l40s\n  nics:\n    part: cx7-nrd\n    count: 2\n", 4, "cx7-nrd", "cx7-ndr"},
        Mistake{"neither type nor gpu", "node:\n  gpus: 8\n", 2, "neither a ready-made `type` nor a `gpu`", "hgx-a100-80"},
        Mistake{"more GPUs than the node has", "node:\n  type: a100-4\n  gpus: 8\n", 3, "8 asked of a100-4, which has 4", "count: 2 nodes"},
        Mistake{"misspelt key", "node:\n  type: hgx-h100\n  nic: {count: 4}\n", 3, "unknown key \"nic\"", "nics"},
        Mistake{"misspelt key at the top", "nod: {type: hgx-h100}\n", 1, "unknown key \"nod\"", "node"},
        Mistake{"unit missing", "node: {type: hgx-h100, count: 2}\nfabric:\n  rate: 400\n", 3, "has no unit", "400 Gb/s"},
        Mistake{"a size instead of a rate", "node: {type: hgx-h100, count: 2}\nfabric:\n  rate: 400Gb\n", 3, "\"Gb\" is not a unit",
                "Gb/s"},
        Mistake{"small b, capital S", "node: {type: hgx-h100, count: 2}\nfabric:\n  rate: 400 Gb/S\n", 3, "\"Gb/S\" is not a unit", "Gb/s"},
        Mistake{"NVLink generation that the GPU lacks", "node:\n  type: hgx-a100-80\n  gpu_links:\n    kind: nvswitch\n    generation: 4\n",
                5, "A100 80GB SXM4, which has NVLink 3", "generation: 3"},
        Mistake{"more links than the GPU has", "node:\n  type: hgx-a100-80\n  gpu_links:\n    links: 18\n", 4, "12 links",
                "at most links: 12"},
        Mistake{"both directions added", "node:\n  type: hgx-h100\n  gpu_links:\n    bandwidth: 900 GB/s\n", 4, "450 GB/s one direction",
                "one direction"},
        Mistake{"NVSwitch with a card that has no NVLink", "node:\n  gpu: l40s\n  gpus: 8\n  gpu_links: {kind: nvswitch}\n", 4, "no NVLink",
                "gpu_links: none"},
        Mistake{"NVSwitch with PCIe cards", "node:\n  gpu: a100-pcie-80\n  gpus: 8\n  gpu_links: {kind: nvswitch}\n", 4, "NVLink 3",
                "nvlink_bridge"},
        Mistake{"xGMI with an NVIDIA GPU", "node:\n  gpu: h100-sxm\n  gpus: 8\n  gpu_links: {kind: xgmi}\n", 4, "xgmi with H100",
                "nvswitch"},
        Mistake{"a GPU put into a board of another family", "node:\n  type: hgx-h100\n  gpu: l40s\n", 2, "no NVLink", ""},
        Mistake{"mesh of too many GPUs", "node:\n  gpu: v100-sxm2-32\n  gpus: 8\n  gpu_links: {kind: nvlink_mesh}\n", 4, "needs 7 links",
                "mesh:"},
        Mistake{"mesh with a GPU that is not there",
                "node:\n  gpu: v100-sxm2-32\n  gpus: 4\n  gpu_links: {kind: nvlink_mesh, mesh: [0-7x2]}\n", 4, "0-7x2", "from 0 to 3"},
        Mistake{"mesh that uses too many links", "node:\n  gpu: v100-sxm2-32\n  gpus: 2\n  gpu_links: {kind: nvlink_mesh, mesh: [0-1x7]}\n",
                4, "would need 7 links, 6", "fewer"},
        Mistake{"domain that is no whole number of nodes", "node:\n  gpu: gb200\n  gpus: 4\n  gpu_links: {kind: nvswitch, domain: 70}\n", 4,
                "70", "72"},
        Mistake{"several nodes without a NIC", "node:\n  type: hgx-h100\n  count: 2\n  nics: {count: 0}\n", 4,
                "2 nodes must reach each other", "count"},
        Mistake{"several nodes, NICs taken away by a word", "node:\n  type: hgx-h100\n  count: 2\n  nics: none\n", 4,
                "2 nodes must reach each other", "count"},
        Mistake{"efficiency above one", "node:\n  type: hgx-h100\n  nics:\n    efficiency: 1.2\n", 4, "above 1", "at most 1"},
        Mistake{"efficiency zero", "node:\n  type: hgx-h100\n  nics:\n    efficiency: 0\n", 4, "0 is below 0.001", "at least 0.001"},
        Mistake{"ingest efficiency above one", "node: {type: hgx-h100}\ningest:\n  line: 10 Gb/s\n  efficiency: 94\n", 4, "above 1",
                "at most 1"},
        Mistake{"rate of zero", "node: {type: hgx-h100, count: 2}\nfabric:\n  rate: 0 Gb/s\n", 3, "rate of zero", "leave the key out"},
        Mistake{"near a switch that is not there", "node:\n  gpu: l40s\n  gpus: 4\n  nics:\n    part: cx7-ndr\n    near: pcie_switch\n", 6,
                "the node has none", "near: socket"},
        Mistake{"NIC without part or rate", "node:\n  gpu: l40s\n  nics:\n    count: 2\n", 4, "neither a catalogued `part` nor a `rate`",
                "cx7-ndr"},
        Mistake{"more than the PCIe slot can carry", "node:\n  type: hgx-a100-80\n  pcie_bandwidth: 64 GB/s\n", 3, "line rate is 31.5 GB/s",
                "one direction"},
        Mistake{"fabric too small", "node: {type: hgx-h100, count: 300}\nfabric:\n  topology:\n    clos: 2\n    ports: 64\n", 4,
                "carry 2048 cards, 300 nodes have 2400", "more tiers"},
        Mistake{"rail-only of three tiers",
                "node: {type: hgx-h100, count: 8}\nfabric:\n  topology: {clos: 3, ports: 64, rail_only: true}\n", 3,
                "rail_only with 3 tiers", "rail_optimised"},
        Mistake{"unknown routing", "node: {type: hgx-h100, count: 2}\nfabric:\n  routing: ecpm\n", 3, "ecpm", "ecmp"},
        Mistake{"price without a currency", "node: {type: hgx-h100}\nprice:\n  amount: 12\n  per: gpu-hour\n", 3, "no currency", "12 CNY"},
        Mistake{"price of what", "node: {type: hgx-h100}\nprice:\n  amount: 12 CNY\n", 3, "lacks the key \"per\"", "gpu-hour"},
        Mistake{"storage price", "node: {type: hgx-h100}\nstorage:\n  volume:\n    read: 8 GB/s\n    price: 0.5 CNY\n", 5, "CNY/GB/month",
                "/GB/month"},
        Mistake{"volume without a rate", "node: {type: hgx-h100}\nstorage:\n  volume:\n    iops: 10\n", 4, "neither `read` nor `write`",
                "GB/s"},
        Mistake{"a mean time without a unit", "node: {type: hgx-h100}\nreliability:\n  node_mtbf: 4000\n", 3, "has no unit", "4000 h"},
        Mistake{"nodes: none", "node: {type: hgx-h100, count: 0}\n", 1, "below 1", "at least 1"},
        Mistake{"switches for nobody", "node:\n  gpu: l40s\n  gpus: 1\n  pcie_switches: 8\n", 4, "8 switches for 1 GPUs", "left out"}));

TEST(Platform, TheSchemaNamesEveryBlock) {
  const std::string schema = io::json_schema(platform_spec());
  for (const char* word : {"\"node\"", "\"gpu_links\"", "\"fabric\"", "\"ingest\"", "\"storage\"", "\"price\"", "\"reliability\"",
                           "\"measured\"", "nvlink_bridge", "hgx-a100-80"}) {
    EXPECT_NE(schema.find(word), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace trunkline::topology
