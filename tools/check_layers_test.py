"""Tests of check_layers itself: a small tree with one violation at a time must be caught, a clean one must not."""
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("check_layers", os.path.join(HERE, "check_layers"))
layers = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_layers", loader))
loader.exec_module(layers)

CLEAN = {
    "CMakeLists.txt": "trunkline_folder(base LINK fmt::fmt)\ntrunkline_folder(io USES base LINK yaml-cpp)\n",
    "src/base/README.md": "# base\n",
    "src/base/units.hpp": "#pragma once\n#include <string>\n",
    "src/io/README.md": "# io\n",
    "src/io/value.hpp": "#pragma once\n#include \"base/units.hpp\"\n",
    "src/io/yaml_io.cpp": "#include <yaml-cpp/yaml.h>\n#include \"io/value.hpp\"\n",
    "src/io/value_test.cpp": "#include <gtest/gtest.h>\n#include \"io/value.hpp\"\n",
    "src/cli/README.md": "# cli\n",
    "src/cli/main.cpp": "#include <CLI/CLI.hpp>\n#include \"io/value.hpp\"\n",
    "src/backends/fake/README.md": "# fake\n",
    "src/backends/fake/fake.hpp": "#pragma once\n",
    "src/backends/cuda/README.md": "# cuda\n",
    "src/backends/cuda/probe.cpp": "#include <cuda_runtime.h>\n#include \"base/units.hpp\"\n",
}


class Violations(unittest.TestCase):
    def found(self, **changes):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**CLEAN, **changes}.items():
                if text is None:
                    continue
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return list(layers.violations(root))

    def expect(self, fragment, **changes):
        found = self.found(**changes)
        self.assertEqual(len(found), 1, found)
        self.assertIn(fragment, found[0])

    def test_a_clean_tree_is_clean(self):
        self.assertEqual(self.found(), [])

    def test_including_upwards(self):
        self.expect("src/base/units.hpp:2: base must not include io", **{"src/base/units.hpp": "#pragma once\n#include \"io/value.hpp\"\n"})

    def test_nobody_includes_cli_or_backends(self):
        self.expect("io must not include backends/fake", **{"src/io/value.hpp": "#pragma once\n#include \"backends/fake/fake.hpp\"\n"})

    def test_the_cli_may_include_everything(self):
        self.assertEqual(self.found(**{"src/cli/main.cpp": "#include \"backends/fake/fake.hpp\"\n#include \"base/units.hpp\"\n"}), [])

    def test_backends_never_include_each_other(self):
        self.expect("backends/cuda must not include backends/fake", **{"src/backends/cuda/probe.cpp": "#include \"backends/fake/fake.hpp\"\n"})

    def test_libraries_stay_in_their_places(self):
        self.expect("*_io.cpp", **{"src/io/value.cpp": "#include <nlohmann/json.hpp>\n"})
        self.expect("only in cli/", **{"src/io/value.cpp": "#include <CLI/CLI.hpp>\n"})
        self.expect("only in backends/", **{"src/io/value.cpp": "#include <nccl.h>\n"})
        self.expect("only in *_test.cpp", **{"src/io/value.cpp": "#include <gtest/gtest.h>\n"})

    def test_unknown_folder_and_missing_readme(self):
        self.expect("not in the table", **{"src/misc/README.md": "# misc\n", "src/misc/a.cpp": "\n"})
        self.expect("src/io: lacks a README.md", **{"src/io/README.md": None})

    def test_header_outside_the_tree_of_folders(self):
        self.expect("no file below src/", **{"src/io/value.cpp": "#include \"value.hpp\"\n"})

    def test_pragma_once_and_length(self):
        self.expect("lacks #pragma once", **{"src/io/value.hpp": "\n"})
        self.expect("501 lines", **{"src/io/value.cpp": "\n" * 501})
        self.assertEqual(self.found(**{"src/io/value.cpp": "\n" * 500}), [])

    def test_forbidden_text_in_any_file(self):
        self.expect("a path of somebody's machine", **{"docs/x.md": "see /wor" + "k/main/x\n"})
        self.expect("the host of a package registry", **{"docs/x.md": "from pypi" + ".org\n"})

    def test_cmake_links_only_what_may_be_included(self):
        self.expect("base uses io", **{"CMakeLists.txt": "trunkline_folder(base USES io)\n"})

    def test_the_table_has_no_circle(self):
        with self.assertRaises(SystemExit):
            layers.closure({"a": ["b"], "b": ["a"]})


if __name__ == "__main__":
    unittest.main()
