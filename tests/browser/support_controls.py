"""Every control of an explorer, moved by keyboard, and what the reader sees after each step."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.browser.support_page import LecturePage, changed, seen, wait_for

SLIDER = ".noUi-handle"
TEXT = ".widget-text input"
LIST = ".widget-dropdown select"
SCENE = ".course-scenes button"
FOCUSABLE = f"{SLIDER}, {TEXT}, {LIST}, {SCENE}"
TYPED = "The cat sat on the mat because it was soft."


def names(explorer: Any, css: str) -> Iterator[tuple[str, Any]]:
    """Yield each control of a kind with the words beside it."""
    for control in explorer.locator(css).all():
        label = control.evaluate(
            "control => (control.closest('.widget-inline-hbox')?.querySelector('.widget-label')"
            "?? control).innerText"
        )
        yield label.strip(), control


def press(lecture: LecturePage, control: Any, key: str) -> None:
    """Give a control the focus and press a key."""
    control.focus()
    lecture.page.keyboard.press(key)


def move_slider(lecture: LecturePage, explorer: Any, handle: Any, name: str) -> dict:
    """Move a slider by one step, towards the middle when it is at its end."""
    before = seen(explorer)
    at_end = handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax")
    key = "ArrowLeft" if at_end else "ArrowRight"
    press(lecture, handle, key)
    return changed(explorer, before, f"slider '{name}', {key}")


def choose_next(lecture: LecturePage, explorer: Any, menu: Any, name: str) -> dict:
    """Choose another entry of a list: Enter opens it, since JupyterLab keeps plain arrows."""
    before = seen(explorer)
    last = menu.evaluate("menu => menu.selectedIndex === menu.options.length - 1")
    press(lecture, menu, "Enter")
    lecture.page.keyboard.press("ArrowUp" if last else "ArrowDown")
    lecture.page.keyboard.press("Enter")
    return changed(explorer, before, f"list '{name}'")


def type_text(lecture: LecturePage, explorer: Any, box: Any, name: str) -> dict:
    """Type into a text box; the picture or the words about it have to answer."""
    before = seen(explorer)
    box.fill(TYPED)
    wait_for(lambda: seen(explorer) != before, lambda: f"text '{name}': nothing new")
    return seen(explorer)


def play_scenes(lecture: LecturePage, explorer: Any) -> list[dict]:
    """Press every scene's button in turn and the first again; each shows something else."""
    buttons = list(names(explorer, SCENE))
    shown = []
    for name, button in [*buttons, *buttons[:1]] if len(buttons) > 1 else []:
        before = seen(explorer)
        press(lecture, button, "Enter")
        if shown:
            shown.append(changed(explorer, before, f"scene '{name}'"))
        else:
            # The first may be what is shown already.
            lecture.page.wait_for_timeout(500)
            shown.append(seen(explorer))
    return shown


KINDS: dict[str, Callable[[LecturePage, Any, Any, str], dict]] = {
    SLIDER: move_slider,
    LIST: choose_next,
    TEXT: type_text,
}
