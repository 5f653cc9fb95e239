"""`python -m tools.asynchronous`: make the asynchronous client from the modules of the client.

A function is asynchronous if it waits: if it calls one of PRIMITIVES, or something that is asynchronous itself. Such a
function becomes `async def`, and each call of it is awaited. Nothing else changes. Of each module, classes and
functions that wait are written to `rugnik/asynchronous/`; whatever else they use, such as types and helpers, is
imported from the module itself. `rugnik/waiting.py` has its counterpart written by hand.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "rugnik.asynchronous"
MODULES = (
    *("transport", "downloads", "connected", "naming", "asking", "taking"),
    *("curating", "counting", "deciding", "auditing", "client"),
)
HAND_WRITTEN = "waiting"
# What waits in httpx and in `rugnik.waiting`: how a call is written, and how its asynchronous form is called.
PRIMITIVES = {
    "response.read": "aread",
    "response.iter_bytes": "aiter_bytes",
    "response.iter_lines": "aiter_lines",
    "self.http.close": "aclose",
    "self.http.stream": "stream",
    "sleep": "sleep",
    "write": "write",
}
NOT_AWAITED = {"aiter_bytes", "aiter_lines", "stream"}  # they are iterated over, or entered
RECEIVERS = ("self", "self._transport", "transport")  # whose methods are those of these modules
NAMES = {
    "httpx.Client": "httpx.AsyncClient",
    "httpx.BaseTransport": "httpx.AsyncBaseTransport",
    "Client": "AsyncClient",
    "contextmanager": "asynccontextmanager",
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
}
HEADER = "# Made from {source} by `python -m tools.asynchronous`. Do not edit.\n"
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Names:
    """Which functions wait, by their names: the methods of all classes, and the functions of all modules."""

    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self.methods: set[str] = set()
        self.functions: set[str] = set()
        self.generators: set[str] = set()
        self._functions = [(node, is_method) for tree in trees.values() for node, is_method in _functions(tree)]
        before = -1
        while before != len(self.methods) + len(self.functions):
            before = len(self.methods) + len(self.functions)
            for node, is_method in self._functions:
                if self.waits(node):
                    (self.methods if is_method else self.functions).add(node.name)
                    if any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(node)):
                        self.generators.add(node.name)

    def waits(self, node: ast.AST) -> bool:
        """Whether something in it waits."""
        return any(self.is_waiting(inner) for inner in ast.walk(node) if isinstance(inner, ast.Call))

    def is_waiting(self, call: ast.Call) -> bool:
        """Whether a call waits."""
        written = ast.unparse(call.func)
        receiver, _, name = written.rpartition(".")
        if written in PRIMITIVES:
            return True
        return name in (self.functions if not receiver else self.methods if receiver in RECEIVERS else ())

    def is_awaited(self, call: ast.Call) -> bool:
        """Whether a call that waits gives an awaitable, and not something to enter or to iterate over."""
        name = ast.unparse(call.func).rpartition(".")[2]
        renamed = PRIMITIVES.get(ast.unparse(call.func), name)
        return self.is_waiting(call) and renamed not in NOT_AWAITED | self.generators


class Edits:
    """Changes of a text at places that its syntax tree names."""

    def __init__(self, text: str) -> None:
        self._text = text.encode()
        starts = [0]
        for line in self._text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts
        self._edits: list[tuple[int, int, str]] = []

    def place(self, line: int, column: int) -> int:
        """The place of a line and a column of the tree."""
        return self._starts[line - 1] + column

    def start(self, node: ast.AST) -> int:
        """Where a node begins."""
        return self.place(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """Where a node ends."""
        return self.place(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def remove_lines(self, node: ast.stmt) -> None:
        """Take the lines of a statement out, with its decorators and the comment behind it."""
        first = min(each.lineno for each in (node, *getattr(node, "decorator_list", ())))
        self._edits.append((self._starts[first - 1], self._starts[node.end_lineno or first], ""))

    def insert(self, place: int, text: str) -> None:
        """Put a text in."""
        self._edits.append((place, place, text))

    def replace(self, node: ast.AST, text: str) -> None:
        """Put a text in place of a node."""
        self._edits.append((self.start(node), self.end(node), text))

    def rename(self, start: int, old: str, new: str) -> None:
        """Put a name in place of another one, the first time it stands at `start` or after it."""
        at = self._text.index(old.encode(), start)
        self._edits.append((at, at + len(old.encode()), new))

    def done(self) -> str:
        """The text with its changes."""
        text = self._text
        for start, end, new in sorted(self._edits, key=lambda edit: edit[:2], reverse=True):
            text = text[:start] + new.encode() + text[end:]
        return text.decode()


def asynchronous(name: str, text: str, names: Names) -> str:
    """A module as one of the asynchronous client."""
    tree, edits = ast.parse(text), Edits(text)
    kept = [node for node in tree.body if _is_kept(node, names)]
    dropped = {each for node in tree.body if node not in kept for each in _defined(node)}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            _redirect(node, edits)
        elif node not in kept and _defined(node):
            edits.remove_lines(node)
    for node in kept:
        _convert(node, names, edits)
    used = sorted(dropped & {each.id for node in kept for each in ast.walk(node) if isinstance(each, ast.Name)})
    converted = edits.done()
    if used:
        first = next(node for node in tree.body if isinstance(node, ast.ImportFrom))
        head = f"{ast.unparse(first)}\n"
        converted = converted.replace(head, f"{head}from rugnik.{name} import {', '.join(used)}\n", 1)
    return HEADER.format(source=f"rugnik/{name}.py") + converted


def _functions(tree: ast.Module) -> Iterator[tuple[Function, bool]]:
    """Every function of a module, and whether it is a method."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node, False
        elif isinstance(node, ast.ClassDef):
            yield from ((inner, True) for inner in node.body if isinstance(inner, ast.FunctionDef))


