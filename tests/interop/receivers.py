"""The real programs that Sonde's exporters send to, each on a free port of this machine, and what they say they got.

`with Carbon() as carbon:` starts one and ends it; questions are asked again until the answer is there or PATIENCE
is over. SkipTest where a program is missing.
"""
import glob
import http.server
import json
import os
import pickle
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 180


def until(ask, what):
    """The first answer that is not None or False."""
    end = time.monotonic() + PATIENCE
    while True:
        answer = ask()
        if answer is not None and answer is not False:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"{what() if callable(what) else what}: not within {PATIENCE} s")
        time.sleep(0.02)


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fetched(script):
    """The folder that tests/interop/build-* prints."""
    run = subprocess.run([os.path.join(HERE, script)], capture_output=True, text=True)
    if run.returncode:
        raise unittest.SkipTest(run.stderr.strip().splitlines()[-1])
    return run.stdout.strip()


def is_listening(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Program:
    """One that runs in a folder of its own until the end of the `with`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="sonde-test-")
        self.process = None

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def start(self, port, *command):
        if not shutil.which(command[0]):
            raise unittest.SkipTest(f"no {command[0]}; 'tools/install test' installs it")
        with open(self.path("log"), "a") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until(lambda: self.check_alive() and is_listening(port), f"{command[0]} listens")

    def log(self):
        with open(self.path("log")) as file:
            return file.read()

    def check_alive(self):
        if self.process.poll() is not None:
            raise AssertionError(f"ended with {self.process.returncode}:\n{self.log()}")
        return True

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        try:
            self.run()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Carbon(Program):
    """carbon-cache with a whisper file for every series."""

    def run(self):
        self.lines_port, self.pickle_port, query = free_port(), free_port(), free_port()
        for name in ("storage", "log_files"):
            os.mkdir(self.path(name))
        self.write("storage-schemas.conf", "[all]\npattern = .*\nretentions = 1s:1h\n")
        self.write("carbon.conf", f"""[cache]
STORAGE_DIR = {self.folder}
LOCAL_DATA_DIR = {self.path("storage")}
CONF_DIR = {self.folder}
LOG_DIR = {self.path("log_files")}
PID_DIR = {self.folder}
MAX_UPDATES_PER_SECOND = inf
MAX_CREATES_PER_MINUTE = inf
LINE_RECEIVER_INTERFACE = 127.0.0.1
LINE_RECEIVER_PORT = {self.lines_port}
PICKLE_RECEIVER_INTERFACE = 127.0.0.1
PICKLE_RECEIVER_PORT = {self.pickle_port}
CACHE_QUERY_INTERFACE = 127.0.0.1
CACHE_QUERY_PORT = {query}
ENABLE_TAGS = False
TAG_HASH_FILENAMES = True
LOG_UPDATES = False
CARBON_METRIC_INTERVAL = 0
""")
        self.start(query, "carbon-cache", f"--config={self.path('carbon.conf')}", "--nodaemon", "start")
        until(lambda: is_listening(self.pickle_port) and is_listening(self.lines_port), "carbon's ports")

    def stored(self):
        """How many series have a file."""
        return len(glob.glob(self.path("storage", "**", "*.wsp"), recursive=True))

    def values(self, series):
        """{time: value} of a series, as whisper reads it back."""
        import whisper
        from carbon.util import TaggedSeries
        path = self.path("storage", TaggedSeries.encode(series, os.sep, hash_only=True) + ".wsp")
        try:
            (start, _, step), values = whisper.fetch(path, time.time() - 600)
        except (OSError, whisper.WhisperException):
            return {}
        return {start + i * step: value for i, value in enumerate(values) if value is not None}

    def complaints(self):
        """What carbon wrote about input that it did not take."""
        found = []
        for path in glob.glob(self.path("log_files", "**", "*.log"), recursive=True) + [self.path("log")]:
            with open(path, errors="replace") as file:
                found += [line for line in file if re.search(r"invalid|error|traceback|Bad ", line, re.IGNORECASE)]
        return found


class Statsd(Program):
    """StatsD, which never flushes: it shows everything since its start."""

    def run(self):
        self.port, self.console_port = free_port(socket.SOCK_DGRAM), free_port()
        self.write("config.js", f"""{{
address: "127.0.0.1", port: {self.port}, mgmt_address: "127.0.0.1", mgmt_port: {self.console_port},
flushInterval: 86400000, backends: ["./backends/console"]
}}""")
        self.start(self.console_port, "node", os.path.join(fetched("build-statsd"), "stats.js"), self.path("config.js"))

    def ask(self, word):
        """{name: number}: `counters` or `gauges`."""
        with socket.create_connection(("127.0.0.1", self.console_port), PATIENCE) as console:
            console.sendall(f"{word}\n".encode())
            answer = b""
            while not answer.endswith(b"END\n\n"):
                part = console.recv(65536)
                if not part:
                    break
                answer += part
        pairs = re.findall(r"""(?:'([^']*)'|(\w+)): (-?[\d.e+-]+)""", answer.decode())
        return {quoted or plain: float(number) for quoted, plain, number in pairs}

    def send(self, text):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for line in text.splitlines():
                out.sendto(line.encode(), ("127.0.0.1", self.port))


