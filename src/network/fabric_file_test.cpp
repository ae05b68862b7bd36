#include "network/fabric_file.hpp"

#include <gtest/gtest.h>

#include "network/study.hpp"

namespace trunkline::network {
namespace {

Result<FabricFile> from(const std::string& text) {
  auto value = io::parse_yaml(text, "f.yaml");
  if (!value) return fail(value.error());
  return fabric_from(*value, "");
}

std::string error_of(const std::string& text) {
  const auto file = from(text);
  return file ? std::string() : file.error().text();
}

const std::string kTraffic = "traffic: {pattern: permutation, size: 1 MB}\n";

std::string clos(const std::string& topology) { return "topology: {" + topology + "}\nrate: 400 Gb/s\n" + kTraffic; }

TEST(FabricFile, CountsTheSwitches) {
  const auto file = from(clos("clos: 2, ports: 64, hosts: 1024, oversubscription: 3"));
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->fabric->hosts(), 1024);
  EXPECT_EQ(file->fabric->leaves(), 22);  // 48 down, 16 up
  EXPECT_EQ(as_gbyte_per_s(file->host_rate), 50);
}

// The same tree by SimGrid's notation, by counts of a switch, and spelt out.
TEST(FabricFile, FatTreeInThreeNotations) {
  const std::string head = "latency: 1 us\n";
  const auto a = from(head + clos("fat_tree: '3;8,8,16;1,8,8;1,1,1'")), b = from(head + clos("clos: 3, ports: 16, hosts: 1024"));
  const auto c = from(head + clos("clos: 3, hosts: 1024, hosts_per_leaf: 8, spines: 8, leaves_per_pod: 8, cores: 8"));
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->shape, c->shape);
  EXPECT_EQ(a->shape, b->shape);
  EXPECT_EQ(a->fabric->wires(), std::size_t(2 * 1024 * 3));
  EXPECT_NEAR(as_microseconds(a->fabric->latency(0, 1023)), 6, 1e-9);
}

TEST(FabricFile, AWordOrABlockForRouting) {
  EXPECT_EQ(from(clos("clos: 2, ports: 8") + "routing: spray\n")->run.routing.policy, topology::Routing::spray);
  const auto block = from(clos("clos: 2, ports: 8") + "routing: {policy: ecmp, queue_pairs: 4, seed: 9}\n");
  EXPECT_EQ(block->run.queue_pairs, 4);
  EXPECT_EQ(options_of(*block, 2).routing.seed, 11U);
  const auto neither = from(clos("clos: 2, ports: 8"));
  ASSERT_EQ(neither->assumed.size(), 2U);
  EXPECT_EQ(neither->assumed[1].first, "routing");
}

TEST(FabricFile, PayloadShareScalesEveryLink) {
  const auto file = from(clos("clos: 2, ports: 8, leaf_rate: 800 Gb/s") + "efficiency: 0.9\n");
  ASSERT_TRUE(file);
  EXPECT_NEAR(file->fabric->capacities()[0], 45e9, 1);
  EXPECT_NEAR(file->fabric->capacities()[file->fabric->wires() - 1], 90e9, 1);
}

// Rails without switches above: the way between two rails is inside a node, so everything crosses one switch.
TEST(FabricFile, RailOnly) {
  const auto file = from(clos("clos: 1, ports: 64, rails: 8, hosts: 256, rail_only: true"));
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->fabric->leaves(), 8);
  const Study study = *run_study(*file);
  EXPECT_EQ(study.first().max_hops, 1);
  EXPECT_EQ(study.first().unserved, 0U);
  EXPECT_FALSE(from(clos("clos: 1, ports: 64, rails: 8, hosts: 256, rail_only: true") + "routing: {pxn: false}\n"));
}

