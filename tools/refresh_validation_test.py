"""Tests of refresh_validation: what is stale must be seen, what a compiler rounds otherwise must not."""
import importlib.machinery
import importlib.util
import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("refresh_validation", os.path.join(HERE, "refresh_validation"))
refresh = importlib.util.module_from_spec(importlib.util.spec_from_loader("refresh_validation", loader))
loader.exec_module(refresh)


class Page(unittest.TestCase):
    def setUp(self):
        self.kept = dict(refresh.GENERATED)
        refresh.GENERATED.clear()
        refresh.GENERATED["promises"] = lambda answer: f"| mean | {answer['mean']:.1f} % |\n"
        self.page = "Words 1.\n<!-- promises: generated -->\n| mean | 7.7 % |\n<!-- end -->\nMore words.\n"

    def tearDown(self):
        refresh.GENERATED.clear()
        refresh.GENERATED.update(self.kept)

    def test_a_figure_that_moved_is_stale(self):
        self.assertEqual(refresh.stale(self.page, {"mean": 7.7}), [])
        self.assertEqual(refresh.stale(self.page, {"mean": 7.75}), [])
        self.assertEqual(refresh.stale(self.page, {"mean": 8.3}), [("| mean | 7.7 % |", "| mean | 8.3 % |")])

    def test_other_words_are_stale(self):
        self.assertEqual(len(refresh.stale(self.page.replace("mean", "median"), {"mean": 7.7})), 1)
        self.assertEqual(len(refresh.stale(self.page.replace("| mean | 7.7 % |\n", ""), {"mean": 7.7})), 1)

    def test_only_what_is_generated_is_written(self):
        self.assertEqual(refresh.refreshed(self.page, {"mean": 9.0}), self.page.replace("7.7", "9.0"))

    def test_numbers_with_commas(self):
        self.assertTrue(refresh.close("1,223 of 1,223", "1,223 of 1,223"))
        self.assertFalse(refresh.close("1,223 of 1,223", "1,100 of 1,223"))


if __name__ == "__main__":
    unittest.main()
