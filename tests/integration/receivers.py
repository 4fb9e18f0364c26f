"""Receivers of exported numbers, as Graphite, StatsD and an OpenTelemetry collector are ones."""
import http.server
import socket
import threading


class Lines:
    """A receiver of lines, as carbon is one: takes connections, keeps what comes."""

    def __init__(self, port=0):
        self.socket = socket.create_server(("127.0.0.1", port))
        self.port = self.socket.getsockname()[1]
        self.bytes = b""
        self.peers = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            self.peers.append(peer)
            threading.Thread(target=self._read, args=(peer,), daemon=True).start()

    def _read(self, peer):
        try:
            for piece in iter(lambda: peer.recv(65536), b""):
                self.bytes += piece
        except OSError:
            pass

    @property
    def lines(self):
        return self.bytes.decode().splitlines()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)  # an accept that waits would keep it open
        self.socket.close()
        for peer in self.peers:
            peer.shutdown(socket.SHUT_RDWR)
            peer.close()


class Datagrams:
    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.messages = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while True:
            self.messages.append(self.socket.recv(65536))


class Collector:
    """Answers POSTs as an OpenTelemetry collector would."""

    def __init__(self):
        self.requests = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((self.path, self.headers, body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
