"""What the sections of bench/run share: targets, measuring, turns, and the tables that results are kept in."""

import json
import os
import pathlib
import re
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SONDE = pathlib.Path(os.environ.get("SONDE", ROOT / "build/release/sonde"))
PROGRAMS = ROOT / "build/release/bench"
MEASURE = PROGRAMS / "measure"
APP = ROOT / "build/apps/targets/targets.dll"


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def load():
    return float(pathlib.Path("/proc/loadavg").read_text().split()[0])


def cpu_seconds(pid):
    """The clock of another process."""
    return time.clock_gettime((~pid << 3) | 2)


class Target:
    """A test program that runs while the block does."""

    def __init__(self, runtimes, version, *arguments):
        environment = dict(os.environ, DOTNET_ROLL_FORWARD="LatestMajor")
        self.process = subprocess.Popen([f"{runtimes}/{version}/dotnet", APP, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)
        self.pid = int(re.search(r"pid=(\d+)", self.process.stdout.readline()).group(1))
        time.sleep(1)  # past its start-up work

    def cpu_seconds(self):
        return cpu_seconds(self.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Bench:
    """One section's run: how often, how long, where; and its rows, as bench/results keeps them."""

    def __init__(self, folder, runtimes, peer, rounds, seconds):
        self.folder, self.runtimes, self.peer = pathlib.Path(folder), runtimes, peer
        self.rounds, self.seconds = rounds, seconds
        self.tables = []

    def target(self, version, *arguments):
        return Target(self.runtimes, version, *arguments)

    def measure(self, *command):
        """Wall ms, CPU ms, peak resident KB of a command."""
        numbers = self.folder / "numbers"
        subprocess.run([MEASURE, numbers, *map(str, command)], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        return tuple(float(number) for number in numbers.read_text().split())

    def in_turns(self, *ways):
        """[what each way gave, round by round]: a way after the other in each round, each round in the other order."""
        found = [[] for _ in ways]
        for turn in range(self.rounds):
            order = list(zip(ways, found))
            for way, results in order if turn % 2 == 0 else reversed(order):
                results.append(way())
        return found

    # --- tables ---

    def table(self, title, peer="dotnet-trace"):
        """Of rows that compare; `cells` makes one of anything else."""
        self.tables.append({"title": title, "peer": peer, "rows": []})

    def cells(self, title, columns):
        self.tables.append({"title": title, "columns": columns, "rows": []})

    def row(self, row):
        self.tables[-1]["rows"].append(row)
        print("   ", json.dumps(row, ensure_ascii=False), flush=True)

    def compare(self, what, ours, theirs, more=False):
        """Values of Sonde and of the peer, pair by pair; less is better, or `more`."""
        self.row({"what": what, "ours": ours, "theirs": theirs, "more": more})

    def differ(self, what, without, with_it):
        self.row({"what": what, "without": without, "with": with_it})

    def alone(self, what, values):
        """Values of Sonde that are compared with nothing but a goal."""
        self.row({"what": what, "values": values})

    def compare_costs(self, ours, theirs, prefix=""):
        """Wall, CPU and memory of commands."""
        costs = self.in_turns(lambda: self.measure(*ours), lambda: self.measure(*theirs))
        for index, what in enumerate(["wall ms", "CPU ms", "peak resident KB"]):
            self.compare(prefix + what, *[[cost[index] for cost in side] for side in costs])


def file_counts(path):
    """Events and lost events of a trace."""
    done = subprocess.run([SONDE, "report", path, "--json"], check=False, stdout=subprocess.PIPE, text=True)
    report = json.loads(done.stdout)
    return report["events"], report["lost"]
