"""Tests of the golden runner itself: it must pass what is right, fail what is wrong, and update only what changed."""
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("run_golden", os.path.join(HERE, "run_golden"))
golden = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_golden", loader))
loader.exec_module(golden)


class Matching(unittest.TestCase):
    def test_exact_lines(self):
        self.assertTrue(golden.matches(["a", "b"], ["a", "b"]))
        self.assertFalse(golden.matches(["a", "b"], ["a"]))
        self.assertFalse(golden.matches(["a"], ["a", "b"]))
        self.assertFalse(golden.matches(["a"], ["A"]))

    def test_dots_stand_for_any_number_of_lines(self):
        self.assertTrue(golden.matches(["...", "b"], ["b"]))
        self.assertTrue(golden.matches(["a", "...", "b"], ["a", "b", "x", "b"]))
        self.assertFalse(golden.matches(["a", "...", "b"], ["a", "b", "x"]))
        self.assertTrue(golden.matches(["..."], []))

    def test_a_gap_within_a_line_takes_no_regular_expression(self):
        self.assertTrue(golden.line_matches("took [..] s (all)", "took 1.2 s (all)"))
        self.assertFalse(golden.line_matches("took [..] s (all)", "took 1.2 s all"))
        self.assertFalse(golden.line_matches("a.c", "abc"))

    def test_contains_names_what_is_lacking(self):
        self.assertEqual(golden.contained(["one", "three"], ["has one", "two"]), ["three"])


class Files(unittest.TestCase):
    def run_text(self, text, update=False):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.test")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            output, sys.stdout, errors, sys.stderr = sys.stdout, open(os.devnull, "w"), sys.stderr, open(os.devnull, "w")
            try:
                counts = golden.run_file(path, "/bin/true", update)
            finally:
                sys.stdout.close()
                sys.stderr.close()
                sys.stdout, sys.stderr = output, errors
            with open(path, encoding="utf-8") as file:
                return counts, file.read()

    def test_pass_and_fail(self):
        self.assertEqual(self.run_text("run: echo hi\nexit: 0\nstdout:\n  hi\n")[0], (1, 0))
        self.assertEqual(self.run_text("run: echo hi\nexit: 0\nstdout:\n  ho\n")[0], (0, 1))
        self.assertEqual(self.run_text("run: exit 3\n")[0], (0, 1), "exit 0 is expected where exit: is left out")
        self.assertEqual(self.run_text("run: exit 3\nexit: 3\n")[0], (1, 0))
        self.assertEqual(self.run_text("run: echo bad >&2\nstderr contains:\n  worse\n")[0], (0, 1))

    def test_empty_block_expects_silence(self):
        self.assertEqual(self.run_text("run: echo hi\nstdout:\n")[0], (0, 1))

    def test_cases_of_a_file_share_a_folder(self):
        self.assertEqual(self.run_text("run: echo 1 > $T/a\n\nrun: cat $T/a\nstdout:\n  1\n")[0], (2, 0))

    def test_update_rewrites_what_differs_and_keeps_the_rest(self):
        text = "# why\nrun: echo hi\nexit: 0\nstdout:\n  ho\n\n# gap\nrun: echo a; echo b\nexit: 0\nstdout:\n  ...\n  b\n"
        counts, after = self.run_text(text, update=True)
        self.assertEqual(counts, (2, 0))
        self.assertEqual(after, text.replace("  ho", "  hi"))
        self.assertEqual(self.run_text(after, update=True)[1], after)

    def test_update_fills_a_bare_run_line(self):
        self.assertEqual(self.run_text("run: echo hi\n", update=True)[1], "run: echo hi\nexit: 0\nstdout:\n  hi\n")

    def test_malformed_files_are_named_with_the_line(self):
        for text in ["stdout:\n  x\n", "run: x\nstdout: y\n", "run: x\nfree text\n", "run: x\nexit: one\n", "run:\n", "# nothing\n"]:
            with self.assertRaises(golden.Malformed, msg=text):
                golden.parse(text, "x.test")


if __name__ == "__main__":
    unittest.main()