TEST(FabricFile, FaultsByName) {
  const std::string text = clos("clos: 2, hosts: 16, hosts_per_leaf: 4, spines: 4");
  const auto capacity = [](const FabricFile& file, const std::string& name) {
    for (LinkId link = 0; link < file.fabric->wires(); ++link) {
      if (file.fabric->name(link) == name) return file.fabric->capacities()[link] / 50e9;
    }
    return -1.0;
  };
  const auto both = from(text + "faults: [{link: leaf 1 - spine 2, capacity: 0.5}]\n");
  ASSERT_TRUE(both) << both.error().text();
  EXPECT_EQ(capacity(*both, "leaf 1 → spine 2"), 0.5);
  EXPECT_EQ(capacity(*both, "spine 2 → leaf 1"), 0.5);
  const auto one = from(text + "faults: [{link: spine 2 -> leaf 1}, {switch: spine 0}]\n");
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(capacity(*one, "leaf 1 → spine 2"), 1);
  EXPECT_EQ(capacity(*one, "spine 2 → leaf 1"), 0);
  EXPECT_EQ(capacity(*one, "leaf 3 → spine 0"), 0);
  EXPECT_EQ(one->faults.size(), 2U);
  EXPECT_NE(error_of(text + "faults: [{link: leaf 4 - spine 2}]\n").find("no such link: leaf 4 - spine 2"), std::string::npos);
}

// A host behind a dead link is named, and the rest goes on.
TEST(FabricFile, CutOffFlowsAreNamed) {
  const auto file = from(clos("clos: 2, hosts: 16, hosts_per_leaf: 4, spines: 4") + "faults: [{link: host 3 - leaf 0}]\n");
  ASSERT_TRUE(file);
  const Study study = *run_study(*file);
  EXPECT_EQ(study.first().cut_off.size(), 2U);  // to it and from it
  for (const std::size_t flow : study.first().cut_off) EXPECT_TRUE(study.demands[flow].source == 3 || study.demands[flow].destination == 3);
  EXPECT_GT(study.first().finish.si(), 0);
}

TEST(FabricFile, SaysWhatCannotBe) {
  const std::pair<std::string, std::string> cases[] = {
      {clos("clos: 2, ports: 8, hosts: 33"), "f.yaml:1: 33 hosts on 2 tiers of 8-port switches, which carry 32"},
      {clos("clos: 2, ports: 8, hosts: 16, hosts_per_leaf: 6, spines: 4"), "f.yaml:1: hosts_per_leaf: a leaf needs 10 ports and has 8"},
      {clos("clos: 2, ports: 8, hosts: 64, hosts_per_leaf: 4, spines: 4"), "a spine needs 16 ports and has 8"},
      {clos("clos: 2, hosts: 64, hosts_per_leaf: 4"), "lacks the key \"spines\""},
      {clos("clos: 2, ports: 8, fat_tree: '2;4,4;1,2;1,2'"), "described twice"},
      {clos("ports: 8"), "says nothing of its switches"},
      {clos("clos: 1, ports: 8, rails: 2, hosts: 17, rail_only: true"), "9 hosts on 1 tiers of 8-port switches"},
      {clos("clos: 1, ports: 8, hosts: 9"), "9 hosts on 1 tiers of 8-port switches"},
      {clos("fat_tree: '3;8,8,16;1,8,8'"), "found 3 parts"},
      {clos("fat_tree: '3;8,8,16;2,8,8;1,1,1'"), "hosts with more than one link"},
      {clos("fat_tree: '3;8,x,16;1,8,8;1,1,1'"), "found \"x\" where a number"},
      {"topology: {clos: 2, ports: 8}\nrate: 0 Gb/s\n" + kTraffic, "f.yaml:2: rate: links of 0 B/s carry nothing"},
      {"topology: {clos: 2, ports: 8}\n" + kTraffic, "f.yaml:1: the links have no rate"},
      {clos("clos: 2, ports: 8, leaf_rate: 0 Gb/s"), "leaf_rate: links of"},
      {clos("clos: 2, ports: 8") + "latency: -1 us\n", "latency: "},
      {clos("clos: 2, ports: 8") + "routing: {policy: ecmp, bursts: 4}\n", "belongs to the policy flowlet"},
      {clos("clos: 2, ports: 8") + "routing: {policy: ecmp, pxn: true}\n", "a fabric without rails"},
      {"topology: {clos: 2, ports: 8}\nrate: 1 Gb/s\ntraffic: {size: 1 MB}\n", "f.yaml:3: the traffic has no pattern"},
      {"topology: {clos: 2, ports: 8}\nrate: 1 Gb/s\ntraffic: {pattern: incast, size: 0 B}\n", "flows of 0 bytes"},
      {"topology: {clos: 2, ports: 8}\nrate: 1 Gb/s\ntraffic: {pattern: incast, size: 1 MB, fan_in: 32}\n", "32 senders and a receiver"},
      {"topology: {clos: 2, ports: 8}\nrate: 1 Gb/s\ntraffic: {pattern: ring, size: 1 MB, hosts: 40}\n", "40 of a fabric with 32"},
      {"topology: {clos: 2, ports: 8}\nrate: 1 Gb/s\ntraffic: {hosts: 2, matrix: [[0, x], [0, 0]]}\n", "from 0 to 1 found \"x\""},
      {"topology: {clos: 2, ports: 8}\nrate: 1 Gb/s\ntraffic: {hosts: 2, matrix: [[0, 1 MB]]}\n", "1 lines for 2 hosts"},
  };
  for (const auto& [text, expected] : cases) EXPECT_NE(error_of(text).find(expected), std::string::npos) << text << "\n" << error_of(text);
}

