"""The rules of the code's shape, each a function from sources to the places that break it.

A source tree is a dict: path from the repository root (with slashes) → text of the file.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

Sources = dict[str, str]
parse = cache(ast.parse)  # a planted violation changes one file of hundreds

PACKAGE = "course_utils"
# An import may go to the same level or to a lower one. A folder counts as a whole.
LEVELS = {
    "shapes": 0,
    "masks": 0,
    "checks": 0,
    "threads": 0,
    "minilm_files": 0,
    "gpt2_files": 0,
    "packaged": 0,
    "course_text": 0,
    "tokens": 0,
    "attention": 1,
    "positions": 1,
    "leaks": 1,
    "sampling": 1,
    "costs": 1,
    "hardware": 1,
    "attention_traffic": 1,
    "roofline": 1,
    "peak_memory": 1,
    "memory_probe": 1,
    "kernel_regression": 1,
    "estimates": 1,
    "score_samples": 1,
    "scaling_law": 1,
    "signal_noise": 1,
    "low_rank": 1,
    "kernels": 2,
    "layers": 3,
    "models": 4,
    "training": 5,
    "word_drift": 5,
    "head_roles": 5,
    "head_pruning": 5,
    "tasks_dates": 5,
    "tasks_heads": 5,
    "tasks_recall": 5,
    "tasks_scaling": 5,
    "tasks_text": 5,
    "tasks_norms": 5,
    "tasks_induction": 5,
    "tasks_sizes": 5,
    "tasks_experts": 5,
    "tasks_pruning": 5,
    "tasks_depths": 5,
    "tasks_sharing": 5,
    "tasks_adapting": 5,
    "ablation": 5,
    "symbols": 5,
    "symbol_run": 5,
    "toy_experts": 5,
    "lora_runs": 5,
    "depth_runs": 5,
    "pruning_costs": 5,
    "pruning_table": 5,
    "viz": 6,
    "teaching": 6,
    "rehearse": 7,
    "progress": 7,
    "doctor": 7,
}
# Who needs torch alone: the modules a reader may take away without the rest of the course.
TORCH_ALONE = (
    "shapes",
    "checks",
    "masks",
    "attention",
    "positions",
    "leaks",
    "kernels",
    "layers",
)
# What holds or reads a model, and the files of viz that may know one: those of one lecture.
MODELS = (
    "layers",
    "models",
    "training",
    "word_drift",
    "head_roles",
    "head_pruning",
    "tasks_dates",
    "tasks_heads",
    "tasks_recall",
    "tasks_scaling",
    "tasks_text",
    "tasks_norms",
    "tasks_induction",
    "tasks_sizes",
    "tasks_experts",
    "tasks_pruning",
    "tasks_depths",
    "tasks_sharing",
    "tasks_adapting",
    "ablation",
    "symbols",
    "symbol_run",
    "toy_experts",
    "lora_runs",
    "depth_runs",
    "pruning_table",
)
LECTURE_FILE = re.compile(r"_\d\d\.py$")
# Heavy or awkward packages, and the only places that may import them.
HOMES = {
    "triton": (f"{PACKAGE}/kernels/tiled_triton.py",),
    "ipywidgets": (f"{PACKAGE}/viz/", f"{PACKAGE}/teaching/"),
    "matplotlib": (f"{PACKAGE}/viz/",),
}
# pyplot registers figures that nobody closes; the others unpickle, reach the network, or are the
# references that tests compare with.
NEVER = (
    "matplotlib.pyplot",
    "pylab",
    "pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "shelve",
    "marshal",
    "transformers",
    "requests",
    "httpx",
    "urllib.request",
    "http.client",
    "socket",
)
UNPICKLING_CALLS = ("torch.load", "numpy.load", "np.load")
MAX_LINES = 400


def read_sources(root: Path, *folders: str) -> Sources:
    """Read every Python file under the folders of the repository."""
    files = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}


def module_name(path: str) -> str:
    """Return the dotted name of the module in a file.

    >>> module_name("course_utils/explorers/__init__.py"), module_name("course_utils/masks.py")
    ('course_utils.explorers', 'course_utils.masks')
    """
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(path: str, source: str, *, lazy: bool = True) -> Iterator[str]:
    """Yield the dotted names a file imports; `from a import b` gives a.b.

    Imports inside functions count when `lazy`; those for type checkers alone never do.
    """
    tree = parse(source)
    package = module_name(path).split(".")
    if not path.endswith("/__init__.py"):
        package = package[:-1]
    for node in _statements(tree, lazy):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def _statements(node: ast.AST, lazy: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield other
                yield from _statements(other, lazy)
        elif lazy or not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _statements(child, lazy)


def _is_within(name: str, module: str) -> bool:
    return name == module or name.startswith(module + ".")


def _part(name: str) -> str:
    """Return which part of the package a dotted name belongs to, "" for the package itself."""
    return [*name.split("."), ""][1]


def back_edges(sources: Sources) -> list[str]:
    """Imports that go up the order of design, and parts that have no place in it."""
    found = []
    for path, source in sources.items():
        own = _part(module_name(path))
        if own and own not in LEVELS:
            found.append(f"{path} has no place in the order of imports")
            continue
        for name in imports(path, source):
            other = _part(name) if _is_within(name, PACKAGE) else ""
            if other and LEVELS.get(other, -1) > LEVELS.get(own, -1):
                found.append(f"{path} imports {name}")
    return found


def cycles(sources: Sources) -> list[str]:
    """Groups of modules of the package that import each other, directly or not."""
    modules = {module_name(path): path for path in sources}
    graph = {
        name: {target for target in _targets(path, sources[path], modules) if target != name}
        for name, path in modules.items()
    }
    reach = {name: _reachable(graph, name) for name in graph}
    return sorted(f"{name} imports itself, through others" for name in graph if name in reach[name])


def _targets(path: str, source: str, modules: dict[str, str]) -> Iterator[str]:
    for name in imports(path, source):
        # `from package.module import thing` names thing, which may be a module or not.
        for candidate in (name, name.rpartition(".")[0]):
            if candidate in modules:
                yield candidate
                break


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    return reached


def strangers(sources: Sources) -> list[str]:
    """Imports of a package outside its home, and of those that nothing here imports."""
    found = []
    for path, source in sources.items():
        for name in imports(path, source):
            homes = HOMES.get(name.split(".")[0])
            if homes is not None and not path.startswith(homes):
                found.append(f"{path} imports {name}")
            found += [f"{path} imports {name}" for never in NEVER if _is_within(name, never)]
    return found


def drawing_models(sources: Sources) -> list[str]:
    """Imports of models by what draws arrays: only a lecture's own explorers know a model."""
    return [
        f"{path} imports {name}"
        for path, source in sources.items()
        if _part(module_name(path)) == "viz" and not LECTURE_FILE.search(path)
        for name in imports(path, source)
        if any(_is_within(name, f"{PACKAGE}.{model}") for model in MODELS)
    ]


