"""Nothing here reaches beyond this machine."""

import gzip
import http.server
import re
import threading

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_hub(tmp_path_factory):
    """The hub's libraries read these variables once, when they are imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_DATASETS_OFFLINE", "1")
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("hub")))
        yield


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COURSE_QUIET", "1")
    return tmp_path / "cache"


@pytest.fixture
def write(tmp_path):
    """Write bytes or lines to a file of that name, compressed if it ends in .gz."""

    def write(name, content):
        path = tmp_path / name
        if isinstance(content, list):
            content = "".join(line + "\n" for line in content).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        return path

    return write


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append(self.headers["Range"])
        server.hold.wait(30)
        content = server.files.get(self.path)
        if content is None:
            return self.send_error(404)
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        start = int(asked[1]) if asked and server.resumes else 0
        if start and start >= len(content):
            return self.send_error(416)
        self.send_response(206 if asked and server.resumes else 200)
        if server.announces:
            self.send_header("Content-Length", str(len(content) - start))
        for name, value in server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        stop = start + server.breaks.pop(0) if server.breaks else None
        return self.wfile.write(content[start:stop])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    """A web server on this machine: ``files`` by path, ``breaks`` after so many bytes each time.

    It sends further ``headers``, and nothing at all while the event ``hold`` is not set.
    """
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.files, server.asked, server.breaks, server.headers = {}, [], [], {}
    server.hold = threading.Event()
    server.hold.set()
    server.resumes = server.announces = True
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
