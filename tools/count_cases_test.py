"""Tests of count_cases: a failure must never be counted away."""
import importlib.machinery
import importlib.util
import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("count_cases", os.path.join(HERE, "count_cases"))
cases = importlib.util.module_from_spec(importlib.util.spec_from_loader("count_cases", loader))
loader.exec_module(cases)


class Count(unittest.TestCase):
    def test_googletest(self):
        self.assertEqual(cases.count("[==========] 3 tests ran.\n[  PASSED  ] 3 tests.\n", True), (3, 0, 0))
        self.assertEqual(cases.count("[  PASSED  ] 1 test.\n[  FAILED  ] 2 tests, listed below:\n[  FAILED  ] A.b\n", False), (1, 2, 0))
        self.assertEqual(cases.count("[  PASSED  ] 1 test.\n[  SKIPPED ] 1 test, listed below:\n", True), (1, 0, 1))

    def test_plain_line(self):
        self.assertEqual(cases.count("x\n4 passed, 1 failed\n", False), (4, 1, 0))
        self.assertEqual(cases.count("2 passed, 0 failed\nmore\n3 passed, 0 failed\n", True), (3, 0, 0), "the last line counts")

    def test_unittest(self):
        self.assertEqual(cases.count("Ran 10 tests in 0.1s\n\nOK\n", True), (10, 0, 0))
        self.assertEqual(cases.count("Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=1)\n", False), (3, 2, 0))
        self.assertEqual(cases.count("Ran 5 tests in 0.1s\n\nOK (skipped=2)\n", True), (3, 0, 2))

    def test_no_closing_line(self):
        self.assertEqual(cases.count("fine\n", True), (1, 0, 0))
        self.assertEqual(cases.count("Segmentation fault\n", False), (0, 1, 0))

    def test_a_crash_after_a_good_closing_line_is_a_failure(self):
        self.assertEqual(cases.count("[  PASSED  ] 3 tests.\nLeakSanitizer: detected memory leaks\n", False), (3, 1, 0))


if __name__ == "__main__":
    unittest.main()
