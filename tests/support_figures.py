"""What tests ask of figures: that none stays open in pyplot, that nothing is cut off."""

import sys


def left_open() -> list[int]:
    """Return the numbers of open pyplot figures, without importing pyplot."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot.get_fignums() if pyplot else []


def overhang(figure) -> float:
    """How far, in pixels, what is drawn reaches beyond the figure's edge."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer, edge = canvas.get_renderer(), figure.bbox
    boxes = [axes.get_tightbbox(renderer) for axes in figure.axes]
    return max(
        max(edge.x0 - box.x0, box.x1 - edge.x1, edge.y0 - box.y0, box.y1 - edge.y1) for box in boxes
    )
