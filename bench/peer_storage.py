"""storage.* beside fio: same file size, block, depth, O_DIRECT or not, fsync inside the time."""
import json
import os

SIZE = 1 << 30
CHECKPOINT = 1 << 30
REPETITIONS = 3  # of trunkline in each round, so that starting the program does not count


def trunkline(bench, probe, *options):
    file = os.path.join(bench.folder, "ours.json")
    bench.run(bench.program, "measure", probe, "--path", bench.folder, "--repetitions", str(REPETITIONS), *options, "-o", file)
    with open(file, encoding="utf-8") as text:
        return {f"{probe} {m['name']}": m["samples"] for m in json.load(text)["probes"][0]["metrics"]}


def fio(bench, what, *options):
    """One fio job; its bandwidth in bytes/s, or another figure of the direction that it worked in."""
    out = json.loads(bench.run("fio", "--name=peer", f"--directory={bench.folder}", "--ioengine=io_uring", "--output-format=json", *options))
    job = out["jobs"][0]
    direction = "write" if "--rw=write" in options else "read"
    if what == "bandwidth":
        return job[direction]["bw_bytes"]
    if what == "rate":
        return job[direction]["iops"]
    return job[direction]["lat_ns"]["percentile"]["50.000000"] * 1e-9  # with the handing in, as trunkline counts it


def fio_file(bench, name):
    """A file of random content for fio to read or overwrite."""
    path = os.path.join(bench.folder, name)
    if not os.path.exists(path):
        fio(bench, "bandwidth", "--rw=write", "--bs=1M", "--iodepth=32", "--direct=1", f"--size={SIZE}", f"--filename={name}", "--end_fsync=1")
    return f"--filename={name}"


def sequential(bench, rw, *more):
    return ["--bs=1M", "--iodepth=32", f"--size={SIZE}", f"--rw={rw}", "--fadvise_hint=0", fio_file(bench, "peer"), *more]


def drop_cache(bench, name):
    """fio would empty the cache itself, but within the time that it counts."""
    file = os.open(os.path.join(bench.folder, name), os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def cold_read(bench):
    options = sequential(bench, "read", "--direct=0", "--invalidate=0")
    drop_cache(bench, "peer")
    return fio(bench, "bandwidth", *options)


def several(measure):
    return lambda: [measure() for _ in range(REPETITIONS)]


def checkpoint_write(bench):
    path = os.path.join(bench.folder, "peer-checkpoint")
    if os.path.exists(path):
        os.unlink(path)
    return fio(bench, "bandwidth", "--rw=write", "--bs=4M", "--iodepth=32", "--direct=1", f"--size={CHECKPOINT}", "--filename=peer-checkpoint",
               "--end_fsync=1")


def checkpoint_read(bench):
    return fio(bench, "bandwidth", "--rw=read", "--bs=4M", "--iodepth=32", "--direct=1", f"--size={CHECKPOINT}", "--filename=peer-checkpoint")


def groups(bench):
    size, model = ["--size", f"{SIZE}B"], ["--size", f"{CHECKPOINT}B"]
    # --overwrite keeps the file in place: trunkline writes over it as well after its warm-up.
    write = lambda: fio(bench, "bandwidth", *sequential(bench, "write", "--direct=1", "--end_fsync=1", "--overwrite=1"))
    direct = lambda: fio(bench, "bandwidth", *sequential(bench, "read", "--direct=1"))
    random = lambda what: fio(bench, what, "--rw=randread", "--bs=4k", "--iodepth=32", "--direct=1", f"--size={SIZE}", "--time_based",
                              "--runtime=1", "--norandommap", "--lat_percentiles=1", fio_file(bench, "peer"))

    def bandwidth(name, peer):
        return Quantity(name, "fio", several(peer), 1e-9, "GB/s")

    yield Group(lambda: trunkline(bench, "storage.write", *size), [bandwidth("storage.write bandwidth", write)])
    yield Group(lambda: trunkline(bench, "storage.read", *size),
                [bandwidth("storage.read bandwidth@direct", direct), bandwidth("storage.read bandwidth@cold", lambda: cold_read(bench))])
    yield Group(lambda: trunkline(bench, "storage.random_read", *size),
                [Quantity("storage.random_read rate", "fio", several(lambda: random("rate")), 1e-3, "k/s"),
                 Quantity("storage.random_read latency_p50", "fio", several(lambda: random("latency")), 1e6, "us")])
    yield Group(lambda: trunkline(bench, "storage.checkpoint", *model),
                [bandwidth("storage.checkpoint write_bandwidth", lambda: checkpoint_write(bench)),
                 bandwidth("storage.checkpoint read_bandwidth", lambda: checkpoint_read(bench))])
