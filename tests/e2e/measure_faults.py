#!/usr/bin/env python3
"""What `trunkline measure` does when it is stopped, when the disk is full, when a folder cannot be used: the message, the exit status, a
valid result file, nothing left behind. Runs the program in $TRUNKLINE on small files."""
import json
import os
import pty
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("TRUNKLINE", os.path.join(ROOT, "build/release/trunkline"))
ENVIRONMENT = dict(os.environ, NO_COLOR="1", COLUMNS="120", LC_ALL="C.UTF-8")
SMALL = ["--size", "32MiB"]
FOREVER = ["--repetitions", "1000000"]


def run(*arguments, **options):
    return subprocess.run([PROGRAM, "measure", *arguments], capture_output=True, text=True, env=ENVIRONMENT, check=False, stdin=subprocess.DEVNULL,
                          timeout=240, **options)


def result(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def started(*arguments):
    """The program with its standard error on a terminal, after it has begun the first repetitions."""
    try:
        terminal, other = pty.openpty()
    except OSError as error:  # a changed root without /dev/pts
        raise unittest.SkipTest(f"no terminal can be made here: {error}") from None
    process = subprocess.Popen([PROGRAM, "measure", *arguments], stdout=subprocess.PIPE, stderr=other, env=ENVIRONMENT, text=True,
                               stdin=subprocess.DEVNULL)
    os.close(other)
    seen = b""
    while b" s, all done in at most " not in seen:
        ready, _, _ = select.select([terminal], [], [], 120)
        if not ready:
            process.kill()
            raise AssertionError(f"no progress on the terminal: {seen}")
        try:
            seen += os.read(terminal, 65536)
        except OSError:  # the program ended
            raise AssertionError(f"ended early: {seen}") from None
    return process, terminal


def finish(process, terminal):
    """Reads until the program ends; its standard output, its terminal, its exit status."""
    text = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    out = process.stdout.read()
    process.stdout.close()
    os.close(terminal)
    return out, text.decode("utf-8", "replace"), process.wait()


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="measure-faults.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.work = os.path.join(self.folder, "work")
        os.mkdir(self.work)
        self.file = os.path.join(self.folder, "r.json")

    def storage(self, probe, *more):
        return [probe, "--path", self.work, *SMALL, *more, "-o", self.file]


class Stopped(Folder):
    def stop(self, signal_number):
        for probe in ("storage.write", "storage.random_read", "storage.checkpoint"):
            with self.subTest(probe=probe):
                process, terminal = started(*self.storage(probe, *FOREVER), "host.memory_read")
                process.send_signal(signal_number)
                out, text, status = finish(process, terminal)
                self.assertEqual(130, status, text)
                self.assertIn("interrupted: ", text)
                self.assertIn("interrupted", out)  # people still see what there is
                partial = result(self.file)
                self.assertFalse(partial["complete"])
                self.assertEqual([], os.listdir(self.work))
                one = [p for p in partial["probes"] if p["status"] == "failed"]
                self.assertEqual(["interrupted"], [p["reason"] for p in one])
                for metric in one[0]["metrics"]:
                    self.assertEqual("interrupted", metric["stopped"])

    def test_control_c_leaves_a_valid_partial_result_and_nothing_else(self):
        self.stop(signal.SIGINT)

    def test_a_request_to_end_does_too(self):
        self.stop(signal.SIGTERM)

    def test_samples_taken_before_are_kept(self):
        process, terminal = started(*self.storage("storage.random_read", *FOREVER))
        process.send_signal(signal.SIGINT)
        finish(process, terminal)
        metric = result(self.file)["probes"][0]["metrics"][0]
        self.assertEqual(metric["n"], len(metric["samples"]))
        self.assertGreaterEqual(len(metric["samples"]) + len(metric["warmup"]), 1)

    def test_killed_outright_the_file_is_valid_and_the_next_run_cleans_up(self):
        process, terminal = started(*self.storage("storage.checkpoint", *FOREVER))
        process.kill()
        finish(process, terminal)
        self.assertEqual(False, result(self.file)["complete"])
        # The kill may have come between two checkpoints; what is left, if anything, is a folder that the next run removes.
        self.assertTrue(all(name.startswith("trunkline-checkpoint.") for name in os.listdir(self.work)))
        done = run(*self.storage("storage.checkpoint", "--repetitions", "1"))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual([], os.listdir(self.work))

    def test_killed_outright_files_without_a_name_vanish(self):
        process, terminal = started(*self.storage("storage.write", *FOREVER))
        process.kill()
        finish(process, terminal)
        self.assertEqual([], os.listdir(self.work))


class FullDisk(Folder):
    def small_disk(self, options, *arguments):
        """Runs the program with a small file system in memory at self.work, in a mount namespace of its own."""
        command = f'mount -t tmpfs -o {options} none "$0" && "$@"; status=$?; echo "left: $(ls -A "$0")" >&2; exit $status'
        done = subprocess.run(["unshare", "-rm", "bash", "-c", command, self.work, PROGRAM, "measure", *arguments], capture_output=True, text=True,
                              env=ENVIRONMENT, check=False, timeout=240)
        if "unshare" in done.stderr or "mount:" in done.stderr:
            self.skipTest(f"no mount namespaces here: {done.stderr.strip()}")
        return done

    def test_more_than_fits_is_refused_before_anything_is_written(self):
        done = self.small_disk("size=100m", "storage.checkpoint", "--path", self.work, "--size", "90MiB", "-o", self.file)
        self.assertEqual(3, done.returncode, done.stderr)
        self.assertIn("needs 94.4 MB", done.stdout)
        self.assertEqual("waived", result(self.file)["probes"][0]["status"])

    def test_space_that_ends_in_the_middle_fails_and_leaves_nothing(self):
        # Three files are all that this file system takes: itself, the checkpoint's folder and a shard. The index finds no place.
        done = self.small_disk("size=200m,nr_inodes=3", "storage.checkpoint", "--path", self.work, "--size", "64MiB", "-o", self.file)
        self.assertEqual(4, done.returncode, done.stderr)
        probe = result(self.file)["probes"][0]
        self.assertEqual("failed", probe["status"])
        self.assertIn("No space left on device", probe["reason"])
        self.assertTrue(result(self.file)["complete"])
        self.assertEqual("left:", done.stderr.splitlines()[-1].strip())

    def test_a_result_file_on_a_full_disk_costs_no_answer(self):
        file = os.path.join(self.work, "r.json")
        done = self.small_disk("size=4k,nr_inodes=2", "host.memory_read", "--repetitions", "1", "-o", file)
        self.assertEqual(4, done.returncode, done.stderr)
        self.assertIn("host.memory_read", done.stdout)
        self.assertIn("No space left on device", done.stderr)


class Folders(Folder):
    def test_no_such_folder(self):
        done = run("storage.write", "--path", os.path.join(self.folder, "nowhere"))
        self.assertEqual(2, done.returncode)
        self.assertIn("No such file or directory", done.stderr)
        self.assertIn("mkdir -p", done.stderr)
        self.assertEqual("", done.stdout)

    def test_a_file_in_place_of_a_folder(self):
        path = os.path.join(self.folder, "file")
        with open(path, "w", encoding="utf-8"):
            pass
        done = run("storage.read", "--path", path)
        self.assertEqual(2, done.returncode)
        self.assertIn("Not a directory", done.stderr)

    def test_a_folder_that_may_not_be_written(self):
        options = {}
        os.chmod(self.folder, 0o755)
        os.chmod(self.work, stat.S_IRUSR | stat.S_IXUSR)
        if os.geteuid() == 0:  # root may write everywhere
            options = {"user": 65534, "group": 65534}
        try:
            done = run("storage", "--path", self.work, **options)
            here = run("storage.write", cwd=self.work if os.geteuid() else "/", **options)
        except PermissionError as problem:
            self.skipTest(f"others may not run the program: {problem}")
        self.assertEqual(2, done.returncode)
        self.assertIn("Permission denied", done.stderr)
        self.assertIn("--path", done.stderr)
        # Where no folder was asked for there is only nothing to measure in.
        self.assertEqual(3, here.returncode, here.stderr)
        self.assertIn("waived", here.stdout)

    def test_a_result_file_that_cannot_be_written_is_said_before_the_work(self):
        done = run("host", "-o", os.path.join(self.folder, "no", "r.json"))
        self.assertEqual(2, done.returncode)
        self.assertEqual("", done.stdout)
        self.assertNotIn("host.memory_copy", done.stderr)


class Answers(Folder):
    def test_nothing_but_the_answer_on_standard_output(self):
        done = run("host.memory_read", "--repetitions", "1", "--json", "-")
        self.assertEqual(0, done.returncode, done.stderr)
        answer = json.loads(done.stdout)
        self.assertTrue(answer["complete"])
        self.assertLessEqual({"schema_version", "host", "cpu", "kernel", "command_line", "topology_hash", "load", "clocks"}, set(answer["context"]))
        metric = answer["probes"][0]["metrics"][0]
        self.assertLessEqual({"name", "unit", "samples", "median", "limit", "share_of_limit", "conditions"}, set(metric))
        self.assertEqual(metric["limit"] is None, metric["limit_source"] is None)
        self.assertEqual(1, len(metric["samples"]))

    def test_labels_say_which_way_the_bytes_went(self):
        done = run(*self.storage("storage.read", "--repetitions", "2"))
        self.assertEqual(0, done.returncode, done.stderr)
        metrics = {m["name"]: m for m in result(self.file)["probes"][0]["metrics"]}
        for name, cache in (("bandwidth@cold", "cold"), ("bandwidth@cached", "cached")):
            self.assertEqual(cache, metrics[name]["conditions"]["cache"])
        for metric in metrics.values():
            conditions = metric["conditions"]
            if conditions.get("device_share") is not None and conditions["verified"]:
                self.assertEqual(conditions["cache"] != "cached", conditions["device_share"] > 0.5)

    def test_writing_without_fsync_says_so(self):
        for flags, expected in (([], True), (["--no-fsync"], False)):
            done = run(*self.storage("storage.write", "--repetitions", "1", *flags))
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(expected, result(self.file)["probes"][0]["metrics"][0]["conditions"]["fsync"])

    def test_quick_is_at_most_a_minute_by_its_own_account(self):
        done = run("--quick", "--dry-run", "--json", "-", "host", "storage", "--path", self.work)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertLessEqual(sum(p["estimate"]["time_s"] for p in json.loads(done.stdout)["probes"] if p["estimate"]), 60)


if __name__ == "__main__":
    unittest.main()