const std::string kGraph =
    "rate: 100 Gb/s\nlatency: 1 us\ntopology:\n  graph:\n    hosts: [\"a[0-3]\", \"b[0-3]\"]\n    switches: [s0, s1, \"t[0-1]\"]\n"
    "    links:\n      - {between: [\"a[0-3]\", s0]}\n      - {between: [\"b[0-3]\", s1]}\n"
    "      - {between: [s0, \"t[0-1]\"], rate: 200 Gb/s}\n      - {between: [\"t[0-1]\", s1], rate: 200 Gb/s, latency: 2 us}\n";

TEST(FabricFile, AGraphByNames) {
  const auto file = from(kGraph + kTraffic + "routing: spray\n");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->fabric->hosts(), 8);
  EXPECT_EQ(file->fabric->leaves(), 2);
  EXPECT_EQ(file->fabric->switches(0, 7), 3);
  EXPECT_NEAR(as_microseconds(file->fabric->latency(0, 7)), 5, 1e-3);
  const auto result = run_study(*file)->first();
  EXPECT_NEAR(result.rate.min.si(), 12.5e9, 1);  // 4 hosts at 100 Gb/s over two ways of 200
}

TEST(FabricFile, AGraphThatCannotBe) {
  const std::pair<std::string, std::string> cases[] = {
      {"      - {between: [a0, nobody]}\n", "f.yaml:12: no host or switch is called \"nobody\""},
      {"      - {between: [a0, a0]}\n", "a link from a0 to itself"},
      {"      - {between: [a0]}\n", "a link between 1 names"},
      {"      - {between: [\"a[0-3]\", \"t[0-1]\"]}\n", "4 names in pairs with 2"},
      {"      - {between: [a0, s0], rate: 0 Gb/s}\n", "f.yaml:12: rate: links of"},
      {"      - {between: [\"a[3-0]\", s0]}\n", "where a range was expected"},
      {"  ports: 4\n", "s0 has 6 links and 4 ports"},
      {"  clos: 2\n", "described twice"},
      {"  rails: 2\n", "topology.rails beside a graph"},
  };
  for (const auto& [more, expected] : cases)
    EXPECT_NE(error_of(kGraph + more + kTraffic).find(expected), std::string::npos) << error_of(kGraph + more + kTraffic);
  const std::string parted =
      "rate: 1 Gb/s\ntopology: {graph: {hosts: [a, b], switches: [s, t], links: [{between: [a, s]}, {between: [b, t]}]}}\n";
  EXPECT_NE(error_of(parted + kTraffic).find("no way leads from a to b"), std::string::npos);
  const std::string alone = "rate: 1 Gb/s\ntopology: {graph: {hosts: [a, b], switches: [s], links: [{between: [a, s]}]}}\n";
  EXPECT_NE(error_of(alone + kTraffic).find("host b has no link"), std::string::npos);
}

