"""An explorer on a page of its own: its words, and where a hand or a finger takes hold of it."""

import contextlib

from tests.browser.support_page import is_home

DARK = "#12161d"
PAINTED = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
# Words that reach beyond the explorer's sides; of the presets the row scrolls.
CUT_OFF = """() => {
  const edge = document.querySelector('.ce').getBoundingClientRect();
  const words = '.ce-stage :is(text, span, p), .ce-body :is(button, label, output)';
  return [...document.querySelectorAll(words)]
    .filter(each => each.textContent.trim() && each.checkVisibility?.({ opacityProperty: true }))
    .filter(each => { const box = each.getBoundingClientRect();
      return box.width && (box.left < edge.left - 1 || box.right > edge.right + 1); })
    .map(each => each.textContent);
}"""
# Pairs of labels that lie over each other. A letter alone is a mark of the data; what is turned, or
# or stays in sight above the picture, is left out.
OVERLAPPING = """() => {
  const isTurned = each => each.getScreenCTM && Math.abs(each.getScreenCTM().b) > 0.01;
  const found = [...document.querySelectorAll('.ce-stage :is(text, span, p, b, label, output)')]
    .filter(each => each.textContent.trim().length > 1 && !isTurned(each))
    .filter(each => !each.closest('.tiles-player, .num-terms, .ce-heard'))
    .filter(each => ![...each.children].some(child => child.textContent.trim()) &&
      each.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
    .map(each => {
      const range = document.createRange();
      range.selectNodeContents(each);
      const box = (each instanceof SVGElement ? each : range).getBoundingClientRect();
      return { words: each.textContent.trim(), box };
    });
  const over = (one, other) => Math.min(
    Math.min(one.right, other.right) - Math.max(one.left, other.left) - 2,
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) - 4) > 0;
  return found.flatMap((one, i) => found.slice(0, i)
    .filter(other => over(one.box, other.box)).map(other => `${other.words} × ${one.words}`));
}"""
# All that a hand can change, as a screen reader hears it.
HEARD = """() => [...document.querySelectorAll('.ce *')].flatMap(each =>
  ['aria-valuenow', 'aria-valuetext', 'aria-checked', 'aria-pressed']
    .map(name => each.getAttribute(name)).filter(Boolean))
  .concat(document.querySelector('.ce-caption').textContent)"""


@contextlib.contextmanager
def opening(browser):
    """Give a function that opens pages; an error of one of them, or a request, fails the test."""
    contexts, failures = [], []

    def opened(address, width=940, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 700}, **options))
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: failures.append(str(error)))
        tab.on("request", lambda sent: is_home(sent.url) or failures.append(sent.url))
        tab.goto(address)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert failures == []


def paint(tab, dark):
    """Change the page's theme, as a reader does while the picture stands there."""
    tab.evaluate(f"document.body.style.background = '{DARK if dark else 'white'}'")
    tab.wait_for_selector(f".ce[data-theme={'dark' if dark else 'light'}]")
    tab.evaluate(PAINTED)


def words(tab):
    """The caption, once the next frame has been drawn."""
    tab.evaluate(PAINTED)
    assert tab.locator(".ce-problem").inner_text() == ""
    return tab.locator(".ce-caption").inner_text()


def value(tab, css):
    """The number of a slider, once the next frame has been drawn."""
    tab.evaluate(PAINTED)
    return float(tab.locator(css).get_attribute("aria-valuenow"))


def preset(tab, label):
    """Press a preset, and wait until its marks are at rest; return the caption."""
    tab.locator(".ce-presets button", has_text=label).first.click()
    tab.wait_for_function("!document.querySelector('.ce-easing')")
    return words(tab)


def press(tab, css, *keys):
    """Press keys on an element; return the caption."""
    tab.locator(css).first.focus()
    for key in keys:
        tab.keyboard.press(key)
    return words(tab)


def middle(tab, css):
    box = tab.locator(css).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(tab, css, by, start=(0, 0)):
    """Drag by the mouse from an element's middle, or from `start` beside it; return the caption."""
    x, y = middle(tab, css)
    tab.mouse.move(x + start[0], y + start[1])
    tab.mouse.down()
    tab.mouse.move(x + start[0] + by[0], y + start[1] + by[1], steps=6)
    tab.mouse.up()
    return words(tab)


def touch(tab, x, y, by, rest=0):
    """Drag by a finger, which first rests for some milliseconds; return the caption."""
    finger = tab.context.new_cdp_session(tab)

    def send(kind, *points):
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    send("touchStart", {"x": x, "y": y})
    tab.wait_for_timeout(rest)
    for step in range(1, 7):
        send("touchMove", {"x": x + by[0] * step / 6, "y": y + by[1] * step / 6})
    send("touchEnd")
    return words(tab)
