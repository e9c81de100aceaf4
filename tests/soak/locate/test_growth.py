# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vllm_soak
from vllm_soak.errors import UsageError
from vllm_soak.locate import growth as growth_module
from vllm_soak.verdict import growth as growth_rules

PACKAGE = Path(vllm_soak.__file__).parents[1]


class Service:
    def __init__(self) -> None:
        self.history: list[object] = []
        self.table: dict[int, int] = {}
        self.words: set[int] = set()
        self.done = 0

    def leak(self) -> None:
        self.history.append(object())

    def fill(self) -> None:
        self.table[len(self.table) % 45] = 1

    def read(self) -> None:
        self.done += 1
        self.words.add(int(20 * math.log(self.done)))

    def slow_down(self) -> None:
        """One more at each of the first calls, then one at every second, then no more."""
        self.done += 1
        if self.done <= 50 or (self.done <= 100 and self.done % 2):
            self.history.append(1)


def test_a_leak_is_named_with_what_each_round_added() -> None:
    service = Service()
    growth = vllm_soak.growth().run(service.leak)
    (leak,) = growth.leaks
    assert leak.path == "service.history"
    assert (leak.type, leak.outcome, leak.growth) == ("list", "leak", [10] * 5)
    assert leak.per_unit == 10
    assert 8 <= leak.bytes_per_unit / 10 <= 40
    assert "grew in each of 5 rounds" in leak.reason
    assert growth.verdict.outcome == "leak"


def test_the_text_of_a_suspect_is_its_ladder() -> None:
    service = Service()
    lines = str(vllm_soak.growth().run(service.leak).leaks[0]).splitlines()
    assert lines[0].startswith("LEAK  +10.0 objects/round")
    assert lines[1:4] == [
        "  └─ service: Service",
        "     └─ history: list      70 items (+10 in each of 5 rounds)",
        "        ~~~~~~~",
    ]


def test_what_meets_its_bound_is_no_leak() -> None:
    service = Service()
    growth = vllm_soak.growth().run(service.fill)
    assert not growth.leaks
    assert {one.path: one.outcome for one in growth.suspects}["service.table"] == "bounded"


def test_an_unclear_answer_takes_more_rounds() -> None:
    assert of_service("growth().run(service.slow_down)") == "11 [('__main__.service.history', 'bounded')]\n"


def test_what_stays_unclear_ends_at_the_most_rounds() -> None:
    said = of_service("growth().run(service.read, rounds=3, repeat=20, max_rounds=4)")
    assert said == "6 [('__main__.service.words', 'inconclusive')]\n"


def test_rounds_can_be_driven_by_the_caller() -> None:
    service = Service()
    growth = vllm_soak.growth(warm_up=1)
    for _ in growth.rounds(4):
        for _ in range(8):
            service.leak()
    assert [one.growth for one in growth.leaks] == [[8, 8, 8, 8]]


def test_rounds_of_unequal_size_are_compared_by_work() -> None:
    service = Service()
    growth = vllm_soak.growth()
    for work in (10, 20, 40, 80, 160, 320):
        for _ in range(work):
            service.leak()
        growth.round(work)
    (leak,) = growth.leaks
    assert leak.growth == [40, 80, 160, 320]
    assert leak.per_unit == pytest.approx(150)


def test_before_and_after_lists_what_grew_and_calls_nothing_a_leak() -> None:
    service = Service()
    with vllm_soak.growth() as growth:
        for _ in range(300):
            service.leak()
    (found,) = [one for one in growth.suspects if one.path == "service.history"]
    assert found.outcome == "inconclusive"
    assert "repeated rounds" in found.reason
    assert str(found).startswith("GREW  ")
    assert re.search(r"history: list +300 items \((more than before|\+300 in 1 round)\)", str(found))
    assert "service" in str(growth)


def test_no_leak_is_not_said_before_there_are_rounds_enough() -> None:
    with vllm_soak.growth() as growth:
        pass
    with pytest.raises(UsageError, match="a verdict takes 3 measured rounds, and there are 1"):
        assert not growth.leaks
    with pytest.raises(UsageError, match="and there are 2"):
        growth.run(list, rounds=2)
    assert growth_rules.FEWEST_ROUNDS == growth_module.FEWEST_ROUNDS


def test_rounds_inside_of_the_block_are_judged() -> None:
    service = Service()
    with vllm_soak.growth() as growth:
        growth.run(service.leak)
    assert [one.path for one in growth.leaks] == ["service.history"]