// A cut link of a graph takes its flows along and no other.
TEST(FabricFile, AGraphWithAFault) {
  const auto one_way_left = from(kGraph + kTraffic + "faults: [{link: s0 - t0}]\n");
  ASSERT_TRUE(one_way_left) << one_way_left.error().text();
  EXPECT_EQ(run_study(*one_way_left)->first().unserved, 0U);
  const auto cut = from(kGraph + kTraffic + "faults: [{link: a2 - s0}]\n");
  ASSERT_TRUE(cut);
  EXPECT_EQ(run_study(*cut)->first().cut_off.size(), 2U);
}

// A key without a value is as good as absent, whichever it is.
TEST(FabricFile, KeysWithoutAValueAreAbsent) {
  const auto empty = [](const io::ObjectSpec& spec) {
    std::string out;
    for (const auto& field : spec.fields) out += (out.empty() ? "" : ", ") + field.name + ": ";
    return "{" + out + "}";
  };
  for (const auto& field : fabric_spec().fields) {
    if (!field.object || field.type != io::FieldType::object) continue;
    const std::string text = field.name + ": " + empty(*field.object) + "\n";
    for (const char* other : {"topology: {clos: 2, ports: 8}\n", "traffic: {pattern: ring, size: 1 MB}\n", "rate: 1 Gb/s\n"})
      EXPECT_FALSE(error_of(text + other).empty());
  }
  EXPECT_NE(error_of("topology: {graph: }\nrate: 1 Gb/s\n" + kTraffic).find("says nothing of its switches"), std::string::npos);
  EXPECT_NE(error_of("topology: {clos: }\nrate: 1 Gb/s\n" + kTraffic).find("says nothing of its switches"), std::string::npos);
  EXPECT_EQ(
      error_of("topology: {clos: 2, ports: 8, graph: , fat_tree: , spines: }\nrate: 1 Gb/s\nrouting:\nlossless:\nfaults:\n" + kTraffic),
      "");
}

TEST(Study, SeedsMoveRoutesAndTraffic) {
  const auto file = from(clos("clos: 2, ports: 16, hosts: 128"));
  const Study study = *run_study(*file, 20);
  ASSERT_EQ(study.runs.size(), 20U);
  const Spread s = study.spread([](const RunResult& r) { return r.completion.max.si(); });
  EXPECT_LT(s.min, s.max);
  EXPECT_LE(s.min, s.low);
  EXPECT_LE(s.low, s.median);
  EXPECT_LE(s.median, s.high);
  // The first seed is the file's own.
  EXPECT_EQ(run_study(*file)->first().completion.max, study.first().completion.max);
}

TEST(Study, ARingThatIsCutNeverEnds) {
  const auto file = from(
      "topology: {clos: 1, ports: 8}\nrate: 1 Gb/s\nfaults: [{link: host 3 -> leaf 0}]\n"
      "traffic: {pattern: ring_all_reduce, size: 8 MB}\n");
  ASSERT_TRUE(file) << file.error().text();
  const auto study = run_study(*file);
  ASSERT_TRUE(study);
  EXPECT_EQ(study->first().finish.si(), 0);
  EXPECT_EQ(study->first().cut_off.size(), 1U);
}

TEST(Study, SpreadIsOfOrderStatistics) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const Spread s = spread_of(values);
  EXPECT_EQ(s.low, 5);
  EXPECT_EQ(s.median, 50);
  EXPECT_EQ(s.high, 95);
  EXPECT_EQ(s.mean, 50.5);
}

}  // namespace
}  // namespace trunkline::network
