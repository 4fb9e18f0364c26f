"""A section of bench/run: the stacks of a hundred threads beside what dotnet-stack does (bench/stackpeer), in turns, on a
process that is well: on one that is not, the other has no answer to measure (tests/integration/stacks_states_test)."""

from bench import ROOT, SONDE, output_of


def bench_stacks(bench):
    peer = output_of(ROOT / "bench/build-stackpeer")
    bench.table("Stacks of 100 threads that wait", "dotnet-stack's way")
    for version in (10, 9, 8):
        with bench.target(version, "state", "calm", "parked=100") as target:
            def with_its_work(*command):
                """The CPU of the process that is looked at counts as well: the other tool lets it work."""
                before = target.cpu_seconds()
                cost = bench.measure(*command)
                return (*cost, 1e3 * (target.cpu_seconds() - before))
            sides = bench.in_turns(lambda: with_its_work(SONDE, "stacks", "-p", target.pid),
                                   lambda: with_its_work(f"{bench.runtimes}/10/dotnet", peer, target.pid, bench.folder))
        for index, what in enumerate(["wall ms", "CPU ms", "peak resident KB"]):
            bench.compare(f".NET {version}: {what}", *[[cost[index] for cost in side] for side in sides])
        bench.differ(f".NET {version}: CPU ms of the process that is looked at, with the other and with sonde",
                     *[[cost[3] for cost in side] for side in reversed(sides)])


SECTIONS = {"stacks": (bench_stacks, 20)}
