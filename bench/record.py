"""Sections of bench/run about machine-wide recording: sonde beside perf and dotnet-trace, in turns."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

from bench import APP, MEASURE, SONDE, output_of

FREQUENCY = 999
WORK = int(os.environ.get("WORK", "1500"))
PEERS = ("perf", "dotnet-trace")


class Recording:
    """A tool that records while the block runs; its cost and its file afterwards."""

    def __init__(self, folder, command, file):
        self.numbers = folder / "recorder.numbers"
        self.numbers.unlink(missing_ok=True)
        self.file = file
        self.process = subprocess.Popen([MEASURE, self.numbers, *map(str, command)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(1)

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


def start(bench, tool, pid):
    file = bench.folder / {"sonde": "s.sonde.zip", "perf": "perf.data", "dotnet-trace": "p.nettrace"}[tool]
    command = {"sonde": [SONDE, "record", "-a", "-F", FREQUENCY, "-o", file],
               "perf": ["perf", "record", "-a", "-g", "-F", FREQUENCY, "-k", "CLOCK_MONOTONIC", "-o", file],
               "dotnet-trace": [bench.peer, "collect", "-p", pid, "--profile", "dotnet-sampled-thread-time", "-o", file]}[tool]
    return Recording(bench.folder, command, file)


def samples_in(tool, file):
    if tool == "perf":
        text = subprocess.run(["perf", "report", "-i", file, "--stats"], capture_output=True, text=True).stdout
        return int(re.search(r"SAMPLE events:\s+(\d+)", text)[1])
    kinds = json.loads(output_of(SONDE, "report", file, "--json", "--section", "events"))["kinds"]
    return sum(kind["count"] for kind in kinds if kind["name"] in ("cpu", "ThreadSample"))


def bench_record(bench):
    """What a while of the whole machine costs the tool that records."""
    bench.table(f"Recording the machine at {FREQUENCY} Hz for {bench.seconds} s, a .NET process with two busy threads; dotnet-trace records "
                "that process alone", "the other")

    def record(tool):
        with start(bench, tool, target.pid) as recording:
            time.sleep(bench.seconds)
        return recording.cpu_ms, recording.peak_kb, recording.bytes / max(1, samples_in(tool, recording.file)), recording.stop_ms
    with bench.target(10, "burn", "threads=2") as target:
        ours, *others = bench.in_turns(*[lambda tool=tool: record(tool) for tool in ("sonde", *PEERS)])
    for peer, theirs in zip(PEERS, others):
        for index, what in enumerate(["CPU ms", "peak resident KB", "bytes a sample"]):
            bench.compare(f"{what}, beside {peer}", [cost[index] for cost in ours], [cost[index] for cost in theirs])
    bench.alone("stop to finished file, ms", [cost[3] for cost in ours])


def cpu_of_work(bench, tool):
    """CPU ms of a target that does a fixed amount of work among a hundred threads, while a tool looks on."""
    environment = dict(os.environ, DOTNET_ROLL_FORWARD="LatestMajor")
    target = subprocess.Popen([f"{bench.runtimes}/10/dotnet", APP, "burn", "threads=1", "parked=99", f"rounds={WORK}"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment)
    target.stdout.readline()
    recording = start(bench, tool, target.pid) if tool else None
    try:
        _, _, usage = os.wait4(target.pid, 0)
    finally:
        if recording:
            recording.__exit__()
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def bench_record_cost(bench):
    """What it costs the process that is recorded."""
    bench.table("CPU of the target for the same work, 100 threads, one busy", "the other")
    alone, *looked_at = bench.in_turns(*[lambda tool=tool: cpu_of_work(bench, tool) for tool in (None, "sonde", *PEERS)])
    extra = [[100 * (with_it / without - 1) for without, with_it in zip(alone, costs)] for costs in looked_at]
    for peer, theirs in zip(PEERS, extra[1:]):
        least = 0.1  # a tenth of a percent cannot be told from nothing
        bench.compare(f"extra CPU of the target, %, beside {peer}", *[[max(least, value) for value in side] for side in (extra[0], theirs)])


SECTIONS = {"record": (bench_record, 20), "record-cost": (bench_record_cost, 20)}
