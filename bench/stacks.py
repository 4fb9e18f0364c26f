"""A section of bench/run: the stacks of a hundred threads beside what dotnet-stack does (bench/stackpeer), in turns, on a
process that is well: on one that is not, the other has no answer to measure (tests/integration/stacks_states_test)."""

PEER = "dotnet-stack's way"
GOALS = [("wall ms", "1/15"), ("CPU ms", "1/20"), ("peak resident KB", "1/12")]


def compare(bench, folder, target, ours, theirs):
    """CPU of the target counts as well: the other lets it work."""
    rounds = {"ours": [], "theirs": []}
    for _ in range(bench.ROUNDS * 2):
        for whose, command in (("ours", ours), ("theirs", theirs)):
            before = target.cpu_seconds()
            cost = bench.measure(folder, *command)
            rounds[whose].append((*cost, 1e3 * (target.cpu_seconds() - before)))
    for index, (what, goal) in enumerate([*GOALS, ("CPU ms of the process", "")]):
        bench.row(what, [each[index] for each in rounds["ours"]], [each[index] for each in rounds["theirs"]], goal)


def bench_stacks(bench, folder, runtimes, _peer):
    peer = bench.output_of(bench.ROOT / "bench/build-stackpeer")
    for version in (10, 9, 8):
        bench.header(f"Stacks of 100 threads, .NET {version} (goals: time 1/15, CPU 1/20, memory 1/12)", PEER)
        with bench.Target(runtimes, version, "state", "calm", "parked=100") as target:
            compare(bench, folder, target, [bench.SONDE, "stacks", "-p", target.pid],
                    [f"{runtimes}/10/dotnet", peer, target.pid, folder])


SECTIONS = {"stacks": bench_stacks}
