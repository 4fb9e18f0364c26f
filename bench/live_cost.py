"""Section of bench/run about what looking costs the process that is looked at: each live view of the page, and `sonde top`.

Pairs of seconds without and with the view, in turns; the CPU is the target's own clock. The shop is under a steady load, and the controller
watches its counters all the time, as it does anyway. Twelve minutes or so; ROUNDS=2 shows that it works."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from bench import ROOT, SONDE, cpu_seconds

WINDOW_S = 1.3
SETTLE_S = 0.6  # the session is opened or closed
TOP_SETTLE_S = 2.5  # `top` looks at the process alone for a second, then asks for names
RATE = 100

VIEWS = {"GC": "live-gc", "Exceptions": "live-exceptions", "Contention": "live-locks", "Requests": "live-requests",
         "Flame graph, CPU and wall": "live-cpu", "Flame graph, allocations": "live-alloc"}


class Controller:
    def __init__(self, folder):
        self.folder = folder
        self.process = subprocess.Popen([SONDE, "serve", "--listen", "127.0.0.1:0", "--socket", f"{folder}/control.sock", "--state", f"{folder}/state"],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if found := re.search(r"open http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        self.headers = {"Authorization": "Bearer " + pathlib.Path(folder, "state/key").read_text().strip(), "Content-Type": "application/json"}

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, "/api/v1" + path, body=body and json.dumps(body), headers=self.headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text else None

    @contextlib.contextmanager
    def view(self, pid, profile):
        """As the page does it: a live recording, read while it grows."""
        status, made = self.ask("POST", "/recordings", {"process": {"pid": pid}, "live": True, "profile": profile})
        if status != 201:
            raise SystemExit(f"bench/run: no live recording: {status} {made}")
        try:
            yield
        finally:
            self.ask("PATCH", f"/recordings/{made['id']}", {"enabled": False})
            while self.ask("GET", f"/recordings/{made['id']}")[1].get("state") in ("Running", "Stopping"):
                time.sleep(0.05)
            self.ask("DELETE", f"/recordings/{made['id']}")

    @contextlib.contextmanager
    def logs(self, pid):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", f"/api/v1/stream?topics=logs/{pid}", headers=self.headers)
        connection.getresponse()
        try:
            yield
        finally:
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def top(pid, *options):
    shown = subprocess.Popen([SONDE, "top", "--json", "-d", "1s", "-p", str(pid), *options], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        shown.send_signal(signal.SIGINT)
        shown.wait()


@contextlib.contextmanager
def shop_under_load(runtimes):
    program = [f"{runtimes}/10/dotnet", ROOT / "build/shop/shop.dll"]
    environment = dict(os.environ, DOTNET_ROLL_FORWARD="LatestMajor")
    with subprocess.Popen([*program, "--urls", "http://127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as shop:
        url = next(found[1] for line in shop.stdout if (found := re.search(r"shop: listening on (\S+)", line)))
        with subprocess.Popen([*program, "load", "--url", url, "--seconds", "3600", "--rate", str(RATE)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=environment) as load:
            try:
                yield shop.pid
            finally:
                load.terminate()
                shop.terminate()


def percent_for(pid, seconds):
    start, before = time.monotonic(), cpu_seconds(pid)
    time.sleep(seconds)
    return 100 * (cpu_seconds(pid) - before) / (time.monotonic() - start)


def bench_live_cost(bench):
    bench.table(f"CPU of the process, in percent of a CPU, with a live view and without; the shop at {RATE} requests a second")
    with tempfile.TemporaryDirectory() as folder, shop_under_load(bench.runtimes) as pid, Controller(folder) as controller:
        time.sleep(30 if bench.rounds >= 20 else 8)  # what is hot is compiled
        looks = {name: (lambda profile=profile: controller.view(pid, profile), SETTLE_S) for name, profile in VIEWS.items()}
        looks["Logs"] = (lambda: controller.logs(pid), SETTLE_S)
        looks["`sonde top`"] = (lambda: top(pid), TOP_SETTLE_S)
        looks["`sonde top --waits`"] = (lambda: top(pid, "--waits"), TOP_SETTLE_S)
        for name, (look, settle_s) in looks.items():
            def alone():
                time.sleep(SETTLE_S)
                return percent_for(pid, WINDOW_S)

            def looked_at():
                with look():
                    time.sleep(settle_s)
                    return percent_for(pid, WINDOW_S)
            bench.differ(name, *bench.in_turns(alone, looked_at))


SECTIONS = {"live-cost": (bench_live_cost, 20)}
