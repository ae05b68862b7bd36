#include "network/traffic.hpp"

#include <gtest/gtest.h>

#include <set>

namespace trunkline::network {
namespace {

Clos fabric(int hosts, int hosts_per_leaf) {
  ClosSpec spec;
  spec.hosts = hosts;
  spec.hosts_per_leaf = hosts_per_leaf;
  spec.host_rate = spec.leaf_rate = gbit_per_s(400);
  return *Clos::build(spec);
}

TEST(Flows, ReadsLines) {
  const auto flows =
      flows_from("# source destination bytes start_s\n275 583 1000000 0.25\n\n 0\t1 5 0  # to the neighbour\r\n", "a.flows", 1024);
  ASSERT_TRUE(flows);
  ASSERT_EQ(flows->size(), 2U);
  EXPECT_EQ((*flows)[0].source, 275);
  EXPECT_EQ((*flows)[0].destination, 583);
  EXPECT_EQ((*flows)[0].size.count(), 1'000'000);
  EXPECT_EQ((*flows)[0].start.si(), 0.25);
  EXPECT_EQ((*flows)[1].size.count(), 5);
}

TEST(Flows, SaysWhatIsWrongAndWhere) {
  const auto text = [](std::string_view flows) {
    const auto result = flows_from(flows, "a.flows", 16);
    return result ? std::string() : result.error().text();
  };
  EXPECT_NE(text("0 1 5 0\n0 x 5 0\n").find("a.flows:2: found \"x\" where a host number was expected"), std::string::npos);
  EXPECT_NE(text("0 16 5 0\n").find("host 16 of a fabric with hosts 0 to 15"), std::string::npos);
  EXPECT_NE(text("0 1 1MB 0\n").find("found \"1MB\" where whole bytes"), std::string::npos);
  EXPECT_NE(text("0 1 -5 0\n").find("a.flows:1: a flow of -5 bytes"), std::string::npos);
  EXPECT_NE(text("0 1 0 0\n").find("a flow of 0 bytes"), std::string::npos);
  EXPECT_NE(text("0 1 9000000000000000000 0\n").find("a flow of 9000000000000000000 bytes"), std::string::npos);
  EXPECT_NE(text("0 1 5 -1\n").find("start time from 0"), std::string::npos);
  EXPECT_NE(text("0 1 5 1e12\n").find("start time from 0"), std::string::npos);
  EXPECT_NE(text("0 1 5\n").find("found \"\" where a start time"), std::string::npos);
  EXPECT_NE(text("0 1 5 nan\n").find("start time"), std::string::npos);
  EXPECT_NE(text("0 1 5 0 7\n").find("found \"7\" after the start time"), std::string::npos);
  EXPECT_NE(text("# nothing\n").find("no flows"), std::string::npos);
  EXPECT_FALSE(read_flows("no/such.flows", 4));
}

TEST(Matrix, ReadsCellsThatSend) {
  const auto demands = matrix_from("# bytes\n0, 5 7\n1,0,0\n\n0 2 9\n", "a.csv", 3);
  ASSERT_TRUE(demands) << demands.error().text();
  ASSERT_EQ(demands->size(), 4U);  // what a host sends itself crosses no link
  EXPECT_EQ((*demands)[1].destination, 2);
  EXPECT_EQ((*demands)[1].size.count(), 7);
  EXPECT_EQ((*demands)[3].source, 2);
}

TEST(Matrix, SaysWhatIsWrongAndWhere) {
  const auto text = [](std::string_view matrix) {
    const auto result = matrix_from(matrix, "a.csv", 2);
    return result ? std::string() : result.error().text();
  };
  EXPECT_NE(text("0 1\n1 x\n").find("a.csv:2: found \"x\" where whole bytes"), std::string::npos);
  EXPECT_NE(text("0 1\n1\n").find("a.csv:2: line 1 of the matrix has 1 cells for 2 hosts"), std::string::npos);
  EXPECT_NE(text("0 1 2\n").find("line 0 of the matrix has 3 cells"), std::string::npos);
  EXPECT_NE(text("0 1\n").find("a matrix of 1 lines for 2 hosts"), std::string::npos);
  EXPECT_NE(text("0 1\n1 0\n0 0\n").find("a.csv:3: the matrix has more than 2 lines"), std::string::npos);
  EXPECT_NE(text("0 -1\n1 0\n").find("a flow of -1 bytes"), std::string::npos);
  EXPECT_NE(text("0 0\n0 0\n").find("nobody sends"), std::string::npos);
}

TEST(Patterns, PermutationLeavesEveryLeaf) {
  const Clos clos = fabric(512, 32);
  const auto a = permutation(clos, Bytes(7), 1), b = permutation(clos, Bytes(7), 2);
  ASSERT_EQ(a.size(), 512U);
  std::set<int> receivers;
  int same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NE(clos.leaf_of(a[i].source), clos.leaf_of(a[i].destination));
    receivers.insert(a[i].destination);
    same += a[i].destination == b[i].destination;
  }
  EXPECT_EQ(receivers.size(), 512U);
  EXPECT_LT(same, 20);
  for (const auto& demand : permutation(fabric(8, 32), Bytes(1), 3)) EXPECT_NE(demand.source, demand.destination);  // one leaf only
}

TEST(Patterns, CountsAndEnds) {
  EXPECT_EQ(all_to_all(8, Bytes(1)).size(), 56U);
  EXPECT_EQ(incast(5, Bytes(1)).size(), 5U);
  EXPECT_EQ(ring(4, Bytes(1)).back().destination, 0);
  EXPECT_TRUE(ring(1, Bytes(1)).empty());
  for (const auto& demand : random_pairs(3, 500, Bytes(1), 9)) EXPECT_NE(demand.source, demand.destination);
}

}  // namespace
}  // namespace trunkline::network