def not_torch_alone(sources: Sources) -> list[str]:
    """Imports of anything but torch (and optional helpers) by the parts that need torch alone."""
    allowed = sys.stdlib_module_names | {PACKAGE, "torch", "jaxtyping", "triton"}
    return [
        f"{path} imports {name}"
        for path, source in sources.items()
        if _part(module_name(path)) in TORCH_ALONE
        for name in imports(path, source)
        if name.split(".")[0] not in allowed
    ]


def not_standard_library(sources: Sources) -> list[str]:
    """Imports that a Python without any package could not do: set-up runs before there is one."""
    own = {module_name(path).split(".")[0] for path in sources}
    allowed = sys.stdlib_module_names | own
    return [
        f"{path} imports {name}"
        for path, source in sources.items()
        for name in imports(path, source)
        if name.split(".")[0] not in allowed
    ]


def unpickling(sources: Sources) -> list[str]:
    """Calls that could run code hidden in a file."""
    return [
        f"{path} line {node.lineno} calls {ast.unparse(node.func)}"
        for path, source in sources.items()
        for node in ast.walk(parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in UNPICKLING_CALLS
    ]


def long_files(sources: Sources) -> list[str]:
    """Files too long to read in one go."""
    return [
        f"{path} has {source.count(chr(10))} lines"
        for path, source in sources.items()
        if source.count("\n") > MAX_LINES
    ]


def leftovers(sources: Sources) -> list[str]:
    """Notes to oneself."""
    # Written in pieces, so that this file keeps its own rule.
    marks = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    return [
        f"{path} line {number}: {line.strip()}"
        for path, source in sources.items()
        for number, line in enumerate(source.splitlines(), start=1)
        if marks.search(line)
    ]


def _public_functions(source: str) -> Iterator[ast.FunctionDef]:
    """Yield what Python can call; a Triton kernel is compiled, and takes pointers and tiles."""
    for node in parse(source).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if not any(decorator.startswith("triton.jit") for decorator in decorators):
                yield node


def without_docstring(sources: Sources) -> list[str]:
    """Public functions and classes that do not say what they are."""
    return [
        f"{path}: {node.name}"
        for path, source in sources.items()
        for node in parse(source).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
        if not ast.get_docstring(node)
    ]


def without_doctest(sources: Sources) -> list[str]:
    """Public functions without an example that runs."""
    return [
        f"{path}: {node.name}"
        for path, source in sources.items()
        for node in _public_functions(source)
        if ">>> " not in (ast.get_docstring(node) or "")
    ]


def without_annotations(sources: Sources) -> list[str]:
    """Public functions with a parameter or a result that has no annotation."""
    found = []
    for path, source in sources.items():
        for node in _public_functions(source):
            given = node.args
            parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            parameters += [extra for extra in (given.vararg, given.kwarg) if extra]
            bare = [parameter.arg for parameter in parameters if parameter.annotation is None]
            if node.returns is None:
                bare.append("its result")
            found += [f"{path}: {node.name}, {name}" for name in bare]
    return found
