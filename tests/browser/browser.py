"""A headless Chromium without a network, spoken to over its debugging pipe; and tests that open pages in it."""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.environ.get("SONDE_ROOT", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
SONDE = os.environ.get("SONDE", os.path.join(ROOT, "build/dev/sonde"))
PAGE = os.path.join(os.path.dirname(SONDE), "tests/browser_page")
DEADLINE = 60  # seconds, for a machine that is busy with other things


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


class Browser:
    """One process for all pages of a test."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("google-chrome")
        if not program:
            skip("no chromium; 'tools/install test' installs it")
        self.profile = tempfile.mkdtemp(prefix="sonde-browser-")
        commands, self.commands = self._pipe()
        self.replies, replies = self._pipe()
        arguments = [program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
                     "--no-first-run", "--disable-gpu", "--disable-extensions", "--disable-background-networking",
                     "--disable-dev-shm-usage",
                     "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--hide-scrollbars", "--mute-audio",
                     "--no-sandbox"]  # it wants rights that containers do not give; the pages are our own

        def pass_pipes():
            os.dup2(commands, 3)
            os.dup2(replies, 4)

        self.log = open(os.path.join(self.profile, "log"), "wb")
        self.process = subprocess.Popen(arguments, preexec_fn=pass_pipes, close_fds=True, pass_fds=(3, 4, commands, replies),
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        os.close(commands)
        os.close(replies)
        self.held = b""
        self.number = 0
        self.events = []

    @staticmethod
    def _pipe():
        """Two ends, both out of the way of descriptors 3 and 4."""
        ends = []
        for end in os.pipe():
            ends.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20))
            os.close(end)
        return ends

    def close(self):
        os.close(self.commands)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.replies)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _read(self, deadline):
        while b"\0" not in self.held:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.replies], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.replies, 1 << 20)
            if not got:
                raise EOFError("the browser is gone")
            self.held += got
        message, self.held = self.held.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        deadline = time.monotonic() + DEADLINE
        while True:
            reply = self._read(deadline)
            if reply.get("id") != self.number:
                self.events.append(reply)
            elif "error" in reply:
                raise RuntimeError(f"{method}: {reply['error']['message']}")
            else:
                return reply["result"]

    def open(self, path, width=1400, height=1000, scale=1, dark=False, still=True):
        return Page(self, path, width, height, scale, dark, still)


class Page:
    """A tab with one file in it."""

    def __init__(self, browser, path, width, height, scale, dark, still):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        browser.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}])
        self.call("Page.navigate", url="file://" + path)
        self.wait("document.readyState === 'complete'")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def run(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", expression))
        return result["result"].get("value")

    def wait(self, expression):
        deadline = time.monotonic() + DEADLINE
        while not self.run(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.02)

    def settle(self):
        """Until what was asked for is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def pointer(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, x, y):
        self.pointer("mouseMoved", x, y)
        self.settle()

    def click(self, x, y):
        self.move(x, y)
        self.pointer("mousePressed", x, y, button="left", clickCount=1)
        self.pointer("mouseReleased", x, y, button="left", clickCount=1)
        self.settle()

    def key(self, key, text=None):
        codes = {"Enter": 13, "Escape": 27, "Home": 36, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39}
        common = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0]))}
        if text:
            common["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def screenshot(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def complaints(self):
        """Errors on the console, exceptions, violated policies, requests for anything but the page."""
        self.settle()
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, parameters = event["method"], event["params"]
            if method == "Runtime.exceptionThrown" or \
                    (method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert")) or \
                    (method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning")) or \
                    (method == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith("file://")):
                found.append(json.dumps(parameters)[:600])
        return found

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="sonde-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def path(self, name):
        return os.path.join(self.folder, name)

    def made(self, kind):
        """The path of a page of tests/browser/page.c, written once."""
        path = self.path(f"{kind}.html")
        if not os.path.exists(path):
            with open(path, "wb") as file:
                subprocess.run([PAGE, kind], stdout=file, check=True, timeout=DEADLINE, env={**os.environ, "LC_ALL": "C", "TZ": "UTC"})
        return path

    def open(self, path, **options):
        page = self.browser.open(path, **options)
        self.addCleanup(page.close)
        return page
