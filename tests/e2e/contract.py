#!/usr/bin/env python3
"""What programs may rely on: JSON keys and their sums, files, exit statuses. Runs the program in $TRUNKLINE on the examples."""
import csv
import glob
import json
import os
import resource
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("TRUNKLINE", os.path.join(ROOT, "build/release/trunkline"))
JOBS = {
    "examples/llama2-70b-finetune/job.yaml": "examples/llama2-70b-finetune/nvlink-ib400.yaml",
    "examples/clip-100m/job.yaml": "examples/clip-100m/provider-b.yaml",
    "examples/memory-wall/job.yaml": "examples/memory-wall/h100.yaml",
    "examples/llama3-405b/job.yaml": "examples/llama3-405b/platform.yaml",
}
PREDICTION = {"step_s", "samples_per_s", "tokens_per_s", "tokens_per_s_per_gpu", "model_flops_per_gpu_per_s", "mfu", "hfu", "breakdown", "memory",
              "scaling", "epoch", "cost", "bottleneck", "interval", "assumed", "parallelism"}
BREAKDOWN = ["compute_s", "exposed_comm_s", "bubble_s", "data_wait_s", "checkpoint_s", "other_s"]


def run(*arguments, status=0):
    done = subprocess.run([PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True, env=dict(os.environ, NO_COLOR="1", COLUMNS="100"),
                          check=False)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{' '.join(arguments)}: exit status {done.returncode}\n{done.stderr}")
    return done


def answer(*arguments, status=0):
    return json.loads(run(*arguments, "--json", "-", status=status).stdout)


class Prediction(unittest.TestCase):
    def each(self):
        return [answer("predict", job, "--platform", platform) for job, platform in JOBS.items()]

    def test_has_the_promised_keys(self):
        for p in self.each():
            self.assertLessEqual(PREDICTION, set(p))
            self.assertEqual(BREAKDOWN, list(p["breakdown"]))
            self.assertLessEqual({"per_gpu_bytes", "capacity_bytes", "fits", "parts"}, set(p["memory"]))
            self.assertLessEqual({"baseline_gpus", "speedup", "efficiency"}, set(p["scaling"]))
            self.assertLessEqual({"trunk", "link", "share"}, set(p["bottleneck"]))
            self.assertEqual({"low_s", "high_s"}, set(p["interval"]))
            self.assertEqual({"tp", "pp", "vpp", "dp", "cp", "ep", "sharding", "micro_batch"}, set(p["parallelism"]))
            self.assertLessEqual({"schema_version", "tool_version", "command_line"}, set(p["context"]))

    def test_breakdown_adds_up_to_the_step_exactly(self):
        for p in self.each():
            total = 0.0
            for part in BREAKDOWN:
                self.assertGreaterEqual(p["breakdown"][part], 0)
                total += p["breakdown"][part]
            self.assertEqual(total, p["step_s"])

    def test_memory_parts_add_up(self):
        for p in self.each():
            self.assertEqual(sum(p["memory"]["parts"].values()), p["memory"]["per_gpu_bytes"])

    def test_figures_agree_with_each_other(self):
        for p in self.each():
            q = p["parallelism"]
            self.assertEqual(q["tp"] * q["pp"] * q["cp"] * q["dp"], p["gpus"])
            self.assertAlmostEqual(p["tokens_per_s_per_gpu"] * p["gpus"], p["tokens_per_s"], delta=1e-9 * p["tokens_per_s"])
            self.assertAlmostEqual(p["samples_per_s"] * p["step_s"], p["job"]["global_batch"], delta=1e-6)
            self.assertLessEqual(p["interval"]["low_s"], p["step_s"])
            self.assertGreaterEqual(p["interval"]["high_s"], p["step_s"])
            self.assertTrue(0 < p["mfu"] <= p["hfu"] < 1)

    def test_epoch_adds_up_when_staging_comes_first(self):
        for p in self.each():
            if p["epoch"]:
                e = p["epoch"]
                self.assertAlmostEqual(e["staging_s"] + e["compute_s"] + e["sync_s"] + e["rest_s"], e["s"], delta=1e-9 * e["s"])

    def test_what_is_absent_is_null(self):
        p = answer("predict", "examples/memory-wall/job.yaml", "--platform", "examples/memory-wall/h100.yaml")
        for key in ("epoch", "run", "cost", "cost_per_hour"):
            self.assertIsNone(p[key])

    def test_several_platforms_and_sweeps_give_a_list(self):
        platforms = [a for name in ("network-only", "nvlink-ib400") for a in ("--platform", f"examples/llama2-70b-finetune/{name}.yaml")]
        two = answer("predict", "examples/llama2-70b-finetune/job.yaml", *platforms)
        self.assertEqual(2, len(two["predictions"]))
        for p in two["predictions"]:
            self.assertLessEqual(PREDICTION, set(p))
        swept = answer("predict", "examples/llama2-70b-finetune/job.yaml", *platforms, "--sweep", "batch.global=64,128,256")
        self.assertEqual([{"batch.global": str(b)} for b in (64, 64, 128, 128, 256, 256)], [p["set"] for p in swept["predictions"]])

    def test_an_impossible_point_carries_its_error(self):
        swept = answer("predict", "examples/memory-wall/job.yaml", "--platform", "examples/memory-wall/h100.yaml", "--sweep", "parallelism.tp=8,16",
                       status=1)
        self.assertIn("step_s", swept["predictions"][0])
        self.assertIn("does not divide", swept["predictions"][1]["error"])

    def test_set_changes_the_job_and_the_platform(self):
        base = ("predict", "examples/clip-100m/job.yaml", "--platform", "examples/clip-100m/provider-b.yaml")
        p = answer(*base, "--set", "batch.micro=256", "--set", "platform.node.count=8", "--set", "data=", "--set", "run=")
        self.assertEqual((256, 64), (p["parallelism"]["micro_batch"], p["gpus"]))
        self.assertIsNone(p["epoch"])

    def test_same_command_same_bytes(self):
        arguments = ("predict", "examples/llama3-405b/job.yaml", "--platform", "examples/llama3-405b/platform.yaml", "--json", "-")
        self.assertEqual(run(*arguments).stdout, run(*arguments).stdout)

    def test_csv_holds_the_numbers_of_the_json(self):
        with tempfile.TemporaryDirectory() as folder:
            table, whole = os.path.join(folder, "p.csv"), os.path.join(folder, "p.json")
            done = run("predict", "examples/clip-100m/job.yaml", "--platform", "examples/clip-100m/provider-b.yaml", "-o", table, "--json", whole)
            self.assertIn("throughput", done.stdout)  # people still get their table
            with open(table, encoding="utf-8") as file:
                row = next(csv.DictReader(file))
            with open(whole, encoding="utf-8") as file:
                p = json.load(file)
        for key in ("step_s", "samples_per_s", "mfu"):
            self.assertEqual(float(row[key]), p[key])
        self.assertEqual(float(row["bubble_s"]), p["breakdown"]["bubble_s"])

    def test_largest_example_stays_small(self):
        run("predict", "examples/llama3-405b/job.yaml", "--platform", "examples/llama3-405b/platform.yaml")
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 200 * 1024)


