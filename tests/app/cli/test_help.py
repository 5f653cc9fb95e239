"""Help: every command has an example that parses, and showing it imports nothing heavy."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from app.cli import main
from app.cli.exits import CODES, Code
from app.ingest.formats import FORMATS
from tests.support.service.questions import GETS


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command by its path, such as ("query", "count")."""
    group = group or typer.main.get_command(main)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands())


def examples(command: Any) -> list[list[str]]:
    """The example lines of a command's help, split as a shell would; variables in front are left out."""
    lines = [line.strip() for line in command.help.splitlines()]
    split = [shlex.split(line) for line in lines if " rugnik " in f" {line}" and "Example" not in line]
    return [words[words.index("rugnik") + 1 :] for words in split if "rugnik" in words]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_shows_what_is_to_be_typed(path: tuple[str, ...]) -> None:
    """The library that draws help turns a word such as date between two colons into an emoji."""
    shown = CliRunner().invoke(main, [*path, "--help"], env={"COLUMNS": "200"}).stdout
    assert [sign for sign in shown if ord(sign) > 0x2BFF] == []


def test_the_commands_are_those_that_are_promised() -> None:
    """What README, DESIGN and scripts rely on; and for every question that is a GET, a command of the same name."""
    promised = """
        serve,migrate,demo,doctor,init,plan,check,release,void,keys new,keys list,keys revoke,datasets list,
        datasets show,datasets releases,datasets new,datasets close,datasets grant,ledger list,ledger verify,
        ledger export,ledger follow,ledger restore,backup,restore,log key,log rotate,witness,rule,requests,approve,
        refuse,card,bundle,receipt,verify
        """
    queries = {f"query {example.answer.path.rpartition('/')[2]}" for example in GETS}
    assert {" ".join(path) for path in COMMANDS} == {name.strip() for name in promised.split(",")} | queries


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_teaches_with_an_example_that_parses(path: tuple[str, ...]) -> None:
    """The example names this command, and its options and arguments are the ones that exist."""
    own_examples = [words for words in examples(COMMANDS[path]) if tuple(words[: len(path)]) == path]
    assert own_examples, COMMANDS[path].help
    for words in own_examples:
        COMMANDS[path].make_context(path[-1], words[len(path) :])


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_says_what_it_is(path: tuple[str, ...]) -> None:
    """No option without a sentence; help itself ends with 0."""
    assert [option.name for option in COMMANDS[path].params if not option.help] == []
    done = CliRunner().invoke(main, [*path, "--help"])
    assert done.exit_code == 0
    assert "Example" in done.output


def test_the_exit_codes_are_told() -> None:
    """Every exit code is in the help."""
    printed = CliRunner().invoke(main, ["--help"], env={"COLUMNS": "100"}).output
    for code in Code:
        assert f"{int(code)}  " in printed


def test_the_exit_codes_fit_a_narrow_terminal() -> None:
    """80 columns: each line of the table as it was written."""
    printed = CliRunner().invoke(main, ["--help"], env={"COLUMNS": "80"}).output
    for line in CODES.splitlines()[2:]:
        assert line in printed


@pytest.mark.parametrize("path", [("check",), ("release",)], ids=" ".join)
def test_every_upload_format_is_named(path: tuple[str, ...]) -> None:
    """In the help of the file argument, by the first word of the format's title."""
    described = next(option for option in COMMANDS[path].params if option.name == "file").help
    assert all(form.title.split()[0] in described for form in FORMATS.values())


def test_the_version_is_told() -> None:
    """That of the package, and nothing else."""
    done = CliRunner().invoke(main, ["--version"])
    assert (done.exit_code, done.output) == (0, f"rugnik {version('rugnik')}\n")


HEAVY = ("uvicorn", "pyarrow", "numpy", "scipy", "sqlalchemy", "fastapi", "httpx", "cryptography")
SCRIPT = f"""
import sys
from app.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(sorted(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [["--help"], ["release", "--help"], ["query"], ["plan", "x"]], ids=" ".join)
def test_help_and_wrong_usage_import_nothing_heavy(arguments: list[str]) -> None:
    """What takes long to import is imported by the commands that need it."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_shell_completes_commands() -> None:
    """Completion comes with the tool."""
    asked = {"_RUGNIK_COMPLETE": "complete_bash", "COMP_WORDS": "rugnik que", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from app.cli import main; main(prog_name='rugnik')"],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["query"]
