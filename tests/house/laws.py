"""The laws of the code, read from the syntax tree. Pure: one file's text in, sentences out; each names file:line and the remedy."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import cast

from tests.house.trees import nodes

__all__ = [
    "LONGEST_FILE_LINES",
    "LONGEST_FUNCTION_LINES",
    "LONGEST_TEST_LINES",
    "MANY_PARAMETERS",
    "MOST_PARAMETERS",
    "Source",
    "claims_to_be_pure",
    "has_docstring",
    "has_short_functions",
    "has_sorted_all",
    "is_pure",
    "is_quiet",
    "is_short",
    "keeps_its_word",
    "leaves_the_environment_alone",
    "parameters",
    "takes_few_parameters",
    "works_not_at_import",
]

LONGEST_FUNCTION_LINES = 70
MOST_PARAMETERS = 6
LONGEST_FILE_LINES = 400
LONGEST_TEST_LINES = 500


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PURE_CALLS = _names("""
    bytes chr dict enumerate float frozenset int len list map max min object ord range reversed set sorted str sum tuple zip
    attrgetter cast date datetime field get_args itemgetter methodcaller namedtuple partial replace timedelta
    dataclasses.field json.JSONDecoder json.JSONEncoder logging.getLogger msgspec.field msgspec.json.Decoder
    msgspec.json.Encoder re.compile re.escape struct.Struct types.MappingProxyType typing.cast typing.get_args
    choice fields setting settings_of words_in _listed dict.fromkeys
    click.Choice click.FloatRange click.IntRange click.Path
    awaited of_part opening staticmethod
    """)
"""Calls that may run while a module loads: they build a value from values. `choice` to `settings_of`: the rows of settings.
`words_in`, `_listed`: the words of a text."""

PURE_METHODS = _names("encode format isalpha items join keys lower replace split startswith strip union upper values")
"""Methods of strings, sets and mappings that may run while a module loads."""

IMPURE_CONSTRUCTORS = _names("Client Connection Console Lock Popen RLock Session Thread")
"""Capitalised names that are more than a value."""

DECORATORS = _names("""
    abstractmethod cache cached_property classmethod contextmanager dataclass final lru_cache overload override property
    runtime_checkable staticmethod total_ordering wraps
    contextlib.contextmanager dataclasses.dataclass functools.cache functools.cached_property functools.lru_cache
    functools.total_ordering functools.wraps typing.final typing.overload
    click.argument click.command click.group click.help_option click.option click.pass_context click.pass_obj
    click.version_option
    client_folders handoff_options home_options one_home_options one_session_options page_options project_option project_options session_options settings_options team_options upstream_options which_fewest which_fractions which_sessions in_turn
    """)
"""The last line is our own: several of `click.option` at once, and a method that waits for its turn."""
DECORATOR_METHODS = _names("command deleter group register setter")

MANY_PARAMETERS = {
    "core/dispatch/prompt.py::build_dispatch_dynamic_tail": "a name of the seeds, called by keyword",
    "core/memory/decay.py::apply_decay_by_type": "takes what apply_semantic_decay takes",
    "core/memory/decay.py::apply_semantic_decay": "a name of the seeds, called by keyword",
    "core/window/ended_tasks.py::prune_task_logs": "a name of the seeds, called by keyword",
    "dispatch/manager.py::DispatchRuntimeManager.__init__": "a name of the seeds, called by keyword",
    "session/memory.py::SessionMemory.remember": "Session.remember: the fields of a memory, called by keyword",
    "testing/simulators/gemini.py::GeminiSimulator.__init__": "habits of a provider, each with a default",
    "testing/simulators/openai_responses.py::OpenAIResponsesSimulator.__init__": "habits of a provider, each with a default",
}
"""Functions that take more than six parameters, each with its reason. The list only gets shorter."""

ENVIRONMENT = frozenset({"os.environ", "os.environb", "os.getenv", "sys.argv", "sys.stdin"})

IMPURE_MODULES = _names("""
    aiohttp apsw asyncio builtins click concurrent ctypes fcntl getpass glob http httpx importlib io locale logging mmap
    multiprocessing os pathlib platform random requests rich secrets select shutil signal socket sqlite3 subprocess sys
    tempfile threading time urllib warnings
    """)
IMPURE_CALLS = _names("""
    __import__ breakpoint compile eval exec hash id input open print
    date.today datetime.now datetime.today datetime.utcnow uuid1 uuid4
    """)
"""`hash` and `id` differ from run to run, so a decision must not stand on them."""


PATH_IO = frozenset(set(dir(Path)) - set(dir(PurePath)) - {"group", "replace"})
"""What a path can do to a disk; the two are methods of matches and strings too."""

_PURE = re.compile(r"\b(Pure|No I/O)[.;:]")


@dataclass(frozen=True)
class Source:
    """One Python file: its path as messages name it, and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; a file that does not parse fails the test by itself."""
        return cast("ast.Module", self.nodes[0])

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, which each law looks through."""
        return nodes(self.text)

    def at(self, node: ast.AST, message: str) -> str:
        """Return the message behind the node's file:line."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}: {message}"

    def is_public(self) -> bool:
        """Tell whether others may import the module; ``__init__`` is the front door of its package."""
        stem = self.path.rsplit("/", 1)[-1].removesuffix(".py")
        return stem == "__init__" or not stem.startswith("_")


def has_short_functions(source: Source) -> Iterator[str]:
    """Find functions of more than 70 lines, signature and docstring included."""
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST_FUNCTION_LINES:
                yield source.at(
                    node,
                    f"{node.name} has {lines} lines, {LONGEST_FUNCTION_LINES} is the limit: give its parts names of their own",
                )


def parameters(source: Source) -> Iterator[tuple[str, int, ast.AST]]:
    """Give each function by its path and its name, with the number of its parameters, `self` and `cls` apart."""
    classes = {
        method: f"{node.name}." for node in source.nodes if isinstance(node, ast.ClassDef) for method in node.body
    }
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            names += [one.arg for one in (given.vararg, given.kwarg) if one is not None]
            count = len(names) - (node in classes and names[:1] in (["self"], ["cls"]))
            yield f"{source.path}::{classes.get(node, '')}{node.name}", count, node


def takes_few_parameters(source: Source) -> Iterator[str]:
    """Find functions of more than six parameters; the options of a command are parameters, and do not count."""
    for name, count, node in parameters(source):
        decorators = getattr(node, "decorator_list", ())
        is_command = any(isinstance(one, ast.Call) and dotted(one.func).endswith(".command") for one in decorators)
        if count > MOST_PARAMETERS and not is_command and name.removeprefix("src/undrift/") not in MANY_PARAMETERS:
            yield source.at(
                node,
                f"{name.split('::')[1]} takes {count} parameters, {MOST_PARAMETERS} is the limit: put what belongs "
                "together into one value",
            )


def is_short(source: Source) -> Iterator[str]:
    """Find a file of more than 400 lines, 500 where it holds tests."""
    lines = len(source.text.splitlines())
    most = LONGEST_TEST_LINES if source.path.startswith("tests/") else LONGEST_FILE_LINES
    if lines > most:
        yield f"{source.path}:{lines}: {lines} lines, {most} is the limit: split it by subject"


def has_docstring(source: Source) -> Iterator[str]:
    """Find a module that does not open with a sentence on what it is."""
    if not ast.get_docstring(source.tree):
        yield f"{source.path}:1: no docstring: open with one sentence on what the module is, and its law"


def has_sorted_all(source: Source) -> Iterator[str]:
    """Find a public module whose ``__all__`` is missing, is no plain list of strings, or is not in the order of `sorted`."""
    if not source.is_public():
        return
    for node in source.tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        if ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target) != "__all__":
            continue
        try:
            names = ast.literal_eval(node.value)
        except ValueError:
            yield source.at(node, "__all__ is not a literal: write the names out, as a list of strings")
            return
        if list(names) != sorted(set(names)):
            yield source.at(node, f"__all__ is not sorted, or repeats a name: write {sorted(set(names))}")
        return
    yield f"{source.path}:1: no __all__: list the module's public names, sorted; an empty list where there are none"


def is_quiet(source: Source) -> Iterator[str]:
    """Find ``print`` calls; only cli/ talks to a terminal."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and dotted(node.func) == "print":
            yield source.at(node, "print: return a value and let cli/ show it, or use logging in the shell")


