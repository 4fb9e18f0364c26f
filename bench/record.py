"""Sections of bench/run about machine-wide recording: sonde beside perf and dotnet-trace, in turns."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

FREQUENCY = 999


class Recording:
    """A tool that records while the block runs; its cost and its file afterwards."""

    def __init__(self, measure_tool, folder, command, file, settle=1.0):
        self.numbers = folder / "recorder.numbers"
        self.numbers.unlink(missing_ok=True)
        self.file = file
        self.process = subprocess.Popen([measure_tool, self.numbers, *map(str, command)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(settle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        start = time.monotonic()
        for child in children_of(self.process.pid):
            os.kill(child, signal.SIGINT)
        self.process.wait()
        self.stop_ms = 1e3 * (time.monotonic() - start)
        self.wall_ms, self.cpu_ms, self.peak_kb = map(float, self.numbers.read_text().split())
        self.bytes = self.file.stat().st_size


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def tools(bench, folder, target_pid, peer):
    """{name: a function that starts it}; perf only where it is."""
    def start(command, name):
        return Recording(bench.MEASURE, folder, command, folder / name)

    found = {"sonde": lambda: start([bench.SONDE, "record", "-a", "-F", FREQUENCY, "-o", folder / "s.sonde.zip"],
                                    "s.sonde.zip"),
             "dotnet-trace": lambda: start([peer, "collect", "-p", target_pid, "--profile", "dotnet-sampled-thread-time",
                                            "-o", folder / "p.nettrace"], "p.nettrace")}
    if shutil.which("perf"):
        found["perf"] = lambda: start(["perf", "record", "-a", "-g", "-F", FREQUENCY, "-k", "CLOCK_MONOTONIC", "-o",
                                       folder / "perf.data"], "perf.data")
    return found


def samples_in(bench, name, file):
    if name == "perf":
        text = subprocess.run(["perf", "report", "-i", file, "--stats"], capture_output=True, text=True).stdout
        found = re.search(r"SAMPLE events:\s+(\d+)", text)
        return int(found[1]) if found else 0
    kinds = bench.json.loads(bench.output_of(bench.SONDE, "report", file, "--json", "--section", "events"))["kinds"]
    return sum(kind["count"] for kind in kinds if kind["name"] in ("cpu", "ThreadSample"))


def bench_record(bench, folder, runtimes, peer):
    """What a minute (SECONDS) of the whole machine costs the one who records."""
    print(f"\n### Recording the machine at {FREQUENCY} Hz, {bench.SECONDS} s, a .NET process with two busy threads "
          "(goals: memory 1/5 of perf, 1/15 of dotnet-trace; bytes a sample 1/5 of perf)\n\n"
          "| tool | CPU ms | peak resident KB | bytes a sample | samples | stop to finished file, ms |\n| --- | --- | --- | --- | --- | --- |")
    rounds = {}
    with bench.Target(runtimes, 10, "burn", "threads=2") as target:
        for _ in range(bench.ROUNDS):
            for name, start in tools(bench, folder, target.pid, peer).items():
                with start() as recording:
                    time.sleep(bench.SECONDS)
                samples = samples_in(bench, name, recording.file)
                rounds.setdefault(name, []).append((recording.cpu_ms, recording.peak_kb, recording.bytes / max(samples, 1),
                                                    samples, recording.stop_ms))
    for name, rows in rounds.items():
        print(f"| {name} | " + " | ".join(bench.spread(list(column), "{:.4g}") for column in zip(*rows)) + " |", flush=True)


def run_rounds(bench, runtimes, rounds, tool):
    """CPU ms of a target that does a fixed amount of work among a hundred threads, while a tool looks on."""
    environment = dict(os.environ, DOTNET_ROLL_FORWARD="LatestMajor")
    target = subprocess.Popen([f"{runtimes}/10/dotnet", bench.APPS, "burn", "threads=1", "parked=99", f"rounds={rounds}"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment)
    target.stdout.readline()
    recording = tool(target.pid)
    try:
        _, _, usage = os.wait4(target.pid, 0)
    finally:
        if recording:
            recording.__exit__()
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def bench_record_cost(bench, folder, runtimes, peer):
    """What it costs the one who is recorded."""
    rounds = int(os.environ.get("WORK", "1500"))
    print(f"\n### Extra CPU of the target for the same work, 100 threads, one busy (goal: 1/8 of dotnet-trace's sampler)\n\n"
          "| tool | CPU ms of the target | extra % |\n| --- | --- | --- |")
    results = {}
    for _ in range(bench.ROUNDS):
        results.setdefault("none", []).append(run_rounds(bench, runtimes, rounds, lambda pid: None))
        for name in ("sonde", "perf", "dotnet-trace"):
            start = lambda pid, name=name: tools(bench, folder, pid, peer).get(name, lambda: None)()
            results.setdefault(name, []).append(run_rounds(bench, runtimes, rounds, start))
    base = bench.middle(results["none"])
    for name, values in results.items():
        print(f"| {name} | {bench.spread(values, '{:.4g}')} | {100 * (bench.middle(values) / base - 1):.1f} |", flush=True)
