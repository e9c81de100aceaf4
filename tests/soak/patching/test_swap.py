# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import ModuleType

import pytest

from vllm_soak.patching.resolve import MISSING, begins_with, resolve
from vllm_soak.patching.swap import Swap, swap_all


def test_inherited_attribute_is_not_the_owners_own(engine: ModuleType) -> None:
    assert resolve(f"{engine.__name__}:Engine.inherited").own is MISSING
    assert resolve(f"{engine.__name__}:Engine.first").own is vars(engine.Engine)["first"]


def test_static_method_goes_back_as_such(engine: ModuleType) -> None:
    own = vars(engine.Engine)["fixed"]
    swap = Swap(resolve(f"{engine.__name__}:Engine.fixed"), staticmethod(lambda x: x))
    swap.do()
    assert engine.Engine().fixed(3) == 3
    swap.revert()
    assert vars(engine.Engine)["fixed"] is own


def test_interrupt_in_the_middle_rolls_back_and_goes_on(engine: ModuleType) -> None:
    class Interrupting(Swap):
        def do(self) -> None:
            raise KeyboardInterrupt

    before = dict(vars(engine.Engine))
    first, second = (resolve(f"{engine.__name__}:Engine.{name}") for name in ("first", "second"))
    with pytest.raises(KeyboardInterrupt):
        swap_all([Swap(first, print), Interrupting(second, print)])
    assert dict(vars(engine.Engine)) == before


def test_owner_that_ignores_the_replacement(engine: ModuleType) -> None:
    class Deaf(type):
        def __setattr__(cls, name: str, value: object) -> None: ...

    class Owner(metaclass=Deaf):
        def method(self) -> None: ...

    engine.Owner = Owner  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="did not take the replacement"):
        swap_all([Swap(resolve(f"{engine.__name__}:Owner.method"), print)])


def test_parameters_may_grow_at_the_end(engine: ModuleType) -> None:
    assert begins_with(engine.Engine.second, ("self", "x"))
    assert not begins_with(engine.Engine.second, ("self", "extra"))
    assert not begins_with(engine.Engine.third, ("self", "x"))
