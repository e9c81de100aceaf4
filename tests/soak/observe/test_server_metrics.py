# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from vllm_soak.observe.server_metrics import WANTED, ServerMetrics, values_of

PAGE = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 60.0
vllm:num_requests_running{engine="1",model_name="m"} 4.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m, with \\"quotes\\" {and} brackets"} 3.0
vllm:num_requests_waiting_by_reason{engine="0",reason="x"} 99.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.75
# TYPE vllm:num_preemptions counter
vllm:num_preemptions_total{engine="0"} 5.0
vllm:num_preemptions_created{engine="0"} 1.7e+09
# TYPE vllm:request_success counter
vllm:request_success_total{engine="0",finished_reason="stop"} 100.0
vllm:request_success_total{engine="0",finished_reason="length"} 20.0
vllm:prompt_tokens_total{engine="0"} NaN
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{le="0.3"} 90.0
vllm:e2e_request_latency_seconds_bucket{le="+Inf"} 120.0
vllm:e2e_request_latency_seconds_count{} 120.0
vllm:e2e_request_latency_seconds_sum{} 30.0
python_gc_objects_collected_total{generation="0"} 12345.0
"""
VALUES = {
    "running": 64.0, "waiting": 3.0, "kv_usage": 0.75, "preemptions": 5.0, "requests": 120.0,
    "latency_count": 120.0, "latency_sum": 30.0,
}  # fmt: skip


class Pages(BaseHTTPRequestHandler):
    """Answers `/metrics` like a vLLM server, on a connection that stays."""

    protocol_version = "HTTP/1.1"
    page, status = PAGE, 200
    hang_up = False

    def do_GET(self):
        body = type(self).page.encode() if self.path == "/metrics" else b"nothing here"
        self.send_response(type(self).status if self.path == "/metrics" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = type(self).hang_up

    def log_message(self, *_):
        pass


@pytest.fixture
def pages():
    """A real server whose page can be changed."""

    class Own(Pages):
        pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    Own.url = f"http://127.0.0.1:{server.server_port}"
    yield Own
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_of_a_server_with_two_engines():
    assert values_of(PAGE, WANTED) == VALUES


def test_a_page_without_anything_wanted():
    assert values_of("python_info 1.0\n", WANTED) == {}
    assert values_of("", WANTED) == {}


def test_a_wanted_line_that_is_broken_is_an_error():
    with pytest.raises(ValueError):
        values_of("vllm:num_requests_running{engine= 5\n", WANTED)


def test_from_a_real_server(pages):
    asked = ServerMetrics(pages.url, timeout=120.0)
    assert asked.read() == VALUES
    pages.page = "vllm:num_requests_running 1.0\n"
    assert asked.read() == {"running": 1.0}
    asked.close()


def test_a_connection_that_the_server_dropped_is_made_again(pages):
    pages.hang_up = True
    asked = ServerMetrics(f"{pages.url}/metrics", timeout=120.0)
    assert [asked.read() for _ in range(3)] == [VALUES] * 3
    asked.close()


def test_a_server_in_trouble_has_no_values(pages):
    asked = ServerMetrics(pages.url, timeout=120.0)
    pages.status = 500
    assert asked.read() == {}
    pages.status = 200
    pages.page = "vllm:num_requests_running{broken 1.0\n"
    assert asked.read() == {}
    pages.page = PAGE
    assert asked.read() == VALUES
    asked.close()


def test_nobody_listens():
    asked = ServerMetrics("http://127.0.0.1:9")
    assert asked.read() == {}
    asked.close()
    asked.close()