class Timeline(unittest.TestCase):
    def trace(self, job, platform, *more):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.json")
            p = answer("predict", job, "--platform", platform, "--timeline", path, *more)
            with open(path, encoding="utf-8") as file:
                return p, [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]

    def check_lanes(self, p, events):
        """Each lane's events follow each other without a gap or an overlap, and their durations add up to the step."""
        for stage in range(p["parallelism"]["pp"]):
            lane = sorted((e["ts"], e["dur"]) for e in events if e["tid"] == stage)
            for before, after in zip(lane, lane[1:]):
                self.assertAlmostEqual(before[0] + before[1], after[0], delta=1e-5 + 1e-9 * after[0])  # microseconds
            self.assertAlmostEqual(sum(e[1] for e in lane) * 1e-6, p["step_s"], delta=1e-9 * p["step_s"])
            idle = sum(e["dur"] for e in events if e["tid"] == stage and e["cat"] == "bubble") * 1e-6
            if stage == p["detail"]["busiest_stage"]:
                self.assertAlmostEqual(idle, p["breakdown"]["bubble_s"], delta=1e-9 * p["step_s"])

    def passes(self, p, events, split=False):
        """Every micro-batch goes through every chunk of every stage once each way."""
        q = p["parallelism"]
        micro_batches = p["job"]["global_batch"] // q["dp"] // q["micro_batch"]
        ways = ["forward", "backward"] + (["weight gradients"] if split else [])
        expected = sorted((s, c, m, way) for s in range(q["pp"]) for c in range(q["vpp"]) for m in range(micro_batches) for way in ways)
        found = sorted((e["tid"], e["args"]["chunk"], e["args"]["micro_batch"], e["cat"]) for e in events if "chunk" in e["args"])
        self.assertEqual(expected, found)

    def test_fills_the_step_of_an_interleaved_pipeline(self):
        p, events = self.trace("examples/llama3-405b/job.yaml", "examples/llama3-405b/platform.yaml")
        self.check_lanes(p, events)
        self.passes(p, events)

    def test_shows_every_schedule(self):
        for schedule in ("1f1b", "gpipe", "zero-bubble-1p", "zero-bubble-2p"):
            p, events = self.trace("tests/golden/input/job.yaml", "tests/golden/input/platform.yaml", "--set", "parallelism.pp=4", "--set",
                                   f"parallelism.schedule={schedule}")
            self.check_lanes(p, events)
            self.passes(p, events, split=schedule.startswith("zero"))

    def test_shows_what_surrounds_the_passes(self):
        p, events = self.trace("examples/clip-100m/job.yaml", "examples/clip-100m/provider-a.yaml")
        self.check_lanes(p, events)
        waits = [e["dur"] * 1e-6 for e in events if e["cat"] == "data"]
        self.assertAlmostEqual(sum(waits), p["breakdown"]["data_wait_s"], delta=1e-9)
        self.assertIn("optimizer", {e["cat"] for e in events})


