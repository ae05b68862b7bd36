#!/usr/bin/env python3
"""A training step with every flow of every group on its own path through the fabric: 16,384 GPUs within 1 GB, 102,400 within 6 GB.

Prints how long each took; what is checked is that every flow is there, that memory suffices and that the same input gives the same answer.
"""
import json
import os
import resource
import subprocess
import sys
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("TRUNKLINE", os.path.join(ROOT, "build/release/trunkline"))
STEP = ["predict", "examples/llama3-405b/job.yaml", "--platform", "examples/llama3-405b/platform.yaml", "--network", "flow", "--json", "-"]
LARGE = ["--set", "platform.node.count=12800", "--set", "platform.fabric.topology.ports=128", "--set", "parallelism.dp=800",
         "--set", "batch.global=12800"]


def predicted(*arguments):
    start = time.monotonic()
    done = subprocess.run([PROGRAM, *STEP, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6  # the largest child so far, GB
    answer = json.loads(done.stdout)
    network = answer["network"]
    print(f"{answer['gpus']} GPUs, {network['flows']} flows, {network['solves']} solves: {time.monotonic() - start:.2f} s, {peak:.2f} GB",
          file=sys.stderr)
    return answer, peak


class Scale(unittest.TestCase):
    def test_a_every_flow_of_16384_gpus(self):
        answer, peak = predicted()
        flows = {kind["name"]: kind["flows"] for kind in answer["network"]["kinds"]}
        # A ring of 128 nodes for each of 8 GPUs and 16 stages; interleaved stages copy to the next and back, the last to the first too.
        self.assertEqual(flows, {"data-parallel": 128 * 8 * 16, "pipeline": 2 * 16 * 1024})
        self.assertLess(peak, 1)
        again, _ = predicted()
        self.assertEqual({**answer, "context": None}, {**again, "context": None})

    def test_b_context_parallel_too(self):
        answer, peak = predicted("--set", "parallelism.cp=4", "--set", "parallelism.dp=32")
        self.assertEqual([kind["name"] for kind in answer["network"]["kinds"]], ["context-parallel", "data-parallel", "pipeline"])
        self.assertLess(peak, 1)

    def test_c_every_flow_of_102400_gpus(self):
        answer, peak = predicted(*LARGE)
        self.assertEqual(answer["network"]["flows"], 102_400 + 2 * 102_400)
        self.assertLess(peak, 6)


if __name__ == "__main__":
    unittest.main()
