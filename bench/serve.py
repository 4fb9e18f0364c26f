"""Sections of bench/run about the controller: `sonde serve` beside the least that ASP.NET Core can do (bench/standin), in turns.

dotnet-monitor itself does more than the stand-in, and needs more."""

import contextlib
import http.client
import pathlib
import re
import socket
import subprocess
import tempfile
import time

from bench import ROOT, SONDE, cpu_seconds, output_of

PEER = "an ASP.NET stand-in"
MANY = 10
READY_S = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A controller that answers; ended with its block."""

    def __init__(self, command, port, headers=lambda: {}):
        self.port, self.started = port, time.monotonic()
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        while not self.answers(headers):
            if self.process.poll() is not None or time.monotonic() - self.started > READY_S:
                raise SystemExit(f"bench/run: {command[0]} does not serve")
            time.sleep(0.002)
        self.start_ms = 1e3 * (time.monotonic() - self.started)
        self.headers = headers()

    def answers(self, headers):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            connection.request("GET", "/processes", headers=headers())
            return connection.getresponse().status == 200
        except OSError:
            return False

    def resident_kb(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1])

    def peak_kb(self):
        return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1])

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def requests_per_cpu_second(self, path, seconds):
        """One connection that is kept, one request after the other; what the client costs is not counted."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        count, before, end = 0, self.cpu_seconds(), time.monotonic() + seconds
        while time.monotonic() < end:
            connection.request("GET", path, headers=self.headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise SystemExit(f"bench/run: {path} gave {answer.status}")
            count += 1
        return count / max(0.01, self.cpu_seconds() - before)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


@contextlib.contextmanager
def ours(watches):
    """With its key and its store, as people start it."""
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as state:
        port = free_port()
        key = pathlib.Path(state) / "state" / "key"
        command = [SONDE, "serve", "--listen", f"127.0.0.1:{port}", "--socket", "none", "--state", f"{state}/state",
                   *([] if watches else ["--no-counters"])]
        with Server(command, port, lambda: {"Authorization": "Bearer " + key.read_text().strip()} if key.exists() else {}) as server:
            yield server


@contextlib.contextmanager
def theirs(watches):
    port = free_port()
    command = ["dotnet", output_of(ROOT / "bench/build-standin"), port, *(["watch"] if watches else [])]
    with Server(command, port) as server:
        yield server


def both(bench, watches, measure):
    """What `measure` says of each, in turns."""
    def of(make):
        with make(watches) as server:
            return measure(server)
    return bench.in_turns(lambda: of(ours), lambda: of(theirs))


def watched_targets(bench, count):
    stack = contextlib.ExitStack()
    for _ in range(count):
        stack.enter_context(bench.target(10, "idle"))
    return stack


def bench_serve_memory(bench):
    bench.table("The controller: memory", PEER)
    seconds = 5 * bench.seconds

    def idle(server):
        time.sleep(3)
        return server.resident_kb()

    def busy(server):
        time.sleep(seconds)
        return server.resident_kb(), server.peak_kb(), server.cpu_seconds()

    bench.compare("resident KB, nobody is watched", *both(bench, False, idle))
    with watched_targets(bench, MANY):
        sides = both(bench, True, busy)
    for index, what in enumerate([f"resident KB, watching {MANY} processes", "the same: its peak",
                                  f"the same: CPU s of {seconds} s, start included"]):
        bench.compare(what, *[[each[index] for each in side] for side in sides])


def bench_serve_start(bench):
    bench.table("The controller: its start", PEER)
    bench.compare("ms from the start to the first answer", *both(bench, False, lambda server: server.start_ms))


def bench_serve_requests(bench):
    bench.table(f"The controller: requests a CPU second, {MANY} processes watched", PEER)
    with watched_targets(bench, MANY):
        for path in ("/processes", "/metrics"):
            def measure(server, path=path):
                time.sleep(3)
                return server.requests_per_cpu_second(path, bench.seconds)
            bench.compare(f"`{path}`", *both(bench, True, measure), more=True)


SECTIONS = {"serve-memory": (bench_serve_memory, 6), "serve-start": (bench_serve_start, 20), "serve-requests": (bench_serve_requests, 6)}
