# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vllm_soak
from vllm_soak.heap.roots import all_roots, frame_roots, is_own, locals_of, module_roots

if TYPE_CHECKING:
    from collections.abc import Callable


class Thing:
    pass


def test_locals_of_every_caller_are_roots() -> None:
    def inner() -> list[tuple[str, object]]:
        deepest = Thing()  # noqa: F841 - a root to be found
        return [(root.label, root.value) for root in frame_roots()]

    outer_local = Thing()
    found = dict(inner())
    assert found["outer_local"] is outer_local
    assert type(found["deepest"]) is Thing


def test_another_threads_locals_are_roots() -> None:
    ready, done = threading.Event(), threading.Event()

    def work() -> None:
        kept = Thing()  # noqa: F841 - a root to be found
        ready.set()
        done.wait()

    thread = threading.Thread(target=work, name="worker-thread")
    thread.start()
    ready.wait()
    try:
        places = {root.place for root in frame_roots() if root.label == "kept"}
    finally:
        done.set()
        thread.join()
    assert places == {"worker-thread/work"}


def test_what_a_running_body_has_bound_is_a_root_unless_it_is_a_modules() -> None:
    found: dict[str, object] = {}

    def look() -> None:
        found.update({root.label: root.value for root in frame_roots() if root.place.startswith("MainThread/")})

    class Body:
        of_a_class = Thing()
        look()

    assert found["of_a_class"] is Body.of_a_class
    namespace: dict[str, object] = {"look": look, "thing": Thing()}
    exec("of_a_text = thing; look()", namespace)
    assert found["of_a_text"] is namespace["thing"]
    assert "__builtins__" in namespace
    assert "__builtins__" not in found


def test_names_of_a_loaded_module_are_no_locals(tmp_path: Path) -> None:
    (tmp_path / "loading.py").write_text("import sys\nkept = object()\nfound = sys.look()\n")
    program = (
        "import sys\nfrom vllm_soak.heap.roots import frame_roots\nmine = object()\n"
        "sys.look = lambda: [root.label for root in frame_roots()]\nimport loading\nprint(loading.found)"
    )
    paths = {"PYTHONPATH": f"{Path(vllm_soak.__file__).parents[1]}:{tmp_path}"}
    done = subprocess.run([sys.executable, "-c", program], env=paths, capture_output=True, text=True, check=True)
    assert "kept" not in done.stdout
    assert "mine" not in done.stdout


def test_reading_locals_pins_none_of_them() -> None:
    """Up to Python 3.12 a frame keeps the snapshot that `f_locals` returned."""
    thing = Thing()
    watch = weakref.ref(thing)
    pairs = locals_of(sys._getframe())
    assert dict(pairs)["thing"] is thing
    del thing, pairs
    assert watch() is None


def test_a_namespace_that_the_code_itself_holds_is_left_alone() -> None:
    def work() -> dict[str, Any]:
        value = 5
        namespace = locals()
        locals_of(sys._getframe())
        return namespace

    assert work()["value"] == 5


def test_a_modules_globals_are_not_emptied() -> None:
    namespace: dict[str, Any] = {"locals_of": locals_of, "sys": sys, "value": 1}
    exec(compile("found = locals_of(sys._getframe())", "<module>", "exec"), namespace)
    assert dict(namespace["found"])["value"] == 1
    assert namespace["value"] == 1


def test_a_frame_under_a_python_tracer_keeps_its_locals() -> None:
    """Up to Python 3.12 the snapshot is written back into the frame after each event."""

    def work() -> int:
        value = 5
        again = value
        return again + value

    def tracer(frame: Any, event: str, _argument: object) -> Any:
        if event == "line":
            locals_of(frame)
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        assert work() == 10
    finally:
        sys.settrace(before)


def test_modules_are_roots_except_our_own() -> None:
    labels = {root.label for root in module_roots()}
    assert "threading" in labels
    assert not any(is_own(label) for label in labels)
    assert is_own("vllm_soak.heap.walk")
    assert not is_own("vllm_soak.patches")
    assert not is_own("vllm_soak.heaps")


def test_the_order_is_the_same_every_time() -> None:
    first = [(root.place, root.label) for root in all_roots()]
    again = [(root.place, root.label) for root in all_roots()]
    assert [one for one in of_this_thread(first) if one[1] != "first"] == [
        one for one in of_this_thread(again) if one[1] not in {"first", "again"}
    ]


def of_this_thread(roots: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without those of other threads, which the test runner has, and which do not stand still."""
    return [one for one in roots if not one[0] or one[0].startswith("MainThread/")]


def test_nothing_that_was_seen_is_kept_until_a_collection(run_python: Callable[[str], str]) -> None:
    """A frame of the census's own that refers to itself would keep all roots."""
    output = run_python("""
        import gc, weakref
        from vllm_soak.heap.census import Census
        from vllm_soak.heap.roots import Root, all_roots

        class Thing:
            pass

        def work():
            thing = Thing()
            census = Census()
            all_roots()
            census.take()
            return weakref.ref(thing)

        gc.disable()
        watch = work()
        print(watch(), [one for one in gc.get_objects() if type(one) in (Root, Thing)])
    """)
    assert output.split() == ["None", "[]"]


PROGRAM = """
from vllm_soak.heap.census import Census

class App:
    def __init__(self):
        self.sessions = []

app = App()
census = Census()
for turn in range(3):
    app.sessions.extend([turn] for _ in range(50))
    rows = census.take(baseline=turn == 0)["populations"]
print({row["template"].partition("[")[0] for row in rows if "sessions" in row["template"]})
"""


def test_a_program_run_as_a_module_is_named_by_its_own_names(tmp_path: Path) -> None:
    """The runner that starts it has the program's namespace in a local of its own."""
    (tmp_path / "served.py").write_text(PROGRAM, encoding="utf-8")
    environment = {"PYTHONPATH": f"{Path(vllm_soak.__file__).parents[1]}:{tmp_path}"}
    command = [sys.executable, "-W", "error", "-m", "served"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600, env=environment)
    assert done.stdout.strip() == "{'__main__.app.sessions'}", done.stdout + done.stderr


def test_what_is_late_comes_last() -> None:
    module = sys.modules[__name__]
    namespace = vars(module)  # noqa: F841 - a local that is a module's namespace
    roots = all_roots()
    named = next(root for root in roots if root.value is vars(module))
    last_module = max(at for at, root in enumerate(roots) if not root.place)
    assert named.place == ""
    assert not any(root.late for root in roots[:last_module])
    assert any(root.late for root in roots[last_module:])
