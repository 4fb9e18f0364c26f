"""What the integration tests share: .NET processes to aim at, sonde to aim with, and a clean room after.

A test file is a unittest module whose last line is `targets.main()`. Everything started here is ended when
its test ends, however it ends; a target that outlives even that ends by itself.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.environ.get("SONDE_ROOT") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SONDE = os.environ.get("SONDE") or os.path.join(ROOT, "build", "dev", "sonde")
APP = os.path.join(ROOT, "build", "apps", "targets", "targets.dll")
MAJORS = (8, 9, 10)
os.environ["SONDE_HOST"] = "none"  # whatever controller runs on this machine, it is not part of a test

RUNTIME = "Microsoft-Windows-DotNETRuntime"
RUNDOWN = RUNTIME + "Rundown"
NOBODY = 65534

# The end of a reason that a package would remove: with CI=true such a skip is a failure (tools/run-tests).
INSTALLABLE = "'tools/install test' installs it"

# How long anything may take before it counts as hanging. Nothing is asserted about how fast it is.
PATIENCE = 180
LIFETIME = 900


def skip(reason):
    print("skipped: " + reason, file=sys.stderr)
    sys.exit(77)


def until(what, holds, seconds=PATIENCE):
    """Returns the first true answer of `holds`."""
    deadline = time.monotonic() + seconds
    while True:
        answer = holds()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.02)


GERMAN = "de_DE.UTF-8"


def german(folder):
    """What the environment of a user has whose numbers have commas: the system's locale, or one made in `folder`.
    None where there is neither."""
    changes = {"LC_ALL": GERMAN, "LANG": GERMAN}
    have = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.lower().split()
    if "de_de.utf8" in have:
        return changes
    path = os.path.join(folder, GERMAN)
    if not shutil.which("localedef") or not can("localedef", "--no-archive", "-i", "de_DE", "-f", "UTF-8", path):
        return None
    return {**changes, "LOCPATH": folder}


def entries(pid, folder):
    """How many threads ("task") or open files ("fd") a process has."""
    return len(os.listdir(f"/proc/{pid}/{folder}"))


def stat_of(pid):
    """The fields of /proc/PID/stat behind the name: state first, start time at 19."""
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()


def state_of(pid):
    return stat_of(pid)[0]


def until_its_meters(pid):
    """A young process is asked for its counters alone: returns when its meters are asked for at once."""
    def age():
        with open("/proc/uptime") as uptime:
            return float(uptime.read().split()[0]) - int(stat_of(pid)[19]) / os.sysconf("SC_CLK_TCK")
    until("the process is old enough", lambda: age() > 5.1)


def all_stopped(pid):
    """Whether every thread stands: each stops by itself, when it gets a CPU, and the first one's state is only its own."""
    try:
        return all(state_of(f"{pid}/task/{task}") in "Tt" for task in os.listdir(f"/proc/{pid}/task"))
    except (FileNotFoundError, ProcessLookupError):
        return False  # one ended meanwhile


def _look_for_runtimes():
    """Their folder, or the reason why there are none."""
    found = subprocess.run([os.path.join(ROOT, "tools", "test-runtimes")], capture_output=True, text=True)
    if found.returncode:
        return None, "no .NET runtimes: " + found.stderr.strip()
    if not os.path.exists(APP):
        return None, "the test apps are not built: tests/apps/build"
    return found.stdout.strip(), None


_runtimes = None


def find_runtimes():
    """The folder with a runtime of each major version. Where there is none, the test that asks is skipped."""
    global _runtimes
    _runtimes = _runtimes or _look_for_runtimes()
    folder, reason = _runtimes
    if reason:
        raise unittest.SkipTest(reason)
    return folder


def require_runtimes():
    """For programs without test cases: they end here where there is no runtime."""
    try:
        find_runtimes()
    except unittest.SkipTest as reason:
        skip(str(reason))


def tell(kind, text):
    """A line of its own, also behind the dots of unittest."""
    print(f"\n{kind}: {text}", file=sys.stderr, flush=True)


def tell_retry(reason):
    """Says that what failed is repeated inside the test: the summary of tools/run-tests counts these lines."""
    tell("tried again", ' '.join(str(reason).split())[:300])


def tell_figure(text):
    """Says what was measured: tests/soak/run keeps these lines."""
    tell("figure", text)


def find_dotnet(major):
    return os.path.join(find_runtimes(), str(major), "dotnet")


