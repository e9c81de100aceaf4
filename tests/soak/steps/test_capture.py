# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gzip
import json
import threading

import pytest

from vllm_soak.steps import contents
from vllm_soak.steps.capture import BASELINE, Capturer
from vllm_soak.steps.contents import Sources, file_name
from vllm_soak.steps.shelf import Shelf
from vllm_soak.steps.stacks import ALLOW


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch):
    """On a busy machine everything takes longer than a capture may take."""
    for name in ("LONGEST_SECONDS", "STACK_SECONDS", "NATIVE_SECONDS", "PROBE_SECONDS"):
        monkeypatch.setattr(contents, name, 300.0)
    monkeypatch.setattr("vllm_soak.steps.capture.LONGEST_SECONDS", 300.0)


def sources(live, **more):
    return Sources(lambda: {"EngineCore": live.pid}, lambda _pid: live.socket, **more)


def taken(folder, where, reason="latency_p50 rose by 30 %", elapsed=7.0):
    records = []
    capturer = Capturer(folder, where, records.append, arm="patched")
    assert capturer.request(reason, elapsed) == ""
    capturer.wait(600.0)
    return records[0]


def test_everything_of_a_live_process(live, tmp_path):
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {number}\n" for number in range(500)))
    record = taken(tmp_path, sources(live, log=log, pages=lambda: {"seconds.csv": "elapsed\n1\n"}))
    folder = tmp_path / record.folder
    assert (record.arm, record.elapsed, record.folder) == ("patched", 7.0, "captures/patched-1")
    assert sorted(record.files) == sorted(one.name for one in folder.iterdir())
    if not any(ALLOW in note for note in record.notes):
        assert (folder / "stacks-EngineCore.txt").read_text().count("    serve_requests (") == 3
        assert "serve_requests" in (folder / "native-EngineCore.txt").read_text()
    assert "VmRSS" in (folder / "process-EngineCore.txt").read_text()
    head, *threads = (folder / "threads-EngineCore.txt").read_text().splitlines()
    assert head.split()[:2] == ["thread", "state"]
    assert len(threads) == 2  # its own, and the probe's
    assert b"[heap]" in gzip.decompress((folder / "smaps-EngineCore.txt.gz").read_bytes())
    collector = json.loads((folder / "gc-EngineCore.json").read_text())
    assert (collector["threshold"], len(collector["stats"])) == ([700, 10, 10], 3)
    assert json.loads((folder / "census-EngineCore.json").read_text())["objects"] > 1000
    assert "MemAvailable" in (folder / "host.txt").read_text()
    assert (folder / "log.txt").read_text().splitlines() == [f"line {number}" for number in range(300, 500)]
    assert (folder / "seconds.csv").read_text() == "elapsed\n1\n"


def test_a_process_that_is_gone_leaves_notes_and_no_error(tmp_path):
    record = taken(tmp_path, Sources(lambda: {"EngineCore": 2**22 + 1}))
    assert f"no stacks of process {2**22 + 1}: it is gone" in record.notes
    assert "no probe in EngineCore: neither garbage collector nor census" in record.notes
    assert "host.txt" in record.files


def test_helpers_of_multiprocessing_are_left_out(live, tmp_path):
    where = Sources(lambda: {"EngineCore": live.pid, "resource-tracker#2": live.pid}, lambda _pid: live.socket)
    record = taken(tmp_path, where)
    assert not [name for name in [*record.files, *record.notes] if "tracker" in name]


def test_whatever_a_source_raises_is_a_note(live, tmp_path):
    def broken():
        raise RuntimeError("no pages today")

    record = taken(tmp_path, sources(live, pages=broken))
    assert "RuntimeError while capturing: no pages today" in record.notes
    assert "gc-EngineCore.json" in record.files


def test_captures_are_bounded_in_number_and_apart(tmp_path):
    records = []
    capturer = Capturer(tmp_path, Sources(dict), records.append, most=2, apart=300.0)

    def ask(reason, elapsed):
        answer = capturer.request(reason, elapsed)
        capturer.wait()
        return answer

    assert ask(BASELINE, 1.0) == ""
    assert ask("step", 10.0) == ""
    assert ask("step", 100.0) == "one was taken less than 300 s before"
    assert ask("step", 310.0) == ""
    assert ask("step", 1000.0) == "2 captures were taken in this run"
    assert [record.folder for record in records] == ["captures/run-baseline", "captures/run-1", "captures/run-2"]


def test_what_others_did_is_captured_once_and_costs_the_server_s_own_steps_none(tmp_path):
    records = []
    capturer = Capturer(tmp_path, Sources(dict), records.append, most=1)

    def ask(elapsed, of_others):
        answer = capturer.request("step", elapsed, of_others=of_others)
        capturer.wait()
        return answer

    assert ask(10.0, True) == ""
    assert ask(20.0, True) == "one was taken of what others on the machine did"
    assert ask(30.0, False) == ""
    assert [record.folder for record in records] == ["captures/run-others-1", "captures/run-1"]


def test_the_server_s_step_is_captured_after_that_of_others_and_not_refused(tmp_path):
    begun, go_on, records = threading.Event(), threading.Event(), []

    def processes():
        begun.set()
        go_on.wait(120)
        return {}

    capturer = Capturer(tmp_path, Sources(processes), records.append)
    assert capturer.request("others", 1.0, of_others=True) == ""
    assert begun.wait(120)
    assert capturer.request("others", 2.0, of_others=True) == "a capture is under way"
    assert capturer.request("step", 3.0) == ""
    assert capturer.request("step", 400.0) == "a capture is under way"
    go_on.set()
    capturer.wait()
    assert [(record.reason, record.elapsed) for record in records] == [("others", 1.0), ("step", 3.0)]


def test_a_folder_that_cannot_be_written_is_a_note(tmp_path):
    (tmp_path / "captures").write_text("a file")
    record = taken(tmp_path, Sources(dict))
    assert record.files == []
    assert any(note.startswith("host.txt could not be written") for note in record.notes)


def test_a_shelf_leaves_out_what_is_empty_and_says_things_once(tmp_path):
    shelf = Shelf(tmp_path / "x")
    shelf.put("empty.txt", "")
    shelf.note("")
    shelf.note("twice")
    shelf.note("twice")
    assert (shelf.files, shelf.notes, (tmp_path / "x").exists()) == ([], ["twice"], False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("vllm serve m --api-key sk-123 --port 1", "vllm serve m --api-key *** --port 1"),
        ("--hf-token=abc --model m", "--hf-token=*** --model m"),
        ("args: {'api_key': ['sk-1', 'sk-2'], 'port': 1}", "args: {'api_key': ***, 'port': 1}"),
        ("--max-num-batched-tokens 16384", "--max-num-batched-tokens 16384"),
        ("'hf_token': None", "'hf_token': ***"),
        ("key = value; token count 5", "key = value; token count 5"),
    ],
)
def test_keys_are_left_out(text, shown, tmp_path):
    shelf = Shelf(tmp_path)
    shelf.put("x.txt", text)
    assert (tmp_path / "x.txt").read_text() == shown


def test_a_role_is_a_file_s_name():
    assert file_name("Worker#2") == "Worker_2"
    assert file_name("../../etc/passwd") == ".._.._etc_passwd"
    assert file_name("") == "process"
