# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

from vllm_soak.observe.proc_stat import read_stat
from vllm_soak.observe.tree import ProcessTree


def test_children_are_found_and_the_dead_are_left_out(root) -> None:
    tree = ProcessTree(root.pid)
    first = root.tell("one")
    assert tree.look().keys() == {root.pid, first}
    second = root.tell("two")
    assert tree.look().keys() == {root.pid, first, second}
    root.tell("-one")
    assert tree.look().keys() == {root.pid, second}


def test_an_orphan_of_the_root_s_session_is_still_ours(root) -> None:
    tree = ProcessTree(root.pid)
    tree.look()
    orphan = root.tell("!VLLM::Worker")
    stat = read_stat(orphan)
    assert stat is not None
    assert stat.parent != root.pid
    assert orphan in tree.look()


def test_members_outlive_the_root(root) -> None:
    tree = ProcessTree(root.pid)
    child = root.tell("one")
    tree.look()
    root.process.kill()
    root.process.wait()
    assert tree.look().keys() == {child}


def test_strangers_are_no_members(root) -> None:
    assert os.getpid() not in ProcessTree(root.pid).look()


def test_a_root_that_is_gone_has_no_tree() -> None:
    assert ProcessTree(2**22 + 1).look() == {}


def test_a_pid_that_another_process_got_is_not_the_member(root) -> None:
    tree = ProcessTree(root.pid)
    child = root.tell("one")
    tree.look()
    tree._members[child] -= 1  # as if the member had started earlier than the process that has its pid now
    tree._session = 0
    root.process.kill()
    root.process.wait()
    assert child not in tree.look()