def leaves_the_environment_alone(source: Source) -> Iterator[str]:
    """Find reads of the process environment; settings/__init__.py is the only reader."""
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and dotted(node) in {"os.environ", "os.environb", "os.getenv"}:
            yield source.at(
                node, f"{dotted(node)}: only settings/__init__.py reads the environment; take the value as an argument"
            )
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            for name in node.names:
                if name.name in {"environ", "environb", "getenv"}:
                    yield source.at(
                        node,
                        f"os.{name.name}: only settings/__init__.py reads the environment; take the value as an argument",
                    )


def is_pure(source: Source, besides: frozenset[str] = frozenset()) -> Iterator[str]:
    """Find what a pure module must not do: clock, disk, environment, chance, terminal, threads."""
    for node in source.nodes:
        if isinstance(node, ast.Import):
            modules = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module or ""]
        else:
            modules = []
        for module in modules:
            if module.split(".")[0] in IMPURE_MODULES - besides:
                yield source.at(node, f"imports {module}: this floor is pure; do it in the shell and pass the value in")
        if isinstance(node, ast.Global):
            yield source.at(node, f"global {', '.join(node.names)}: this floor keeps no state; return a new value")
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in IMPURE_CALLS or any(
                name.endswith(f".{call}") for call in IMPURE_CALLS if "." in call or "uuid" in call
            ):
                yield source.at(node, f"calls {name}: this floor is pure; do it in the shell and pass the value in")


def claims_to_be_pure(source: Source) -> bool:
    """Tell whether a module's docstring says "Pure." or "No I/O."; "Pure but for ..." is another claim."""
    return _PURE.search(ast.get_docstring(source.tree) or "") is not None