def _is_kept(node: ast.stmt, names: Names) -> bool:
    """Whether a definition waits. A class that is made of such classes counts as well."""
    if isinstance(node, ast.FunctionDef):
        return node.name in names.functions
    return isinstance(node, ast.ClassDef) and (
        any(isinstance(inner, ast.FunctionDef) and inner.name in names.methods for inner in node.body)
    )


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []


def _redirect(node: ast.ImportFrom, edits: Edits) -> None:
    """Import what is asynchronous from its own package."""
    if node.module == "contextlib":
        edits.replace(node, "from contextlib import asynccontextmanager")
    elif node.module == "collections.abc":
        edits.replace(node, f"{ast.unparse(node)}, AsyncIterator")
    elif node.module and node.module.removeprefix("rugnik.") in (*MODULES, HAND_WRITTEN):
        edits.replace(node, _split(node, node.module.removeprefix("rugnik.")))


def _split(node: ast.ImportFrom, module: str) -> str:
    """An import from two modules: what waits from the asynchronous one, the rest from the other."""
    if module == HAND_WRITTEN:
        return ast.unparse(node).replace("rugnik.", f"{PACKAGE}.", 1)
    tree = ast.parse(_source(module))
    kept = {each for statement in tree.body if _is_kept(statement, _names()) for each in _defined(statement)}
    lines = []
    for own, package in ((True, PACKAGE), (False, "rugnik")):
        listed = [ast.unparse(alias) for alias in node.names if (alias.name in kept) is own]
        if listed:
            lines.append(f"from {package}.{module} import {', '.join(listed)}")
    return "\n".join(lines)


def _convert(node: ast.stmt, names: Names, edits: Edits) -> None:
    """Write what waits as asynchronous: definitions, calls, loops, contexts, and some names."""
    parents = {child: parent for parent in ast.walk(node) for child in ast.iter_child_nodes(parent)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef) and (names.waits(inner) or inner.name in NAMES):
            _define(inner, names, edits)
        elif isinstance(inner, ast.Call) and names.is_waiting(inner):
            _call(inner, names, edits, within=parents.get(inner))
        elif isinstance(inner, ast.With | ast.For) and _is_stepped(inner, names):
            edits.insert(edits.start(inner), "async ")
        elif isinstance(inner, ast.Expr) and isinstance(inner.value, ast.YieldFrom):
            indent = " " * (inner.col_offset + 4)
            edits.replace(inner, f"for each in {ast.unparse(inner.value.value)}:\n{indent}yield each")
        elif isinstance(inner, ast.Name | ast.Attribute) and ast.unparse(inner) in NAMES:
            edits.replace(inner, NAMES[ast.unparse(inner)])
        elif isinstance(inner, ast.ClassDef) and inner.name in NAMES:
            edits.rename(edits.start(inner), inner.name, NAMES[inner.name])
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str) and inner.value.startswith("Client("):
            edits.rename(edits.start(inner), "Client(", "AsyncClient(")


def _is_stepped(node: ast.With | ast.For, names: Names) -> bool:
    """Whether a block is entered, or a loop stepped through, asynchronously."""
    sources = [node.iter] if isinstance(node, ast.For) else [item.context_expr for item in node.items]
    return any(isinstance(each, ast.Call) and names.is_waiting(each) and not names.is_awaited(each) for each in sources)


def _define(node: Function, names: Names, edits: Edits) -> None:
    edits.insert(edits.start(node), "async ")
    if node.name in NAMES:
        edits.rename(edits.start(node), node.name, NAMES[node.name])
    if node.name in names.generators and node.returns is not None:
        edits.rename(edits.start(node.returns), "Iterator", "AsyncIterator")


def _call(call: ast.Call, names: Names, edits: Edits, *, within: ast.AST | None) -> None:
    renamed = PRIMITIVES.get(ast.unparse(call.func))
    if renamed is not None and isinstance(call.func, ast.Attribute) and renamed != call.func.attr:
        edits.rename(edits.end(call.func.value), call.func.attr, renamed)
    if not names.is_awaited(call):
        return
    used_further = isinstance(within, ast.Attribute | ast.Subscript)
    edits.insert(edits.start(call), "(await " if used_further else "await ")
    if used_further:
        edits.insert(edits.end(call), ")")


def _source(module: str) -> str:
    return (ROOT / "rugnik" / f"{module}.py").read_text(encoding="utf-8")


@cache
def _names() -> Names:
    return Names({module: ast.parse(_source(module)) for module in MODULES})


def formatted(text: str, path: str) -> str:
    """A source without imports that nothing needs, in the agreed format."""
    for command in (["check", "--fix-only", "--quiet", "--select", "F401,I"], ["format", "--quiet"]):
        words = [sys.executable, "-m", "ruff", *command, "--stdin-filename", path, "-"]
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=True, cwd=ROOT)  # noqa: S603 - our own words
        text = done.stdout
    return text


def expected() -> dict[str, str]:
    """Every module of the asynchronous client, by its path from the root, as it has to be today."""
    made = {}
    for module in MODULES:
        path = f"rugnik/asynchronous/{module}.py"
        made[path] = formatted(asynchronous(module, _source(module), _names()), path)
    return made


def write_all() -> list[str]:
    """Rewrite the modules that are out of date; their paths."""
    changed = []
    for path, text in expected().items():
        file = ROOT / path
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


if __name__ == "__main__":
    for written in write_all():
        print(f"Rewritten: {written}")  # noqa: T201 - the output of a command