def test_nothing_is_said_of_work_that_failed() -> None:
    growth = vllm_soak.growth()
    with pytest.raises(ZeroDivisionError), growth:
        _ = 1 / 0
    assert growth.suspects == []
    assert "nothing was compared yet" in str(growth)


def test_calm_work_has_no_suspect() -> None:
    program = "growth = vllm_soak.growth().run(lambda: list(range(1000)))\nprint(growth.suspects, growth, repr(growth))"
    assert in_a_script(program) == "[] nothing grew <Growth: nothing grew>\n"


def test_work_that_nobody_awaits_is_refused() -> None:
    async def work() -> None:
        raise AssertionError

    with pytest.raises(UsageError, match=r"returned a coroutine that was not awaited.*lambda: asyncio.run\(work\(\)\)"):
        vllm_soak.growth().run(work)


def test_in_a_line_it_says_what_grew() -> None:
    service = Service()
    growth = vllm_soak.growth()
    assert repr(growth).startswith("<Growth: nothing was compared yet")
    growth.run(service.leak)
    (leak,) = growth.leaks
    assert repr(leak) == "<Grown leak: service.history +10.0/round, 70 items of list>"
    assert repr(growth).startswith(f"<Growth: {leak!r}")
    assert f"{leak.outcome}" == str(leak.outcome) == "leak"


def test_a_warm_up_of_no_round_is_refused() -> None:
    with pytest.raises(UsageError, match="use 1 or more"):
        vllm_soak.growth(warm_up=0)


def bare(program: str) -> str:
    """Run a program in an interpreter that has this package and the standard library only."""
    program = f"import sys; sys.path.insert(0, {str(PACKAGE)!r})\n{program}"
    done = subprocess.run([sys.executable, "-S", "-I", "-c", program], capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_the_package_loads_nothing_of_it() -> None:
    assert bare("import vllm_soak; print([name for name in sys.modules if name.startswith('vllm_soak.')])") == "[]\n"


def test_measuring_and_judging_need_the_standard_library_only() -> None:
    said = bare(
        "import vllm_soak\n"
        "kept = []\n"
        "growth = vllm_soak.growth().run(lambda: kept.append(1))\n"
        "print(len(growth.arm.rounds), growth.leaks, growth.verdict.outcome)\n"
        "print({'numpy', 'scipy', 'rich'} & set(sys.modules))\n"
    )
    assert said == "7 [<Grown leak: __main__.kept +10.0/round, 70 items of list>] leak\nset()\n"


def in_a_script(program: str) -> str:
    """Run a program as `__main__`, with all that is installed."""
    program = f"import sys; sys.path.insert(0, {str(PACKAGE)!r})\nimport vllm_soak\n{program}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout


def of_service(measured: str) -> str:
    """How many rounds a service took, and what grew, where no test runner does anything meanwhile."""
    lines = (
        "import math",
        inspect.getsource(Service),
        "service = Service()",
        f"growth = vllm_soak.{measured}",
        "print(len(growth.arm.rounds), [(one.path, str(one.outcome)) for one in growth.suspects])",
    )
    return in_a_script("\n".join(lines))


def test_the_name_that_it_is_bound_to_is_nothing_that_grew() -> None:
    assert in_a_script("with vllm_soak.growth() as g: pass\nprint(g)") == "nothing grew\n"
    said = in_a_script("with vllm_soak.growth() as g: one = two = 1\nprint(g)")
    assert "module" in said
    assert "(+2 in 1 round)" in said
    assert "Growth" not in said


def test_a_verdict_between_two_looks_is_nothing_that_grew() -> None:
    program = (
        "def main():\n"
        "    kept = []\n"
        "    with vllm_soak.growth() as g:\n"
        "        vllm_soak.growth().run(lambda: kept.append(1)).leaks\n"
        "    print([one.path for one in g.suspects])\n"
        "    with vllm_soak.growth() as g:\n"
        "        vllm_soak.growth().run(list).verdict\n"
        "    print(g)\n"
        "main()"
    )
    assert in_a_script(program) == "['kept']\nnothing grew\n"


def test_what_a_verdict_loads_is_not_taken_for_the_works() -> None:
    program = (
        "class Cache: maxsize = 1000\n"
        "cache = Cache()\n"
        "cache.kept = []\n"
        "growth = vllm_soak.growth().run(lambda: cache.kept.append(1), rounds=3, max_rounds=5)\n"
        "print(len(growth.arm.rounds), [row.grown for row in growth.arm.populations if row.path == 'sys.modules'])"
    )
    assert in_a_script(program) == "7 []\n"