class Properties(unittest.TestCase):
    def test_a_faster_line_never_makes_an_epoch_longer(self):
        rates = "1 Gb/s,10 Gb/s,25 Gb/s,100 Gb/s"
        for staging in ("before", "overlap", "none"):
            swept = answer("predict", "examples/clip-100m/job.yaml", "--platform", "examples/clip-100m/provider-b.yaml", "--set",
                           f"data.staging={staging}", "--sweep", f"platform.ingest.line={rates}")
            epochs = [p["epoch"]["s"] for p in swept["predictions"]]
            self.assertEqual(sorted(epochs, reverse=True), epochs)

    def test_overlapped_staging_is_never_slower(self):
        for provider in ("a", "b"):
            swept = answer("predict", "examples/clip-100m/job.yaml", "--platform", f"examples/clip-100m/provider-{provider}.yaml", "--sweep",
                           "data.staging=before,overlap")
            before, overlap = [p["epoch"]["s"] for p in swept["predictions"]]
            self.assertLessEqual(overlap, before)


class Validation(unittest.TestCase):
    def test_rows_tables_and_skipped_agree(self):
        files = ["data/published/fms_fsdp.csv", "data/published/llm_foundry_mpt.csv", "data/published/nccl_results.csv"]
        v = answer("validate", *files)
        total = 0
        for name in files:
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                total += sum(1 for _ in csv.DictReader(file))
        self.assertEqual(total, len(v["rows"]) + len(v["skipped"]))
        self.assertEqual(total, sum(t["rows"] for t in v["tables"]))
        for eligible, key in ((True, "skipped"), (False, "left_out")):
            self.assertEqual(sum(s["eligible"] is eligible for s in v["skipped"]), sum(t[key] for t in v["tables"]))
        for t in v["tables"]:
            self.assertLessEqual({"file", "table_id", "kind", "rows", "eligible", "predicted", "skipped", "median_abs_error", "mean_abs_error",
                                  "mean_signed_error"}, set(t))
            self.assertIn(t["file"], files)
            self.assertEqual(t["rows"], t["eligible"] + t["beside"] + t["left_out"])
            self.assertEqual(t["eligible"], t["predicted"] + t["skipped"])
        for r in v["rows"]:
            self.assertLessEqual({"id", "file", "table_id", "measured_s", "predicted_s", "low_s", "high_s", "error", "assumed"}, set(r))
            if r["measured_s"] is not None:
                self.assertAlmostEqual(r["predicted_s"] / r["measured_s"] - 1, r["error"], delta=1e-9)
        for s in v["skipped"]:
            self.assertTrue(s["reason"])


