"""Sections of bench/run about live monitoring: sonde beside the least that a .NET tool can do (bench/watcher), in turns.

dotnet-counters itself does that and more; it watches one process, so for fifty the peer here is kinder than it."""

import contextlib
import re
import subprocess
import time

MANY = 50
PEER = "a .NET client"


def watcher(bench):
    return ["dotnet", bench.output_of(bench.ROOT / "bench/build-watcher")]


def counters_of(bench, seconds, pids, *more):
    chosen = [word for pid in pids for word in ("-p", pid)]
    return [bench.SONDE, "counters", *chosen, "--counters", "EventCounters\\System.Runtime", "--duration", f"{seconds}s",
            "--format", "csv", "-o", "/dev/null", *more]


def first_line_ms(command, sign):
    """How long until a line with `sign` in it is there."""
    start = time.monotonic()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tool:
        while sign not in (line := tool.stdout.readline()) and line:
            pass
        return 1e3 * (time.monotonic() - start)


def bench_first(bench, folder, runtimes, peer):
    """A program that nobody has watched before: a new one for each tool and round."""
    bench.header("The first counter of a program that was never watched (goals: time 1/10, memory 1/20)", PEER)
    tools = {"ours": (lambda pid: [bench.SONDE, "counters", "-p", pid, "--once", "--counters",
                                   "EventCounters\\System.Runtime"], "System.Runtime"),
             "theirs": (lambda pid: [*watcher(bench), "first", pid], "cpu-usage")}
    costs = {name: [] for name in tools}
    for _ in range(bench.ROUNDS):
        for name, (command, sign) in tools.items():
            with bench.Target(runtimes, 10, "idle") as target:
                time.sleep(1)  # one that has just started is asked a second and a half after that
                seen_ms = first_line_ms(command(target.pid), sign)
            with bench.Target(runtimes, 10, "idle") as target:
                time.sleep(1)
                costs[name].append((seen_ms, *bench.measure(folder, *command(target.pid))[1:]))
    for index, (what, goal) in enumerate([("ms until it is seen", "1/10"), ("CPU ms", ""), ("peak resident KB", "1/20")]):
        bench.row(what, [cost[index] for cost in costs["ours"]], [cost[index] for cost in costs["theirs"]], goal)


def bench_watch(bench, folder, runtimes, peer):
    seconds = 3 * bench.SECONDS
    for count in (1, MANY):
        with contextlib.ExitStack() as stack:
            pids = [stack.enter_context(bench.Target(runtimes, 10, "idle")).pid for _ in range(count)]
            bench.header(f"Watching {count} process{'es' if count > 1 else ''} for {seconds} s (goals: 1/20 each)", PEER)
            bench.measure(folder, *watcher(bench), "counters", 3, *pids)  # what runtimes compile for it is not ours nor theirs
            costs = [(bench.measure(folder, *counters_of(bench, seconds, pids, "--no-kernel")),
                      bench.measure(folder, *counters_of(bench, seconds, pids)),
                      bench.measure(folder, *watcher(bench), "counters", seconds, *pids)) for _ in range(bench.ROUNDS)]
            for index, what in ((1, "CPU ms"), (2, "peak resident KB")):
                theirs = [cost[2][index] for cost in costs]
                bench.row(what, [cost[0][index] for cost in costs], theirs, "1/20")
                bench.row(f"{what}, the kernel's numbers too", [cost[1][index] for cost in costs], theirs, "1/20")


def events_in(text):
    return int(re.search(r"events\t(\d+)", text)[1])


def live_cpu(bench, folder, command):
    """CPU seconds a million events."""
    numbers = folder / "numbers"
    text = bench.output_of(bench.MEASURE, numbers, *map(str, command))
    return 1e3 * float(numbers.read_text().split()[1]) / max(1, events_in(text))


def bench_live_decode(bench, folder, runtimes, peer):
    bench.header("Every field of every event, live, 300,000 a second: CPU s per M events (goal: 1/5)", PEER)
    listen = bench.ROOT / "build/release/bench/listen"
    with bench.Target(runtimes, 10, "storm", "rate=300000", "size=32", "threads=2") as target:
        costs = [(live_cpu(bench, folder, [listen, bench.SECONDS, target.pid, "Sonde-Storm"]),
                  live_cpu(bench, folder, [*watcher(bench), "events", bench.SECONDS, target.pid, "Sonde-Storm"])) for _ in range(bench.ROUNDS)]
    bench.row("CPU s per M events", [our for our, _ in costs], [their for _, their in costs], "1/5")


def target_cpu_ns(bench, runtimes, *watch):
    """What an event of the storm costs the target, while `watch` runs beside it."""
    with bench.Target(runtimes, 10, "storm", "rate=300000", "size=32", "threads=1") as target:
        tool = subprocess.Popen([str(word).replace("PID", str(target.pid)) for word in watch], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL) if watch else None
        time.sleep(4)  # what the runtime compiles for it is not the price of an event
        before = target.cpu_seconds()
        time.sleep(2 * bench.SECONDS)
        spent = target.cpu_seconds() - before
        if tool:
            tool.terminate()
            tool.wait()
    return 1e9 * spent / (300000 * 2 * bench.SECONDS)


def bench_path_cost(bench, folder, runtimes, peer):
    print("\n### What an event costs\n\n| where | ns |\n| --- | --- |")
    for line in bench.output_of(bench.ROOT / "build/release/bench/road").splitlines():
        who, nanoseconds = line.split("\t")
        print(f"| on the road: wanted by {who} | {nanoseconds} |")
    ways = {"nobody listens": [], "sonde watches counters, nobody wants the event":
            [bench.SONDE, "counters", "-p", "PID", "--format", "ndjson"], "sonde decodes it":
            [bench.SONDE, "events", "-p", "PID", "--providers", "Sonde-Storm", "--format", "ndjson"]}
    for name, watch in ways.items():
        print(f"| in the target, 300,000 a second asked: {name} | "
              f"{bench.spread([target_cpu_ns(bench, runtimes, *watch) for _ in range(max(2, bench.ROUNDS // 2))])} |", flush=True)


SECTIONS = {"first-counter": bench_first, "watch": bench_watch, "live-decode": bench_live_decode, "path-cost": bench_path_cost}
