"""Modules become one string that does what the modules do."""

import json

import pytest

from course_utils.explorers.link import link, shelf
from tests.explorers.support_node import run_module

MODULES = {
    "a.js": 'import { twice as double, unit } from "./deep/b.js";\n'
    'import * as all from "./deep/b.js";\nimport style from "./s.css";\n'
    "// a comment\nexport default { got: double(unit), all: all.unit, style };\n",
    "deep/b.js": "/** Twice. */\nexport const twice = x => 2 * x;\nexport const unit = 21;\n"
    "export class Thing {}\nexport function named() {}\n",
    "s.css": "/* a */\n.a {\n  color: red;\n}\n",
}


def written(folder, modules):
    for name, source in modules.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(source)
    return folder / "a.js"


def test_linked_modules_run(tmp_path):
    entry = written(tmp_path, MODULES)
    code = link(entry, "console.log(JSON.stringify(entry.default));")
    assert run_module(code) == {"got": 42, "all": 21, "style": ".a{color: red;}"}
    assert "comment" not in code and "Twice" not in code


def test_what_a_page_has_already_is_not_linked_again(tmp_path):
    entry = written(tmp_path, MODULES)
    there = tmp_path / "deep" / "b.js"
    code = link(entry, "console.log(JSON.stringify(entry.default));", {there: 'page["b.js"]'})
    assert "Thing" not in code
    given = run_module(f"globalThis.page = {shelf([there])};\n{code}")
    assert given == {"got": 42, "all": 21, "style": ".a{color: red;}"}


@pytest.mark.parametrize(
    "statement",
    ['import "./deep/b.js";', 'export { x } from "./deep/b.js";', 'import x from "react";'],
)
def test_other_forms_are_refused(tmp_path, statement):
    entry = written(tmp_path, {**MODULES, "a.js": statement + "\n"})
    with pytest.raises(ValueError, match=r"^a\.js must import and export by name, got "):
        link(entry)


def test_a_circle_is_refused(tmp_path):
    back = 'import a from "../a.js";\n' + MODULES["deep/b.js"]
    with pytest.raises(ValueError, match=r"circle, got a\.js → b\.js → a\.js$"):
        link(written(tmp_path, {**MODULES, "deep/b.js": back}))


def test_text_of_a_stylesheet_is_safe(tmp_path):
    entry = written(tmp_path, {**MODULES, "s.css": '.a::after { content: "\\201C"; }'})
    said = run_module(link(entry, "console.log(JSON.stringify(entry.default.style));"))
    assert json.dumps(said) == json.dumps('.a::after{content: "\\201C";}')