class Streams(unittest.TestCase):
    def test_json_on_standard_output_is_alone_there(self):
        text = run("predict", "examples/clip-100m/job.yaml", "--platform", "examples/clip-100m/provider-b.yaml", "--json", "-").stdout
        self.assertTrue(text.startswith("{") and text.endswith("}\n"))

    def test_examples_can_all_be_read(self):
        for path in sorted(glob.glob(os.path.join(ROOT, "examples/*/*.yaml"))):
            if os.path.basename(os.path.dirname(path)) == "fabric":
                self.assertIn("completion", run("fabric", path).stdout)
            elif os.path.basename(path) != "job.yaml":
                self.assertIn("limits of the node", run("topo", path).stdout)


class Demo(unittest.TestCase):
    """The sentences of the demonstration are true of its figures."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.done = subprocess.run([os.path.join(ROOT, "examples/run_demo"), cls.folder.name], cwd=ROOT, capture_output=True, text=True,
                                  env=dict(os.environ, TRUNKLINE=PROGRAM, NO_COLOR="1"), check=False)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def figures(self, name):
        with open(os.path.join(self.folder.name, name + ".json"), encoding="utf-8") as file:
            return json.load(file)

    def test_runs(self):
        self.assertEqual(0, self.done.returncode, self.done.stderr)
        self.assertIn("The answers as JSON lie in", self.done.stdout)

    def test_seventy_billion_on_one_node(self):
        self.assertFalse(self.figures("70b-one-node")["memory"]["fits"])
        kinds = {p["set"]["training.kind"]: p["memory"]["fits"] for p in self.figures("70b-one-node-kinds")["predictions"]}
        self.assertEqual({"full": False, "lora": True, "qlora": True}, kinds)
        fits = [p["memory"]["fits"] for p in self.figures("70b-nodes")["predictions"]]
        self.assertFalse(fits[0])
        self.assertTrue(fits[-1])

    def test_nvlink_and_network_beat_one_kind_of_path(self):
        only, pcie, roce, both = [p["step_s"] for p in self.figures("70b-wiring")["predictions"]]
        self.assertLess(both, min(only, pcie))
        self.assertLess(roce, min(only, pcie))

    def test_data_arrives_too_slowly_at_provider_a(self):
        a, b = self.figures("clip-before")["predictions"]
        self.assertGreater(a["epoch"]["staging_s"], b["epoch"]["staging_s"])
        self.assertGreater(a["breakdown"]["data_wait_s"], 0)

    def test_memory_wall(self):
        def cell(name, card, model, gpus):
            return next(p for p in self.figures(name)["predictions"]
                        if p["platform"].startswith(card) and p["set"] == {"model": model, "platform.node.gpus": str(gpus)})
        self.assertFalse(cell("wall-qlora", "RTX 4090", "llama-2-70b", 1)["memory"]["fits"])
        self.assertTrue(cell("wall-qlora", "RTX 4090", "llama-2-70b", 8)["memory"]["fits"])
        self.assertLess(cell("wall-lora", "RTX 4090", "llama-2-13b", 2)["tokens_per_s"], cell("wall-lora", "L40S", "llama-2-13b", 1)["tokens_per_s"])
        for card in ("RTX 4090", "L40S"):
            halves = next(p for p in self.figures("wall-tensor")["predictions"] if p["platform"].startswith(card) and p["set"]["parallelism.tp"] == "2")
            self.assertLess(halves["tokens_per_s"], 1.05 * cell("wall-qlora", card, "llama-2-7b", 1)["tokens_per_s"])


if __name__ == "__main__":
    unittest.main()
