"""ClickHouse's HTTP interface over chdb, its engine as a library, as far as tests of
collector-config/clickhouse need it.

usage: engine.py ADDRESS DIRECTORY
"""

import gzip
import http.server
import struct
import sys
import tempfile
import threading
import urllib.parse

from chdb import session

address, directory = sys.argv[1:3]
engine = session.Session(directory)
# A session takes one query at a time.
turn = threading.Lock()


def text(value):
    """A text after its length, which is a varint; here below 128."""
    raw = value.encode()
    return bytes([len(raw)]) + raw


def greeting():
    """The answer to the driver's first query. It is in the form of its own version of
    the protocol; with revision 0 it reads all further ones as chdb writes them."""
    columns = [
        ("displayName()", "String", text("chdb")),
        ("version()", "String", text("26.1.1.1")),
        ("revision()", "UInt32", struct.pack("<I", 0)),
        ("timezone()", "String", text("UTC")),
    ]
    block_info = b"\x01\x00\x02\xff\xff\xff\xff\x00"
    body = b"".join(text(name) + text(kind) + b"\x00" + data for name, kind, data in columns)
    return block_info + bytes([len(columns), 1]) + body


def run(sql, data, form):
    if "revision()" in sql:
        return greeting()
    with turn:
        if not data:
            return engine.query(sql, form).bytes() or b""
        columns = sql[: sql.upper().rindex("FORMAT")]
        with tempfile.NamedTemporaryFile(suffix=".native") as block:
            block.write(data)
            block.flush()
            engine.query(f"{columns} SELECT * FROM file('{block.name}', 'Native')")
        return b""


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("X-ClickHouse-Timezone", "UTC")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def do_GET(self):
        self.answer(200, b"Ok.\n")

    def do_POST(self):
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query))
        data = self.body()
        if self.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        sql = asked.get("query", "")
        if not sql:
            sql, data = data.decode(), b""
        try:
            self.answer(200, run(sql, data, asked.get("default_format", "JSONCompact")))
        except Exception as failure:  # The engine's own errors are of several kinds.
            self.answer(500, str(failure).encode())


host, port = address.rsplit(":", 1)
http.server.ThreadingHTTPServer((host, int(port)), Server).serve_forever()
