"""Sections of bench/run about live monitoring: sonde beside the least that a .NET tool can do (bench/watcher), in turns.

dotnet-counters itself does that and more; it watches one process, so for fifty the peer here is kinder than it."""

import contextlib
import re
import subprocess
import time

from bench import MEASURE, PROGRAMS, ROOT, SONDE, output_of

MANY = 50
PEER = "a .NET client"
COUNTERS = ["--counters", "EventCounters\\System.Runtime"]


def watcher():
    return ["dotnet", output_of(ROOT / "bench/build-watcher")]


def counters_of(seconds, pids, *more):
    chosen = [word for pid in pids for word in ("-p", pid)]
    return [SONDE, "counters", *chosen, *COUNTERS, "--duration", f"{seconds}s", "--format", "csv", "-o", "/dev/null", *more]


def first_line_ms(command, sign):
    """How long until a line with `sign` in it is there."""
    start = time.monotonic()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tool:
        while sign not in (line := tool.stdout.readline()) and line:
            pass
        return 1e3 * (time.monotonic() - start)


def bench_first(bench):
    """A new program for each tool, round and measurement: nobody has watched it before."""
    bench.table("The first counter of a program that was never watched", PEER)

    def on_a_new_one(measure):
        with bench.target(10, "idle") as target:
            time.sleep(1)  # a program that has just started is asked a second and a half after that
            return measure(target.pid)

    def costs(command, sign):
        return (on_a_new_one(lambda pid: first_line_ms(command(pid), sign)), *on_a_new_one(lambda pid: bench.measure(*command(pid)))[1:])
    peer = watcher()
    sides = bench.in_turns(lambda: costs(lambda pid: [SONDE, "counters", "-p", pid, "--once", *COUNTERS], "System.Runtime"),
                           lambda: costs(lambda pid: [*peer, "first", pid], "cpu-usage"))
    for index, what in enumerate(["ms until it is seen", "CPU ms", "peak resident KB"]):
        bench.compare(what, *[[cost[index] for cost in side] for side in sides])


def bench_watch(bench):
    seconds = 3 * bench.seconds
    peer = watcher()
    bench.table(f"Watching counters every second for {seconds} s", PEER)
    for count in (1, MANY):
        with contextlib.ExitStack() as stack:
            pids = [stack.enter_context(bench.target(10, "idle")).pid for _ in range(count)]
            bench.measure(*peer, "counters", 3, *pids)  # what runtimes compile for it is neither ours nor theirs
            ours, with_kernel, theirs = bench.in_turns(lambda: bench.measure(*counters_of(seconds, pids, "--no-kernel")),
                                                       lambda: bench.measure(*counters_of(seconds, pids)),
                                                       lambda: bench.measure(*peer, "counters", seconds, *pids))
        for index, what in ((1, "CPU ms"), (2, "peak resident KB")):
            what = f"{count} process{'es' if count > 1 else ''}: {what}"
            peers = [cost[index] for cost in theirs]
            bench.compare(what, [cost[index] for cost in ours], peers)
            bench.compare(f"{what}, the kernel's numbers too", [cost[index] for cost in with_kernel], peers)


def live_cpu(bench, command):
    """CPU seconds a million events."""
    numbers = bench.folder / "numbers"
    events = int(re.search(r"events\t(\d+)", output_of(MEASURE, numbers, *command))[1])
    return 1e3 * float(numbers.read_text().split()[1]) / max(1, events)


def bench_live_decode(bench):
    bench.table("Every field of every event, live, 300,000 a second", PEER)
    peer = watcher()
    with bench.target(10, "storm", "rate=300000", "size=32", "threads=2") as target:
        asked = [bench.seconds, target.pid, "Sonde-Storm"]
        bench.compare("CPU s per M events", *bench.in_turns(lambda: live_cpu(bench, [PROGRAMS / "listen", *asked]),
                                                            lambda: live_cpu(bench, [*peer, "events", *asked])))


def target_cpu_ns(bench, *watch):
    """What an event of the storm costs the target, while `watch` runs beside it."""
    with bench.target(10, "storm", "rate=300000", "size=32", "threads=1") as target:
        tool = subprocess.Popen([str(word).replace("PID", str(target.pid)) for word in watch], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL) if watch else None
        time.sleep(4)  # what the runtime compiles for it is not the price of an event
        before = target.cpu_seconds()
        time.sleep(2 * bench.seconds)
        spent = target.cpu_seconds() - before
        if tool:
            tool.terminate()
            tool.wait()
    return 1e9 * spent / (300000 * 2 * bench.seconds)


def bench_path_cost(bench):
    bench.cells("What an event costs on the road", ["wanted by", "ns"])
    for line in output_of(PROGRAMS / "road").splitlines():
        bench.row(line.split("\t"))
    bench.table("CPU ns of the target for an event, 300,000 a second asked")
    watches = [SONDE, "counters", "-p", "PID", "--format", "ndjson"]
    decodes = [SONDE, "events", "-p", "PID", "--providers", "Sonde-Storm", "--format", "ndjson"]
    alone, watched, decoded = bench.in_turns(lambda: target_cpu_ns(bench), lambda: target_cpu_ns(bench, *watches),
                                             lambda: target_cpu_ns(bench, *decodes))
    bench.differ("Sonde watches counters, nobody wants the event", alone, watched)
    bench.differ("Sonde decodes the event", alone, decoded)


SECTIONS = {"first-counter": (bench_first, 20), "watch": (bench_watch, 5), "live-decode": (bench_live_decode, 20), "path-cost": (bench_path_cost, 6)}
