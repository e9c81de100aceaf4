# SPDX-License-Identifier: Apache-2.0
"""The load of the Responses API, against a real HTTP server of this process."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Handler(BaseHTTPRequestHandler):
    """Keeps what was posted; refuses what is called so."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.posted.append((self.path, body))
        self.send_response(400 if body["max_output_tokens"] == 0 else 200)
        self.end_headers()
        self.wfile.write(b"said")

    def log_message(self, *_arguments):
        """Print nothing."""


class Server(ThreadingHTTPServer):
    """Takes all clients at once: the default of five waiting connections resets some."""

    request_queue_size = 64


@pytest.fixture
def server():
    with Server(("127.0.0.1", 0), Handler) as found:
        found.posted = []
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def client(server):
    from corpus.responses import ResponsesClient

    return ResponsesClient(f"http://127.0.0.1:{server.server_port}")


def test_every_request_is_stored_by_its_own_text_and_done_once(client, server):
    for index in range(40):
        client.submit(f"r{index}", [index, 7], 3)
    done = []
    while client.busy():
        done += client.step()
    assert sorted(done) == sorted((f"r{index}", 3, True) for index in range(40))
    assert {path for path, _ in server.posted} == {"/v1/responses"}
    assert sorted(body["input"] for _, body in server.posted) == sorted(f"{index:03d} 007" for index in range(40))
    assert all(body["store"] is True and body["max_output_tokens"] == 3 for _, body in server.posted)


def test_a_refusal_is_an_error_with_what_the_server_said(client):
    client.submit("r", [1], 0)
    with pytest.raises(RuntimeError, match="the server answered 400: said"):
        client.step()
