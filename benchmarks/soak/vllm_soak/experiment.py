# SPDX-License-Identifier: Apache-2.0
"""The designed experiment: warm up until steady, then identical rounds until the answer is clear.

Each round is loaded, drained, settled, sampled and walked. Two arms of an `--ab` run alternate in
small blocks, first one leading, then the other, so that a drift of the machine's speed cancels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count

from vllm_soak.engines.arm import ArmRunner
from vllm_soak.plan import FEWEST_ROUNDS, FEWEST_WARM_UP_ROUNDS, Plan
from vllm_soak.report.live import LiveView
from vllm_soak.store.reader import read_run
from vllm_soak.store.record import MEASURED, WARM_UP, Arm
from vllm_soak.verdict.judge import judge
from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.steady import unsettled

# Blocks of a round in an interleaved run: short enough that neighbours see the same machine, even so
# that each arm leads as often as it follows.
BLOCKS = 6
# Warm-up may take this share of the request budget, and never more than this many rounds.
WARM_UP_SHARE = 0.5
MOST_WARM_UP_ROUNDS = 10
MOST_WATCHED = 20
# Pairs of blocks that tell what a patch costs: enough for an interval of one or two per cent.
COST_PAIRS = 120
# Rounds of a soak that lasts for a given time: enough for a slope, few enough that settling costs nothing.
LASTING_ROUNDS = 24
PATCHED = "patched"


@dataclass(slots=True)
class Budget:
    """What is left of a run's requests and time, for one group of arms.

    Args:
        seconds: Time of this group, from `started` (monotonic clock).
    """

    plan: Plan
    started: float
    seconds: float

    def allows(self, arms: Sequence[ArmRunner]) -> bool:
        """Whether each arm may run one more round."""
        fits = all(arm.requests + self.plan.num_prompts <= self.plan.request_budget for arm in arms)
        return fits and time.monotonic() - self.started < self.seconds

    def allows_warm_up(self, arms: Sequence[ArmRunner], index: int) -> bool:
        """Whether one more warm-up round leaves enough for the measured ones."""
        reserve = FEWEST_ROUNDS * self.plan.num_prompts
        room = self.plan.request_budget * WARM_UP_SHARE if index else self.plan.request_budget - reserve
        fits = all(arm.requests + self.plan.num_prompts <= room for arm in arms)
        # The first round is what later censuses are compared with: without it nothing could be named.
        in_time = index == 0 or time.monotonic() - self.started < self.seconds * WARM_UP_SHARE
        return index < MOST_WARM_UP_ROUNDS and fits and in_time


class Experiment:
    """One run of one plan over its arms.

    Args:
        plan: What to do.
        arms: The arms, in the order of the report.
        progress: Shows what is going on.
    """

    def __init__(self, plan: Plan, arms: Sequence[ArmRunner], progress: LiveView) -> None:
        self.plan = plan
        self.arms = list(arms)
        self.progress = progress
        self.budget = Budget(plan, time.monotonic(), plan.seconds)
        self.size = plan.num_prompts

    def run(self, *, interleaved: bool) -> None:
        """Soak all arms, together or one after the other.

        Raises:
            EngineError: An engine did not start or died; what was measured is in the store.
        """
        groups = [self.arms] if interleaved else [[arm] for arm in self.arms]
        for group in groups:
            try:
                self.soak(group, self.plan.seconds / len(groups))
            finally:
                stop_all(group)

    def soak(self, group: list[ArmRunner], seconds: float) -> None:
        """Take one group of arms from start to their last measured round, within `seconds` once they are up."""
        self.progress.phase(f"starting {' and '.join(arm.name for arm in group)}")
        for arm in group:
            arm.launch()
        together(group, ArmRunner.wait_ready)
        if self.plan.workload == "growing-chat":
            self.progress.phase("one conversation, turn by turn")
            together(group, ArmRunner.converse)
        self.budget = Budget(self.plan, time.monotonic(), seconds)
        first = self.warm_up(group)
        together(group, ArmRunner.settled)
        self.measure(group, first)
        for arm in group:
            if self.plan.ab and arm.name == PATCHED and self.plan.driver != "serve":
                self.progress.phase("what the patch costs: off and on in turn")
                arm.compare_cost(COST_PAIRS, self.cost_block())

    def cost_block(self) -> int:
        """Requests of a block that tells what a patch costs: of chats whole ones, since turns differ in length."""
        part, whole = split(self.plan.num_prompts, BLOCKS)[0], self.plan.turns * self.plan.max_concurrency
        return min(self.plan.num_prompts, whole) if self.plan.workload == "growing-chat" else part

    def warm_up(self, group: list[ArmRunner]) -> int:
        """Run warm-up rounds until every arm is steady; return the next round's index."""
        index = 0
        while self.budget.allows_warm_up(group, index):
            if index == FEWEST_WARM_UP_ROUNDS - 1:
                together(group, ArmRunner.baseline)
            self.round(group, index, WARM_UP, f"warm-up round {index + 1}")
            index += 1
            reasons = [reason for arm in group if (reason := unsettled(self.recorded(arm)))]
            if not reasons:
                break
            self.progress.note(f"warm-up goes on: {reasons[0]}")
        return index

    def measure(self, group: list[ArmRunner], first: int) -> None:
        """Run measured rounds until the answer is clear or the budget is spent; to its end where time is given."""
        if self.plan.lasting and self.size == self.plan.num_prompts:
            self.size = self.lasting_size(group)
        for done in count() if self.plan.lasting else range(self.plan.max_rounds):
            if not self.budget.allows(group):
                self.progress.note("the budget of requests or time is spent")
                return
            if not self.plan.lasting and done >= self.plan.rounds and self.clear(group):
                return
            self.round(group, first + done, MEASURED, f"measured round {done + 1}")

    def lasting_size(self, group: list[ArmRunner]) -> int:
        """Requests of a measured round so that the time left holds a good number of them, at the warm-up's pace."""
        last = [self.recorded(arm).rounds[-1] for arm in group]
        pace = min(one.requests / max(one.seconds, 1e-3) for one in last) / len(group)
        left = self.budget.seconds - (time.monotonic() - self.budget.started)
        return max(self.plan.num_prompts, int(pace * left / LASTING_ROUNDS))

    def clear(self, group: list[ArmRunner]) -> bool:
        """Whether the verdict of every arm of the group is other than inconclusive."""
        names = {arm.name for arm in group}
        verdict = judge(read_run(self.arms[0].folder, points=False))
        open_arms = [arm for arm in verdict.arms if arm.arm in names and arm.outcome is Outcome.INCONCLUSIVE]
        if open_arms:
            self.progress.note(f"one more round: {open_arms[0].reason}")
        return not open_arms

    def recorded(self, arm: ArmRunner) -> Arm:
        """What the store holds of an arm so far."""
        return next(row for row in read_run(arm.folder, points=False).arms if row.name == arm.name)

    def round(self, group: list[ArmRunner], index: int, phase: str, title: str) -> None:
        """Offer every arm the same work, then settle, sample and walk each."""
        self.progress.phase(title)
        blocks = BLOCKS if len(group) > 1 else 1
        work = self.size if phase == MEASURED else self.plan.num_prompts
        for block, size in enumerate(split(work, blocks)):
            leading = group if (index + block) % 2 == 0 else group[::-1]
            for arm in leading:
                arm.load(size, lambda done: self.advance(group, done, work))
        self.progress.phase(f"{title}: settling, sampling, walking the heap")
        together(group, lambda arm: arm.finish_round(index, phase))
        self.share_names()
        self.tell_standing(group)
        if index == 0:
            self.tell_lost(group)

    def tell_standing(self, group: list[ArmRunner]) -> None:
        """Show how the arms stand after a round."""
        run = read_run(self.arms[0].folder, points=False)
        self.progress.judged(run, judge(run), [arm.name for arm in group])

    def share_names(self) -> None:
        """Watch what grows in one arm in all: its length where it does not grow is the proof of a fix."""
        named = [path for arm in self.arms for path in arm.examination.named]
        watched = dict.fromkeys([*self.plan.watch, *named[:MOST_WATCHED]])
        for arm in self.arms:
            arm.examination.watched = list(watched)

    def tell_lost(self, group: list[ArmRunner]) -> None:
        """Say which watched paths were not there after the first round, while there is time to start again."""
        for arm in group:
            found = {path for sample in self.recorded(arm).samples for path in sample.lengths}
            for path in self.plan.watch:
                if path not in found:
                    self.progress.note(f"{arm.name}: --watch {path} was not found")

    def advance(self, group: list[ArmRunner], done: int, work: int) -> None:
        """Show how much of the round's work is done over all arms."""
        self.progress.advance(sum(arm.loaded for arm in group) + done, work * len(group))


def together(group: list[ArmRunner], action: Callable[[ArmRunner], None]) -> None:
    """Do the same with every arm of a group side by side, and wait for all.

    Raises:
        EngineError: An engine failed; all of the group are stopped then, which ends the other waits.
    """
    with ThreadPoolExecutor(len(group)) as pool:
        waiting = [pool.submit(action, arm) for arm in group]
        try:
            for one in as_completed(waiting):
                one.result()
        except BaseException:
            stop_all(group)
            raise


def stop_all(group: Sequence[ArmRunner]) -> None:
    """Stop every arm, also when the last readings of one cannot be stored.

    Raises:
        StoreError: That was so; all are stopped then.
    """
    with ExitStack() as stack:
        for arm in reversed(group):
            stack.callback(arm.stop)


def split(total: int, parts: int) -> list[int]:
    """Cut `total` requests into at most `parts` blocks that differ by one at most."""
    parts = min(parts, total)
    return [total // parts + (place < total % parts) for place in range(parts)]
