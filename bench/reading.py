"""Sections of bench/run about reading traces, and about what an install takes."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

from bench import PROGRAMS, ROOT, SONDE, output_of
from tracing import trace_sonde

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def oracle():
    return ["dotnet", output_of(ROOT / "tests/interop/build-oracle")]


def rate_of(text):
    return float(re.search(r"events(?:/s|_per_second)\t([\d.]+)", text)[1]) / 1e6


def record(bench, name, seconds, *target):
    """A trace of samples and the runtime's usual events."""
    file = bench.folder / f"{name}.nettrace"
    with bench.target(10, *target) as process:
        subprocess.run([SONDE, "trace", "-p", str(process.pid), "--duration", f"{seconds}s", "-o", file], check=True, **QUIET)
    return file


def bench_decode(bench):
    with bench.target(10, "storm", "rate=0", "size=32", "threads=2") as target:
        trace_sonde(bench, target, 3, "--no-stacks")
        storm = (bench.folder / "sonde.nettrace").rename(bench.folder / "storm.nettrace")
    bench.table("Decoding", "TraceEvent 4")
    files = {"44-byte payloads": storm, "samples with stacks": record(bench, "samples", 6, "burn", "threads=2", "parked=200")}
    peer = oracle()
    for name, file in files.items():
        for work, option in [("headers", []), ("every payload field", ["--payload"])]:
            sides = bench.in_turns(lambda: rate_of(output_of(PROGRAMS / "decode", file, *option)),
                                   lambda: rate_of(output_of(*peer, "bench", file, *option)))
            bench.compare(f"{name}: {work}, M events/s", *sides, more=True)


def many_samples(bench):
    """A trace of 600 threads; SAMPLES of them, in millions, taken once for all sections."""
    file = bench.folder / "many.nettrace"
    wanted = float(os.environ.get("SAMPLES", "7")) * 1e6
    if not file.exists():
        with bench.target(10, "burn", "threads=1", "parked=599", "depth=40") as target:
            tracer = subprocess.Popen([SONDE, "trace", "-p", str(target.pid), "--profile", "dotnet-sampled-thread-time", "-o", file], **QUIET)
            while not file.exists() or file.stat().st_size < wanted * 9.3:  # bytes a sample, with its share of stacks
                time.sleep(1)
            tracer.send_signal(signal.SIGINT)
            tracer.wait()
    kinds = json.loads(output_of(SONDE, "report", file, "--json", "--section", "events"))["kinds"]
    samples = next(kind["count"] for kind in kinds if kind["name"] == "ThreadSample")
    return file, f"{samples / 1e6:.1f} M samples of 600 threads, {file.stat().st_size / 1e6:.0f} MB"


def bench_speedscope(bench):
    file, what = many_samples(bench)
    bench.table(f"To speedscope: {what}")
    bench.compare_costs([SONDE, "convert", file, "--format", "speedscope", "--view", "wall", "-o", bench.folder / "sonde.speedscope.json"],
                        [bench.peer, "convert", file, "--format", "Speedscope", "-o", bench.folder / "peer"])


def bench_names(bench):
    file, what = many_samples(bench)
    bench.table(f"Every stack with its names: {what}", "TraceLog of TraceEvent 4")
    bench.compare_costs([SONDE, "convert", file, "--format", "collapsed", "--view", "samples", "--full-names", "-o", bench.folder / "sonde.folded"],
                        [*oracle(), "stacks", file])


def bench_report(bench):
    file = record(bench, "all", 5, "all")
    bench.table("The hottest methods of a usual trace of five seconds", "`dotnet-trace report topN`")
    bench.compare_costs([SONDE, "report", file], [bench.peer, "report", file, "topN"])


def bench_install(bench):
    subprocess.run(["make", "-s", "-C", ROOT, "install-files", f"DESTDIR={bench.folder / 'root'}"], check=True, stdout=subprocess.DEVNULL)

    def megabytes(folder):
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6
    bench.table("Disk")
    bench.alone("program, library, headers, manual pages, MB", [megabytes(bench.folder / "root")])
    bench.alone("dotnet-trace, without the runtime it needs, MB", [megabytes(pathlib.Path(bench.peer).resolve().parent)])


SECTIONS = {"decode": (bench_decode, 20), "speedscope": (bench_speedscope, 2), "names": (bench_names, 2), "report": (bench_report, 20),
            "install": (bench_install, 1)}
