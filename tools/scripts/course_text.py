"""Write the course's own text, for small language models to learn: prose and code.

    python tools/scripts/course_text.py

The prose is what the lectures' Markdown, the pages, all docstrings and the exercises' and quizzes'
strings say in sentences. Tables, code, HTML and displayed formulas are left out; a formula in a
line stays where plain signs can say it, else its sentence goes. The code is that of the parts named
below, without its docstrings.

The files are snapshots. What was trained on them, and the hashes that guard them, belong to one
version, so write new ones only together with a new model (tools/scripts/train_small_gpt.py).
"""

import ast
import hashlib
import inspect
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.scripts.packaged import write_packaged

ROOT = Path(__file__).resolve().parents[2]
LECTURES = ("00", "01", "02", "03", "04", "05", "08")
CODE = ("attention.py", "masks.py", "costs.py", "positions", "layers", "models", "kernels")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
SECTION = re.compile(r"(?:Args|Attributes|Returns|Raises|Warns|Yields|Source)\b.*:")

# Formulas that plain signs can say. What is left with a backslash, a brace or a $ is dropped.
SIGNS = {
    r"\cdot": "·", r"\times": "×", r"\le": "≤", r"\ge": "≥", r"\ll": "≪", r"\gg": "≫",
    r"\neq": "≠", r"\ne": "≠", r"\approx": "≈", r"\propto": "∝", r"\to": "→", r"\infty": "∞",
    r"\pm": "±", r"\partial": "∂", r"\rho": "ρ", r"\theta": "θ", r"\sigma": "σ", r"\alpha": "α",
    r"\beta": "β", r"\gamma": "γ", r"\lambda": "λ", r"\mu": "μ", r"\pi": "π", r"\omega": "ω",
    r"\tau": "τ", r"\varphi": "φ", r"\phi": "φ", r"\varepsilon": "ε", r"\epsilon": "ε",
    r"\Delta": "Δ", r"\sum": "Σ", r"\ln": "ln", r"\log": "log", r"\exp": "exp", r"\max": "max",
    r"\min": "min", r"\sin": "sin", r"\cos": "cos", r"\ldots": "...", r"\dots": "...",
    r"\lVert": "|", r"\rVert": "|", r"\|": "|", r"\quad": " ", r"\qquad": " ", r"\ ": " ",
    r"\,": " ", r"\;": " ", r"\!": "", r"\%": "%", r"\_": "_", r"\top": "ᵀ",
}  # fmt: skip
GROUPED = (  # commands with an argument, and what of it stays
    (r"\\(?:text|mathrm|operatorname|mathbf|mathbb)\{([^{}]*)\}", r"\1"),
    (r"\\sqrt\{([^{}\s]*)\}", r"√\1"),
    (r"\\sqrt\{([^{}]*)\}", r"√(\1)"),
    (r"\\[dt]?frac\{([^{}\s+-]*)\}\{([^{}\s+-]*)\}", r"\1/\2"),
    (r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1)/(\2)"),
    (r"\\(?:hat|bar|tilde|vec)\{?(\w)\}?", r"\1"),
    (r"\{,\}", ","),
    (r"([_^])\{(\w+)\}", r"\1\2"),
)