def need(*programs):
    """Skips the test where one of these is missing, which `tools/install test` installs."""
    for program in programs:
        if not shutil.which(program):
            raise unittest.SkipTest(f"no {program}; {INSTALLABLE}")


def environment(**changes):
    """Ours, with what every target needs; a change to None takes a variable away."""
    env = dict(os.environ, DOTNET_ROLL_FORWARD="LatestMajor", DOTNET_DbgEnableMiniDump="0",
               DOTNET_CLI_TELEMETRY_OPTOUT="1")
    env.pop("DOTNET_DiagnosticPorts", None)
    for name, value in changes.items():
        env.pop(name, None)
        if value is not None:
            env[name] = value
    return env


def command(major, *behaviour):
    return [find_dotnet(major), APP, *behaviour, "--seconds", str(LIFETIME)]


class Process:
    """A child whose output is read as it comes, in a process group of its own."""

    def __init__(self, argv, stdin=subprocess.DEVNULL, **how):
        self.child = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      start_new_session=True, **how)
        self.out = self.err = b""
        self._readers = [threading.Thread(target=self._read, args=(name,), daemon=True) for name in ("out", "err")]
        for reader in self._readers:
            reader.start()

    def _read(self, name):
        pipe = self.child.stdout if name == "out" else self.child.stderr
        for piece in iter(lambda: os.read(pipe.fileno(), 65536), b""):
            setattr(self, name, getattr(self, name) + piece)

    @property
    def pid(self):
        return self.child.pid

    def signal(self, number):
        self.child.send_signal(number)

    def is_running(self):
        return self.child.poll() is None

    def wait(self, seconds=PATIENCE):
        """Its exit code; all its output is here then. Its pipes may be held open by children of its own."""
        try:
            code = self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"hangs: {self.child.args}\n{self.text}") from None
        for reader in self._readers:
            reader.join(2)
        return code

    @property
    def text(self):
        return (self.out + self.err).decode(errors="replace")

    @property
    def said(self):
        return self.err.decode(errors="replace")

    @property
    def json(self):
        return json.loads(self.out)

    def end(self):
        for number in (signal.SIGCONT, signal.SIGKILL):
            try:
                os.killpg(self.child.pid, number)
            except (ProcessLookupError, PermissionError):
                pass
        self.child.wait()
        for reader in self._readers:
            reader.join(2)
        self.child.stdout.close()
        self.child.stderr.close()


class Target(Process):
    """A .NET process that is ready. `prefix` is what starts it: unshare, setpriv ..."""

    def __init__(self, argv, **how):
        super().__init__(argv, **how)
        try:
            until("target gets ready: " + " ".join(argv), lambda: self._is_ready() or not self.is_running())
            if not self._is_ready():
                raise AssertionError(f"target ended early: {argv}\n{self.text}")
        except BaseException:
            self.end()
            raise
        self.net_pid = self._find()

    def _is_ready(self):
        return re.search(rb"^ready pid=\d+\n", self.out, re.M)

    def _find(self):
        """Our pid of it: what was started may have been a program that starts it."""
        own = int(re.search(rb"^ready pid=(\d+)", self.out, re.M)[1])
        for pid in reversed([self.pid, *descendants(self.pid)]):  # the innermost: starters have its arguments too
            with open(f"/proc/{pid}/status") as status:
                if re.search(rf"^NSpid:.*\b{own}$", status.read(), re.M) and b"targets.dll" in command_line(pid):
                    return pid
        raise AssertionError(f"no pid for target {own}")

    def socket(self, folder="/tmp"):
        """The path of its diagnostics port."""
        return os.path.join(folder, f"dotnet-diagnostic-{self.net_pid}-{stat_of(self.net_pid)[19]}-socket")

    def end(self):
        """A runtime that is killed leaves files behind."""
        leavings = []
        if hasattr(self, "net_pid") and os.path.exists(f"/proc/{self.net_pid}"):
            name = f"{self.net_pid}-{stat_of(self.net_pid)[19]}"
            leavings = [f"/tmp/dotnet-diagnostic-{name}-socket", f"/tmp/clr-debug-pipe-{name}-in",
                        f"/tmp/clr-debug-pipe-{name}-out"]
        super().end()
        for path in leavings:
            if os.path.lexists(path):
                os.unlink(path)


def read_or_nothing(path):
    """Of a process that may be gone meanwhile."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def command_line(pid):
    return read_or_nothing(f"/proc/{pid}/cmdline")


def descendants(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as children:
                for child in map(int, children.read().split()):
                    found += [child, *descendants(child)]
    except OSError:
        pass
    return found


def group_of(leader):
    """Living members of a process group."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and int(stat_of(name)[2]) == leader and state_of(name) != "Z":
                found.append(int(name))
        except OSError:
            pass
    return found


