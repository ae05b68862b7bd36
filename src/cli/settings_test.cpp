#include "cli/settings.hpp"

#include <gtest/gtest.h>

namespace trunkline::cli {
namespace {

io::Value parsed(const std::string& text) { return *io::parse_yaml(text, "job.yaml"); }

TEST(Setting, KeepsKeyValueAndWhoseItIs) {
  const auto job = setting_from("parallelism.tp = 8");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->key, "parallelism.tp");
  EXPECT_EQ(job->value, "8");
  EXPECT_FALSE(job->platform);
  const auto platform = setting_from("platform.node.count=4");
  ASSERT_TRUE(platform);
  EXPECT_TRUE(platform->platform);
}

TEST(Setting, ValuesMayHoldEqualSigns) { EXPECT_EQ(setting_from("model.name=a=b")->value, "a=b"); }

TEST(Setting, MisplacedKeysAreFoundByTheirLastWord) {
  const auto wrong = setting_from("tp=8");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::usage);
  EXPECT_EQ(wrong.error().hint, "did you mean parallelism.tp?");
  EXPECT_FALSE(setting_from("=8"));
  EXPECT_FALSE(setting_from("parallelism.tp"));
  EXPECT_FALSE(setting_from("parallelism.tp.more=8"));  // below a number there are no keys
}

TEST(Sweep, CutsAtCommasOutsideBrackets) {
  EXPECT_EQ(sweep_from("parallelism.tp=1, 2,4")->values, (std::vector<std::string>{"1", "2", "4"}));
  EXPECT_EQ(sweep_from("parallelism={tp: 2, pp: 1},{tp: 4, pp: 1}")->values,
            (std::vector<std::string>{"{tp: 2, pp: 1}", "{tp: 4, pp: 1}"}));
  EXPECT_FALSE(sweep_from("parallelism.tp=1,"));
}

TEST(Sweep, CombinesWithTheLastKeyFastest) {
  const auto points = points_of({{"parallelism.tp", {"1", "2"}}, {"platform.node.count", {"4", "8", "16"}}});
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 6U);
  EXPECT_EQ((*points)[1][0].value, "1");
  EXPECT_EQ((*points)[1][1].value, "8");
  EXPECT_TRUE((*points)[1][1].platform);
  EXPECT_EQ(points_of({})->size(), 1U);
}

TEST(Sweep, RefusesMoreThanAMachineShouldTry) {
  const std::vector<std::string> many(200, "1");
  EXPECT_FALSE(points_of({{"parallelism.tp", many}, {"parallelism.pp", many}}));
}

// A key that is changed in two ways would silently follow one of them.
TEST(Sweep, RefusesAKeyThatIsChangedTwice) {
  const auto error = [](const std::vector<Sweep>& sweeps, const std::vector<Setting>& settings) {
    const auto points = points_of(sweeps, settings);
    return points ? std::string("no error") : points.error().message;
  };
  const Sweep tp{"parallelism.tp", {"1", "2"}}, pp{"parallelism.pp", {"1", "2"}}, all{"parallelism", {"auto"}};
  EXPECT_EQ(error({tp, pp}, {*setting_from("parallelism.dp=4")}), "no error");
  EXPECT_EQ(error({tp, pp}, {*setting_from("parallelism=auto")}), "no error");  // the settings come first
  EXPECT_EQ(error({tp, tp}, {}), "--sweep parallelism.tp: given twice");
  EXPECT_EQ(error({tp, all}, {}), "--sweep parallelism: contains the swept key parallelism.tp");
  EXPECT_EQ(error({tp}, {*setting_from("parallelism.tp=4")}), "--sweep parallelism.tp: --set parallelism.tp=4 would have no effect");
  EXPECT_EQ(error({all}, {*setting_from("parallelism.tp=4")}), "--sweep parallelism: --set parallelism.tp=4 would have no effect");
  EXPECT_EQ(error({}, {*setting_from("batch.global=4"), *setting_from("batch.global=8")}),
            "--set batch.global: given twice, with \"4\" and \"8\"");
}

TEST(Settings, AKeyOfThePlatformWithoutItsPrefix) {
  for (const char* key : {"node.count", "ingest.line", "fabric.topology.ports", "node"})
    EXPECT_EQ(setting_from(std::string(key) + "=2").error().hint, "did you mean platform." + std::string(key) + "?");
  EXPECT_EQ(setting_from("count=2").error().hint.substr(0, 12), "did you mean");
}

TEST(Apply, ChangesOnlyItsOwnFile) {
  io::Value job = parsed("model: llama-2-7b\nparallelism: {tp: 1}\n");
  ASSERT_TRUE(apply({*setting_from("parallelism.tp=4"), *setting_from("platform.node.count=2")}, false, job));
  EXPECT_EQ(job.find("parallelism")->find("tp")->text(), "4");
  EXPECT_EQ(job.find("node"), nullptr);
}

TEST(Apply, OpensAModelThatIsOnlyAName) {
  io::Value job = parsed("model: llama-2-7b\n");
  ASSERT_TRUE(apply({*setting_from("model.layers=16")}, false, job));
  EXPECT_EQ(job.find("model")->find("config")->text(), "llama-2-7b");
  EXPECT_EQ(job.find("model")->find("layers")->text(), "16");
}

TEST(Apply, AnEmptyValueTakesTheKeyAway) {
  io::Value job = parsed("model: llama-2-7b\nrun: {steps: 10}\n");
  ASSERT_TRUE(apply({*setting_from("run=")}, false, job));
  EXPECT_TRUE(job.find("run")->is_null());
}

TEST(Apply, AnErrorNamesTheSettingAsItsPlace) {
  io::Value job = parsed("model: llama-2-7b\n");
  const auto wrong = apply({*setting_from("parallelism={tp: 2")}, false, job);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where.file, "parallelism={tp: 2");
}

}  // namespace
}  // namespace trunkline::cli