def documents() -> Iterator[str]:
    """Yield the prose: each part of a lecture, then what each page and each module says."""
    for number in LECTURES:
        (path,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        whole = "\n\n".join("".join(cell["source"]) for cell in cells if is_prose(cell))
        for part in re.split(r"^(?=## )", whole, flags=re.MULTILINE):
            yield prose_of_markdown(part)
    for path in tracked("*.md"):
        yield prose_of_markdown(path.read_text(encoding="utf-8"))
    for path in tracked("*.py"):
        yield prose_of_module(path.read_text(encoding="utf-8"), path.parent.name == "teaching")


def is_prose(cell: dict) -> bool:
    """Return whether a cell is the lecture's text: not code, nor notes for the presenter."""
    slide = cell["metadata"].get("slideshow", {}).get("slide_type")
    return cell["cell_type"] == "markdown" and slide != "notes"


def tracked(pattern: str) -> list[Path]:
    """Return the files of the course that match, without those of work in progress."""
    listed = subprocess.run(
        ["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / line for line in sorted(listed.stdout.splitlines())]


def prose_of_markdown(text: str) -> str:
    """Return the sentences of Markdown, a paragraph to a line."""
    text = re.sub(r"<summary>.*?</summary>|<[^<>\n]+>|!\[[^]]*\]\([^)]*\)", "", text)
    text = re.sub(r"^```.*?^```|\$\$.*?\$\$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^## Sources.*?(?=^## |\Z)", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^(?:#+ |[-*] |\d+\. )", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"\*\*|`|(?<!\w)\*|\*(?!\w)", "", text)
    text = re.sub(r"\$([^$]+)\$", lambda found: plain(found[1]), text)
    return joined(text)


def plain(formula: str) -> str:
    r"""Return a formula in plain signs, as far as they go: `\sqrt{d_k}` is √d_k."""
    for pattern, kept in GROUPED:
        formula = re.sub(pattern, kept, formula)
    names = "|".join(re.escape(name) for name in sorted(SIGNS, key=len, reverse=True))
    return re.sub(rf"(?:{names})(?![a-zA-Z])", lambda found: SIGNS[found[0]], formula)


def prose_of_module(source: str, with_strings: bool) -> str:
    """Return the sentences of a module's docstrings, and those that its strings say, if wanted."""
    nodes = list(ast.walk(ast.parse(source)))
    texts = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, DOCUMENTED)]
    if with_strings:
        texts += [text for text in whole_strings(nodes) if text not in texts]
    return joined("\n\n".join(map(prose_of_docstring, texts)))


def whole_strings(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the strings of a module in the order of its lines, but for pieces of f-strings."""
    pieces = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    constants = (node for node in nodes if isinstance(node, ast.Constant))
    for node in sorted(constants, key=lambda node: node.lineno):
        if isinstance(node.value, str) and " " in node.value and id(node) not in pieces:
            yield node.value


def prose_of_docstring(text: str) -> str:
    """Return the paragraphs of one docstring that are sentences."""
    kept = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        no_prose = SECTION.match(paragraph) or ">>>" in paragraph
        if not no_prose and not paragraph.startswith((" ", "|")):
            kept.append(re.sub(r"`|^- |\*\*", "", paragraph, flags=re.MULTILINE))
    return "\n\n".join(kept)


def joined(text: str) -> str:
    """Put each paragraph on a line, without the sentences that are none."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text))
    kept = (" ".join(filter(is_sentence, sentences(paragraph))) for paragraph in paragraphs)
    return "\n".join(paragraph for paragraph in kept if paragraph)


def sentences(paragraph: str) -> list[str]:
    """Cut a paragraph after each full stop, question mark or exclamation mark."""
    return re.split(r"(?<=[.!?]) (?=[A-Z(\"])", paragraph)


def is_sentence(text: str) -> bool:
    """Whether words make up most of it, and nothing is left of a formula or of code."""
    letters = sum(map(len, re.findall(r"[a-z]{2,}|[A-Z][a-z]+|\b[aAI]\b", text)))
    strange = re.search(r"[\\{}$<>|^\[\]]|__|https?:|\w\(\w*,", text)
    ends = text.endswith((".", "!", "?", ":", ")", '"'))
    return letters >= 0.7 * len(text) and len(text.split()) >= 3 and ends and not strange


def each_line_once(texts: Iterable[str]) -> Iterator[str]:
    """Leave out the lines that an earlier text has: what is held out must not have been read."""
    seen: set[str] = set()
    for text in texts:
        lines = [line for line in dict.fromkeys(text.split("\n")) if line not in seen]
        seen.update(lines)
        if lines:
            yield "\n".join(lines)


def mixed(texts: Iterable[str]) -> list[str]:
    """Return the texts in the order of their hashes, so that any share is like the whole."""
    return sorted(texts, key=lambda text: hashlib.sha256(text.encode()).digest())


def code() -> Iterator[str]:
    """Yield the modules of CODE, without docstrings and without the lists of what is public."""
    for name in CODE:
        for path in tracked(f"course_utils/{name}"):
            if path.name != "__init__.py":
                yield without_docstrings(path.read_text(encoding="utf-8"))


def without_docstrings(source: str) -> str:
    """Return a module's code as it is written, but for docstrings and __all__."""
    lines = source.split("\n")
    gone: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if not isinstance(node, DOCUMENTED) or not body:
            continue
        public = [part for part in body if ast.unparse(part).startswith("__all__")]
        has_more = len(body) > 1 and ast.get_docstring(node) is not None
        docstring = body[:1] if has_more else []  # one that is all there is has to stay
        for part in docstring + public:
            gone.update(range(part.lineno - 1, part.end_lineno))
    text = "\n".join(line for number, line in enumerate(lines) if number not in gone)
    return re.sub(r"\n{3,}", "\n\n\n", text).strip()


def main() -> None:
    """Write both files, and print their hashes for course_utils/data/package_files.py."""
    texts = {
        "prose.txt": "\n\n".join(mixed(each_line_once(documents()))) + "\n",
        "code.txt": "\n\n\n".join(mixed(code())) + "\n",
    }
    for name, text in texts.items():
        write_packaged(name, text.encode())


if __name__ == "__main__":
    main()
