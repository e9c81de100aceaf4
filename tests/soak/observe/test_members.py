# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from vllm_soak.observe.members import APPEARED, DIED, RENAMED, RESTARTED, Members
from vllm_soak.observe.tree import ProcessTree


class Told:
    """Members of a root, and what was told of them."""

    def __init__(self, root, roles=None):
        self.events = []
        self.roles = roles if roles is not None else {}
        self.members = Members(
            ProcessTree(root.pid), lambda *event: self.events.append(event), lambda pid: self.roles.get(pid, "")
        )

    def look(self, times=2):
        for _ in range(times):
            found = self.members.look()
        return {member.name: member.pid for member, _ in found}


def test_roles_are_names_and_newcomers_are_told_at_their_second_look(root):
    core = root.tell("VLLM::EngineCore")
    told = Told(root)
    assert told.look(1)["EngineCore"] == core
    assert told.events == []
    told.look(2)
    assert (APPEARED, "EngineCore", core, "") in told.events
    assert sum(event[1] == "EngineCore" for event in told.events) == 1


def test_a_process_that_dies_and_comes_again_has_restarted(root):
    first = root.tell("VLLM::EngineCore")
    told = Told(root)
    told.look()
    root.tell("-VLLM::EngineCore")
    told.look(1)
    second = root.tell("VLLM::EngineCore")
    assert told.look()["EngineCore"] == second
    mine = [event for event in told.events if event[1] == "EngineCore"]
    assert mine == [
        (APPEARED, "EngineCore", first, ""),
        (DIED, "EngineCore", first, ""),
        (RESTARTED, "EngineCore", second, f"pid {first} before"),
    ]


def test_two_of_one_role_have_two_names_and_keep_them(root):
    told = Told(root)
    root.tell("VLLM::Worker")
    told.look()
    second = root.tell("VLLM::Worker ")  # one more with the same title, to a child of another key
    found = told.look()
    assert {"Worker", "Worker#2"} <= found.keys()
    root.tell("-VLLM::Worker")
    found = told.look()
    assert found["Worker#2"] == second
    assert "Worker" not in found


def test_a_new_title_is_a_new_name(root):
    pid = root.tell("python-c")
    told = Told(root, {pid: "spawned"})
    told.look(3)
    told.roles[pid] = "EngineCore"
    assert told.look(1)["EngineCore"] == pid
    assert (RENAMED, "EngineCore", pid, "spawned before") in told.events


def test_what_is_gone_at_the_second_look_was_never_told(root):
    told = Told(root)
    root.tell("g++")
    told.look(1)
    root.tell("-g++")
    told.look(2)
    assert not [event for event in told.events if event[1] == "g++"]


def test_the_engine_s_own_and_what_stays_have_a_series_of_their_own(root):
    root.tell("VLLM::EngineCore")
    root.tell("helper")
    told = Told(root)
    found = {member.name: told.members.followed(member) for member, _ in told.members.look()}
    assert found["EngineCore"]
    assert not found["helper"]
    told.look(9)
    assert all(told.members.followed(member) for member, _ in told.members.look())


def test_pids_by_role(root):
    core = root.tell("VLLM::EngineCore")
    told = Told(root)
    told.look()
    assert told.members.pids["EngineCore"] == core