class Case(unittest.TestCase):
    """A test with a folder of its own and helpers that clean up."""

    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sonde-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def target(self, *behaviour, major=10, prefix=(), env=None, **how):
        target = Target([*prefix, *command(major, *behaviour)], env=environment(**(env or {})), **how)
        self.addCleanup(target.end)
        return target

    def start(self, *arguments, **how):
        """sonde, in the background."""
        process = Process([SONDE, *map(str, arguments)], **how)
        self.addCleanup(process.end)
        return process

    def sonde(self, *arguments, code=0, seconds=PATIENCE, **how):
        """sonde, to its end; `code` None accepts any but a crash."""
        process = self.start(*arguments, **how)
        found = process.wait(seconds)
        what = f"sonde {' '.join(map(str, arguments))}: exit {found}\n{process.text[-3000:]}"
        if code is None:
            self.assertIn(found, (0, 1, 2, 3, 4), what)
        else:
            self.assertEqual(found, code, what)
        return process

    def trace(self, target, *arguments, code=0, name="t.nettrace", **how):
        """Runs `sonde trace --json` and returns its one outcome."""
        done = self.sonde("trace", "-p", target.net_pid, "-o", self.path(name), "--json", *arguments, code=None, **how)
        self.assertEqual(done.child.returncode, code, done.text + ("" if target.is_running() else "target died: " + target.text))
        outcome = done.json[0]
        outcome["said"] = done.said
        return outcome

    def start_trace(self, target, *arguments, name="t.nettrace"):
        """sonde trace in the background, once bytes arrive."""
        process = self.start("trace", "-p", target.net_pid, "-o", self.path(name), "--json", *arguments)
        until("trace begins: " + process.text, lambda: not process.is_running() or size_of(self.path(name)) > 0)
        self.assertTrue(process.is_running(), process.text)
        return process

    def report(self, path=None, code=0):
        return self.sonde("report", path or self.path("t.nettrace"), "--json", code=code).json

    def assert_healthy(self, target):
        self.assertTrue(target.is_running(), "the target died: " + target.text)
        self.sonde("env", "-p", target.net_pid, "--json")


def size_of(path):
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def kinds(report, provider=None):
    """{event id: count} of a provider, or {(provider, id): count} of all."""
    counts = {}
    for kind in report["kinds"]:
        key = kind["id"] if provider else (kind["provider"], kind["id"])
        if provider in (None, kind["provider"]):
            counts[key] = counts.get(key, 0) + kind["count"]
    return counts


def drop_session(target, path, delay):
    """kill -9 of a sonde that traces, `delay` seconds after its session opened, or after its start when the delay is
    negative. Whether there was a session."""
    with open(path, "wb"):
        pass
    child = subprocess.Popen([SONDE, "trace", "-p", str(target.net_pid), "-o", path, "--no-cpu"], start_new_session=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if delay >= 0:
            until("session opens", lambda: size_of(path) or child.poll() is not None)
        time.sleep(abs(delay))
    finally:
        child.kill()
        child.wait()
    return size_of(path) > 0


def ticks(*paths):
    """{thread: numbers in the order of the files} of the storm's events, found by their bytes alone."""
    found = {}
    for path in paths:
        with open(path, "rb") as file:
            for thread, number in re.findall(rb"(?s)(.\0{3})(.{8})(?:x\0){15}\0\0", file.read()):
                found.setdefault(int.from_bytes(thread, "little"), []).append(int.from_bytes(number, "little"))
    return found


def can(*argv):
    """Whether a command that needs rights works here."""
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def name_of(test):
    """Class.test_x of a test, or of a part of one; Class of all that its setUpClass left out."""
    name = test.id().split(" ")[0]
    if name.startswith("setUp"):
        name = test.id().partition("(")[2].rstrip(")")
    return name.removeprefix("__main__.")


def main():
    if not os.access(SONDE, os.X_OK):
        skip(f"no sonde at {SONDE}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that cleanups run
    result = unittest.main(exit=False).result
    skipped = {(name_of(test), " ".join(reason.split())): test for test, reason in result.skipped}
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}", file=sys.stderr)
    if not result.wasSuccessful():
        sys.exit(1)
    begun = {name for (name, _), test in skipped.items() if not test.id().startswith("setUp")}
    if skipped and len(begun) == result.testsRun:
        sys.exit(77)