def keeps_its_word(source: Source) -> Iterator[str]:
    """Find what a module outside the pure floors must not do if it says that it is pure; it may name paths, not use them."""
    yield from is_pure(source, frozenset({"pathlib"}))
    has_paths = any(isinstance(node, ast.ImportFrom) and node.module == "pathlib" for node in source.nodes)
    for node in source.nodes:
        if has_paths and isinstance(node, ast.Attribute) and node.attr in PATH_IO:
            yield source.at(node, f"{dotted(node)}: the docstring says that nothing is read or written here")


def works_not_at_import(source: Source) -> Iterator[str]:
    """Find statements and calls that do work while the module loads."""
    yield from work_in_body(source, source.tree.body)


def work_in_body(source: Source, body: list[ast.stmt]) -> Iterator[str]:
    """Find work in the statements of a module or class."""
    remedy = "move it into a function, called on first use"
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                pass
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from work_in_decorators(source, node.decorator_list)
                for default in (*node.args.defaults, *node.args.kw_defaults):
                    yield from work_in_expression(source, default)
            case ast.ClassDef():
                yield from work_in_decorators(source, node.decorator_list)
                yield from work_in_body(source, node.body)
            case ast.Assign() | ast.AnnAssign():
                yield from work_in_expression(source, node.value)
            case ast.If(test=test) if ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
                pass
            case ast.If(test=test) if ast.unparse(test).startswith(
                ("not TYPE_CHECKING", "sys.version_info", "sys.platform")
            ):
                yield from work_in_body(source, [*node.body, *node.orelse])
            case ast.If(test=test) if ast.unparse(test) == "__name__ == '__main__'":
                pass
            case _:
                if type(node).__name__ != "TypeAlias":  # the `type` statement of newer Pythons
                    yield source.at(node, f"runs at import (`{ast.unparse(node).splitlines()[0]}`): {remedy}")


def work_in_expression(source: Source, expression: ast.expr | None) -> Iterator[str]:
    """Find calls outside the allow-list, and reads of the environment, in what is evaluated at import."""
    if expression is None or isinstance(expression, ast.Lambda):
        return
    if isinstance(expression, ast.Attribute | ast.Name) and dotted(expression) in ENVIRONMENT:
        yield source.at(
            expression, f"reads {dotted(expression)} at import: only settings/__init__.py reads it, when it is asked"
        )
    if isinstance(expression, ast.Call) and not builds_a_value(source, expression.func):
        yield source.at(
            expression,
            f"calls {ast.unparse(expression.func)} at import: move it into a function, called on first use "
            "(or, if it only builds a value, add it to PURE_CALLS in tests/house/laws.py)",
        )
    for child in ast.iter_child_nodes(expression):
        if isinstance(child, ast.expr):
            yield from work_in_expression(source, child)
        elif isinstance(child, ast.comprehension):
            yield from work_in_expression(source, child.iter)
            for condition in child.ifs:
                yield from work_in_expression(source, condition)
        elif isinstance(child, ast.keyword):
            yield from work_in_expression(source, child.value)


def work_in_decorators(source: Source, decorators: list[ast.expr]) -> Iterator[str]:
    """Find decorators that may do more than wrap; their arguments count as expressions."""
    for decorator in decorators:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = dotted(call.func if call else decorator)
        if name not in DECORATORS and not ("." in name and name.rsplit(".", 1)[1] in DECORATOR_METHODS):
            yield source.at(
                decorator,
                f"decorator {name} runs at import: add it to DECORATORS in tests/house/laws.py if it only wraps",
            )
        if call:
            for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                yield from work_in_expression(source, argument)


def builds_a_value(source: Source, function: ast.expr) -> bool:
    """Tell whether a call at import only builds a value.

    So does an allowed name, a class called by its plain name, and an earlier function of the same file that only builds one.
    """
    name = dotted(function)
    if name in PURE_CALLS or (isinstance(function, ast.Attribute) and function.attr in PURE_METHODS):
        return True
    if not isinstance(function, ast.Name) or name in IMPURE_CONSTRUCTORS:
        return False
    bare = name.lstrip("_")
    return (bare[:1].isupper() and not bare.isupper()) or is_builder(source, function)


def is_builder(source: Source, called: ast.Name) -> bool:
    """Tell whether a name is an earlier function of this file that assigns, decides and returns, and nothing else."""
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == called.id and not node.decorator_list:
            ends_earlier = (
                node.end_lineno or 0
            ) < called.lineno  # which also ends a chain of functions that call each other
            return ends_earlier and all(only_builds(source, statement) for statement in node.body)
    return False


def only_builds(source: Source, statement: ast.stmt) -> bool:
    """Tell whether a statement is an assignment, decision or return of what may run at import."""
    match statement:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Return() | ast.Assign() | ast.AnnAssign():
            return not list(work_in_expression(source, statement.value))
        case ast.If():
            parts = [*statement.body, *statement.orelse]
            return not list(work_in_expression(source, statement.test)) and all(
                only_builds(source, part) for part in parts
            )
    return False


def dotted(node: ast.expr) -> str:
    """Return ``a.b.c`` of names and attributes; of anything else its source text."""
    return ast.unparse(node)
