"""Sections of bench/run about listing and tracing: sonde and dotnet-trace in turns on the same targets."""

import os
import time

from bench import SONDE, file_counts

STORM = "Sonde-Storm:0xffffffffffffffff:5"


def trace_sonde(bench, target, seconds, *options):
    """(its cost, CPU of the target meanwhile, events and lost events)"""
    file = bench.folder / "sonde.nettrace"
    before = target.cpu_seconds()
    cost = bench.measure(SONDE, "trace", "-p", target.pid, "--providers", STORM, "--duration", f"{seconds}s", "-o", file, *options)
    return cost, target.cpu_seconds() - before, file_counts(file)


def trace_peer(bench, target, seconds):
    file = bench.folder / "peer.nettrace"
    before = target.cpu_seconds()
    cost = bench.measure(bench.peer, "collect", "-p", target.pid, "--providers", STORM, "--duration", f"00:00:00:{seconds:02}", "-o", file)
    return cost, target.cpu_seconds() - before, file_counts(file)


def both_trace(bench, target):
    return bench.in_turns(lambda: trace_sonde(bench, target, bench.seconds), lambda: trace_peer(bench, target, bench.seconds))


def bench_ps(bench):
    bench.table("Listing processes, one .NET process among those of the machine")
    with bench.target(10, "idle"):
        bench.compare_costs([SONDE, "ps"], [bench.peer, "ps"])


def bench_collect(bench):
    bench.table(f"Collecting, {bench.seconds} s of 1 M events/s of 44 bytes, with stacks")
    with bench.target(10, "storm", "rate=1000000", "size=32", "threads=2") as target:
        sides = both_trace(bench, target)
    bench.compare("tool CPU s per M events", *[[cost[1] / 1e3 / (counts[0] / 1e6) for cost, _, counts in side] for side in sides])
    bench.compare("peak resident KB", *[[cost[2] for cost, _, _ in side] for side in sides])
    bench.compare("events in the file", *[[counts[0] for _, _, counts in side] for side in sides], more=True)
    bench.alone("lost events of sonde", [counts[1] for _, _, counts in sides[0]])
    bench.alone("lost events of dotnet-trace", [counts[1] for _, _, counts in sides[1]])


def bench_flat(bench):
    bench.cells("Memory of `sonde trace` over rate and time, stacks left out", ["events/s asked", "seconds", "events", "peak resident KB"])
    for rate, seconds in [(20000, 4), (1000000, 4), (0, 4), (1000000, 20)]:
        with bench.target(10, "storm", f"rate={rate}", "size=32", "threads=2") as target:
            cost, _, counts = trace_sonde(bench, target, seconds, "--no-stacks")
        bench.row([rate or "flat out", seconds, counts[0], int(cost[2])])


def bench_two_million(bench):
    seconds = int(os.environ.get("LONG", "20"))
    bench.table(f"2 M events/s of 44 bytes asked, stacks left out, {seconds} s")
    for version in (9, 10):
        with bench.target(version, "storm", "rate=2000000", "size=32", "threads=2") as target:
            rounds = [trace_sonde(bench, target, seconds, "--no-stacks")[2] for _ in range(bench.rounds)]
        bench.alone(f"events/s, .NET {version}", [events / seconds for events, _ in rounds])
        bench.alone(f"lost, .NET {version}", [lost for _, lost in rounds])


def bench_large(bench):
    bench.table(f"Events of 524 bytes flat out, with stacks, {bench.seconds} s")
    with bench.target(10, "storm", "rate=0", "size=512", "threads=2") as target:
        sides = both_trace(bench, target)
    least = 1e-3  # where nothing is lost there is no ratio
    bench.compare("lost %", *[[max(least, 100 * lost / max(1, events + lost)) for _, _, (events, lost) in side] for side in sides])


def bench_payload_cost(bench):
    """Sonde without stacks beside sonde with them: dotnet-trace has no option to leave them out."""
    bench.table("CPU of the target per event, at 300,000 a second", "with stacks")
    with bench.target(10, "storm", "rate=300000", "size=32", "threads=2") as target:
        start = target.cpu_seconds()
        time.sleep(bench.seconds)
        idle = (target.cpu_seconds() - start) / bench.seconds

        def per_event(*options):
            cost, cpu, counts = trace_sonde(bench, target, bench.seconds, "--no-rundown", *options)
            return (cpu - idle * cost[0] / 1e3) / counts[0] * 1e6
        bench.compare("µs of the target per event", *bench.in_turns(lambda: per_event("--no-stacks"), per_event))


SECTIONS = {"ps": (bench_ps, 20), "collect": (bench_collect, 20), "flat": (bench_flat, 1), "two-million": (bench_two_million, 1),
            "large": (bench_large, 20), "payload-cost": (bench_payload_cost, 20)}
