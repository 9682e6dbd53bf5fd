"""An explorer on a page of its own: its words, and where a hand takes hold of it."""

CAPTION = ".ce-caption"
DARK = "document.body.style.background = '#12161d'"


def words(tab):
    """The caption, once the next frame has been drawn."""
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    assert tab.locator(".ce-problem").inner_text() == ""
    return tab.locator(CAPTION).inner_text()


def middle(tab, css):
    box = tab.locator(css).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(tab, css, by, start=(0, 0)):
    x, y = middle(tab, css)
    tab.mouse.move(x + start[0], y + start[1])
    tab.mouse.down()
    tab.mouse.move(x + start[0] + by[0], y + start[1] + by[1], steps=6)
    tab.mouse.up()
