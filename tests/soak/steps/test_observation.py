# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from vllm_soak.errors import StoreError
from vllm_soak.steps.observation import Observation, Subject
from vllm_soak.store.outside import CLIENT, HOST, TREE
from vllm_soak.store.reader import read_run
from vllm_soak.store.writer import RunStore


@pytest.fixture
def store(tmp_path):
    with RunStore.create(tmp_path / "run", {}) as made:
        made.add_arm("run")
        yield made


def seconds(count, latency, seed=1):
    noise = np.random.default_rng(seed).normal(0, 0.05, count)
    for one in noise:
        p50 = latency * float(np.exp(one))
        yield {"completed": round(64 / p50), "failed": 0, "latency": {"p50": p50, "p99": 2 * p50}}


def test_from_a_step_to_its_capture_in_the_store(store, live, eventually):
    notes = []
    folder = store.file.parent
    subject = Subject(live.pid, probe=lambda _pid: live.socket, requests=lambda: 1234, note=notes.append)
    observation = Observation(store, folder, subject)
    observation.start()
    eventually(lambda: bool(observation.sampler.processes))
    for event in [*seconds(200, 0.27), *seconds(80, 0.4)]:
        observation.second(event)
    # On a busy machine either takes longer than the end of a run waits for it.
    eventually(lambda: bool(read_run(folder).arms[0].captures))
    eventually(lambda: bool(read_run(folder).arms[0].process_events))
    observation.stop()
    (arm,) = read_run(folder).arms
    (step,) = arm.level_steps
    (capture,) = arm.captures
    assert step.changes.keys() >= {"latency_p50", "throughput"}
    assert (capture.elapsed, capture.reason) == (step.seen, step.reason)
    assert {"seconds.csv", "host.txt"} <= set(capture.files)
    assert any(name.startswith("gc-") for name in capture.files)
    assert any("latency_p50 rose by" in note for note in notes)
    assert {point.process for point in arm.points} >= {TREE, HOST, CLIENT}
    assert [event.kind for event in arm.process_events] == ["appeared"]


def test_a_capture_to_compare_with_is_taken_when_asked(store, live, eventually):
    observation = Observation(store, store.file.parent, Subject(live.pid))
    observation.start()
    eventually(lambda: bool(observation.sampler.processes))
    observation.baseline()
    observation.stop()
    (capture,) = read_run(store.file.parent).arms[0].captures
    assert (capture.reason, capture.folder) == ("baseline", "captures/run-baseline")


def test_a_pause_and_what_follows_it_are_no_step(store, live):
    observation = Observation(store, store.file.parent, Subject(live.pid))
    for event in seconds(200, 0.27):
        observation.second(event)
    observation.pause()
    for event in seconds(60, 0.02):
        observation.second(event)
    observation.resume()
    for event in [*seconds(4, 0.05), *seconds(60, 0.27)]:
        observation.second(event)
    observation.stop()
    assert read_run(store.file.parent).arms[0].level_steps == []


def test_a_store_that_is_gone_ends_it_with_one_sentence(store, live):
    observation = Observation(store, store.file.parent, Subject(live.pid))
    store.file.unlink()
    for event in seconds(3, 0.27):
        observation.second(event)
    with pytest.raises(StoreError, match="was removed while the run was under way"):
        observation.stop()


def test_a_sampler_that_fails_is_told_and_does_not_end_the_run(store, live, eventually):
    notes = []

    def broken():
        raise ZeroDivisionError("a defect")

    observation = Observation(store, store.file.parent, Subject(live.pid, requests=broken, note=notes.append))
    observation.start()
    eventually(lambda: observation.sampler.failure is not None)
    observation.check()
    observation.stop()
    assert notes[-1] == "sampling ended: a defect"


class Counting(BaseHTTPRequestHandler):
    """A server's metrics: ten more requests at every look, a tenth of a second each."""

    def do_GET(self):
        type(self).done += 10
        name = "vllm:e2e_request_latency_seconds"
        body = (
            f"vllm:request_success_total {self.done}\n{name}_sum {self.done / 10}\n{name}_count {self.done}\n".encode()
        )
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    done = 0

    def log_message(self, *_):
        pass


def test_a_server_that_somebody_else_drives_is_watched_by_its_own_counters(store, live, eventually):
    server = HTTPServer(("127.0.0.1", 0), Counting)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    observation = Observation(store, store.file.parent, Subject(live.pid, metrics=address, driven=False))
    observation.sampler._server._timeout = 120.0  # a question that is given up is counted there, and asked again
    observation.start()
    eventually(lambda: Counting.done >= 30)
    observation.stop()
    server.shutdown()
    thread.join()
    server.server_close()
    seen = [one.values for one in read_run(store.file.parent).arms[0].points if one.process == CLIENT]
    assert seen
    assert all(one["latency_mean"] == pytest.approx(0.1) for one in seen)
    # Ten requests between two looks about a second apart.
    assert all(0 < one["throughput"] <= 11 for one in seen)
