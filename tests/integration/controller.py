"""A `sonde serve` of its own for a test: private folders, a free port, its keys, and requests as raw as they must be."""
import http.client
import json
import os
import re
import signal
import socket
import tempfile
import shutil

import targets


class Answer:
    """One HTTP answer as it came."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Controller(targets.Process):
    """`sonde serve`, ready. `key` is the one of the machine's own programs: it may do everything. What tests watch is young: its meters are
    asked for early, unless `meters_age` is None. `prefix` is what starts it: unshare, setpriv ..."""

    def __init__(self, *arguments, folder=None, env=None, listen="127.0.0.1:0", meters_age="5s", prefix=()):
        self._own = None if folder else tempfile.mkdtemp(prefix="sonde-serve-")
        self.folder = folder or self._own
        self.state = os.path.join(self.folder, "state")
        where = ["--listen", listen] if listen else []
        if meters_age and "--as" not in arguments:
            where += ["--meters-age", meters_age]
        environment = targets.environment(XDG_RUNTIME_DIR=self.folder, XDG_STATE_HOME=self.folder, **(env or {}))
        super().__init__([*prefix, targets.SONDE, "serve", *where, "--state", self.state, *map(str, arguments)], env=environment)
        try:
            targets.until("the controller serves: " + self.text, lambda: b"listening on unix:" in self.out + self.err or
                          (b"open http" in self.out + self.err) or not self.is_running())
            if not self.is_running():
                raise AssertionError("the controller ended early: " + self.text)
        except BaseException:
            self.end()
            raise
        self.url = (re.findall(r"listening on (https?://\S+)", self.text) or [None])[0]
        self.port = int(self.url.rpartition(":")[2]) if self.url else None
        self.host = f"127.0.0.1:{self.port}"
        self.socket = os.path.join(self.folder, "sonde", "control.sock")
        with open(os.path.join(self.state, "key")) as file:
            self.key = file.read().strip()

    def new_key(self, scope, *arguments):
        """A key of this scope."""
        self._keys = getattr(self, "_keys", 0) + 1
        made = targets.Process([targets.SONDE, "key", "add", "--scope", scope, "--name", f"test-{self._keys}", "--json", "--state", self.state,
                                *arguments])
        try:
            assert made.wait() == 0, made.text
            return made.json
        finally:
            made.end()

    def ask(self, method, path, body=None, key=True, headers=None, seconds=targets.PATIENCE):
        """One request on a connection of its own. `key` True: ours; a text: that one; None: none."""
        headers = dict(headers or {})
        if key:
            headers.setdefault("Authorization", "Bearer " + (self.key if key is True else key))
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def connect(self, seconds=targets.PATIENCE):
        return socket.create_connection(("127.0.0.1", self.port), seconds)

    def say(self, request, seconds=targets.PATIENCE):
        """Sends bytes and returns all that comes until the controller closes; b"" if it closes without a word."""
        with self.connect(seconds) as client:
            try:
                client.sendall(request)
            except (BrokenPipeError, ConnectionResetError):
                pass
            return read_all(client)

    def status_of(self, request):
        """The status of the answer to raw bytes; None: closed without one."""
        return status_in(self.say(request))

    def get(self, path, headers=b"", key=True):
        """The bytes of a request that asks to be the last."""
        proof = b"Authorization: Bearer " + self.key.encode() + b"\r\n" if key else b""
        return (b"GET " + path + b" HTTP/1.1\r\nHost: " + self.host.encode() + b"\r\n" + proof + headers + b"Connection: close\r\n\r\n")

    def memory(self):
        """Resident, in bytes."""
        with open(f"/proc/{self.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) * 1024

    def connections(self):
        """How many it holds on its port, also of clients that have gone."""
        with open(f"/proc/{self.pid}/net/tcp") as table:
            rows = [row.split() for row in table.readlines()[1:]]
        return sum(1 for row in rows if int(row[1].rpartition(":")[2], 16) == self.port and row[3] in ("01", "08") and row[9] != "0")

    def stop(self, seconds=targets.PATIENCE):
        """Its exit code, asked to end."""
        self.signal(signal.SIGTERM)
        return self.wait(seconds)

    def end(self):
        super().end()
        if self._own:
            shutil.rmtree(self._own, True)


def read_all(client):
    pieces = []
    try:
        while piece := client.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def status_in(answer):
    found = re.match(rb"HTTP/1\.[01] (\d{3}) ", answer)
    return int(found[1]) if found else None