class Prometheus(Program):
    """Prometheus, which scrapes {job: port} once a second."""

    def __init__(self, targets):
        super().__init__()
        self.targets = targets

    def run(self):
        self.port = free_port()
        jobs = "".join(f"""
- job_name: {job}
  static_configs: [{{targets: ["127.0.0.1:{port}"]}}]""" for job, port in self.targets.items())
        self.write("prometheus.yml", f"global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:{jobs}\n")
        self.start(self.port, "prometheus", f"--config.file={self.path('prometheus.yml')}", "--log.level=info",
                   f"--storage.tsdb.path={self.path('data')}", f"--web.listen-address=127.0.0.1:{self.port}")

    def get(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def query(self, expression):
        """[(labels, value)] of what the expression selects now; [] before there is anything."""
        data = self.get("query", query=expression) or {"result": []}
        return [(result["metric"], float(result["value"][1])) for result in data["result"]]

    def health(self, job):
        """"up", or why not; None before the first scrape."""
        for target in (self.get("targets") or {"activeTargets": []})["activeTargets"]:
            if target["labels"]["job"] == job and target["health"] != "unknown":
                return "up" if target["health"] == "up" else target["lastError"]
        return None

    def own(self, name):
        """One of its own counters."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=PATIENCE) as page:
            found = re.search(rf"^{name} (\S+)$", page.read().decode(), re.MULTILINE)
        return float(found.group(1))


class Server:
    """An HTTP server of the test's own."""

    def __init__(self, handle):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                handle(self)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def reply(handler, body=b"", content_type="text/plain", status=200):
    handler.send_response(status)
    handler.send_header("Content-Type", content_type)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def page(body, content_type):
    """A server whose every page is this one."""
    return Server(lambda handler: reply(handler, body, content_type))


def otlp_decoder():
    """The class ExportMetricsServiceRequest, made from the public protocol buffers."""
    folder = fetched("build-otlp")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
    return metrics_service_pb2.ExportMetricsServiceRequest


def otlp_attributes(message):
    return {item.key: item.value.string_value or item.value.int_value for item in message.attributes}


def unpickled(frames):
    """What length-prefixed pickles hold."""
    found, at = [], 0
    while at < len(frames):
        size, = struct.unpack_from(">I", frames, at)
        found += pickle.loads(frames[at + 4:at + 4 + size])
        at += 4 + size
    return found


class Listener:
    """A TCP server of the test's own; `serve(connection)` is called for one connection after the other."""

    def __init__(self, serve):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.serve = serve

    def run(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                self.serve(connection)

    def __enter__(self):
        threading.Thread(target=self.run, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Flapping(Listener):
    """Takes some bytes and hangs up, again and again. `heard`: what came in each connection."""

    def __init__(self, bytes_each):
        self.heard = []
        self.bytes_each = bytes_each
        super().__init__(self.take)

    def take(self, connection):
        got = b""
        while len(got) < self.bytes_each:
            part = connection.recv(self.bytes_each - len(got))
            if not part:
                break
            got += part
        self.heard.append(got)


class Stuck(Listener):
    """Takes a connection and never reads from it."""

    def __init__(self):
        self.is_over = threading.Event()
        super().__init__(lambda connection: self.is_over.wait())

    def __exit__(self, *_):
        self.is_over.set()
        super().__exit__()
