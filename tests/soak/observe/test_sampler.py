# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from vllm_soak.errors import StoreError
from vllm_soak.observe.gpu import Gpus
from vllm_soak.observe.keeper import PointKeeper
from vllm_soak.observe.sampler import SamplerHooks, TreeSampler, together
from vllm_soak.store.outside import HOST, SERVER, TREE, Point


class Metrics(BaseHTTPRequestHandler):
    """Says that seven requests run."""

    def do_GET(self):
        body = b"vllm:num_requests_running 7.0\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def metrics():
    server = HTTPServer(("127.0.0.1", 0), Metrics)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_one_reading_has_processes_tree_machine_and_server(root, metrics):
    core = root.tell("VLLM::EngineCore")
    kept = []
    sampler = TreeSampler(root.pid, SamplerHooks(kept.extend, requests=lambda: 42), arm="patched", metrics=metrics)
    sampler._server._timeout = 120.0
    points = {point.process: point for point in sampler.sample()}
    sampler.stop()
    assert kept == list(points.values())
    assert points["EngineCore"].pid == core
    assert points.keys() >= {"EngineCore", TREE, HOST, SERVER}
    assert {(point.arm, point.requests) for point in kept} == {("patched", 42)}
    assert points[SERVER].values == {"running": 7.0}
    assert points[TREE].values["processes"] == 2
    assert points[TREE].values["in_use"] > points["EngineCore"].values["in_use"] > 0


def test_the_server_is_asked_rarely(root, metrics):
    sampler = TreeSampler(root.pid, SamplerHooks(lambda _points: None), metrics=metrics, metrics_seconds=3600)
    sampler._server._timeout = 120.0
    asked = [SERVER in {point.process for point in sampler.sample()} for _ in range(3)]
    sampler.stop()
    assert asked == [True, False, False]


def test_in_a_thread_it_follows_what_comes_and_goes(root, until):
    events, points = [], []
    sampler = TreeSampler(root.pid, SamplerHooks(points.extend, events.append), interval=0.02)
    sampler.start()
    root.tell("VLLM::Worker_TP0")
    until(lambda: "Worker_TP0" in sampler.processes)
    root.tell("-VLLM::Worker_TP0")
    until(lambda: any((one.kind, one.process) == ("died", "Worker_TP0") for one in events))
    sampler.stop()
    until(lambda: "vllm-soak-sampler" not in {t.name for t in threading.enumerate()})
    elapsed = [point.elapsed for point in points if point.process == TREE]
    assert elapsed == sorted(elapsed)
    assert all(event.arm == "run" for event in events)


def test_what_a_hook_raises_ends_the_thread_and_is_kept(root, until):
    notes = []

    def full(_points):
        raise StoreError("no space is left", "free some")

    sampler = TreeSampler(root.pid, SamplerHooks(full, on_note=notes.append), interval=0.01)
    sampler.start()
    until(lambda: sampler.failure is not None)
    sampler.stop()
    assert isinstance(sampler.failure, StoreError)
    assert notes[-1] == "sampling ended: no space is left: free some."


def test_a_root_that_is_gone_leaves_the_machine():
    sampler = TreeSampler(2**22 + 1, SamplerHooks(lambda _points: None))
    points = {point.process: point.values for point in sampler.sample()}
    sampler.stop()
    assert points[TREE] == {"processes": 0.0}
    assert points[HOST]["mem_total"] > 0


def test_without_gpus_it_is_said_once(root):
    gpus = Gpus()
    if not gpus.missing:
        pytest.skip("this machine has NVML")
    assert gpus.missing.startswith("no NVML")
    assert (gpus.devices(), gpus.processes()) == ({}, {})
    gpus.close()
    notes = []
    sampler = TreeSampler(root.pid, SamplerHooks(lambda _points: None, on_note=notes.append))
    sampler.sample()
    sampler.sample()
    sampler.stop()
    assert notes == [gpus.missing]


def test_a_tree_s_bytes_are_those_of_all_or_none():
    whole, partly = {"in_use": 5.0, "fds": 2.0, "cores": 0.5}, {"in_use": 7.0, "gpu": 9.0}
    assert together([whole, partly]) == {"processes": 2.0, "in_use": 12.0, "cores": 0.5, "gpu": 9.0}
    assert together([]) == {"processes": 0.0}


def point(elapsed, process="p"):
    return Point("run", elapsed, process, 0, 0, {"x": elapsed})


def test_points_are_written_in_batches_and_none_is_lost():
    written = []
    keeper = PointKeeper(written.append, whole=100.0, batch=5.0)
    for second in range(12):
        keeper.add([point(float(second), "a"), point(float(second), "b")])
    keeper.flush()
    keeper.flush()
    assert [len(batch) for batch in written] == [12, 10, 2]
    assert [one.elapsed for batch in written for one in batch if one.process == "a"] == list(map(float, range(12)))


def test_a_long_run_is_thinned_out_and_stays_bounded():
    written = []
    keeper = PointKeeper(written.extend, whole=100.0)
    for second in range(12_800):
        keeper.add([point(second + 0.01 * (second % 3))])
    keeper.flush()
    by_stretch = [sum(low <= one.elapsed < high for one in written) for low, high in
                  ((0, 100), (100, 200), (200, 400), (400, 800), (6400, 12_800))]  # fmt: skip
    assert by_stretch[0] == 100
    assert all(48 <= count <= 52 for count in by_stretch[1:])
