"""Notebooks made for a test: what a lecture would not contain."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from tools.editions.notebook_outputs import KERNEL

# The way most courses do it, for comparison: a figure made anew for every step.
INTERACT = """
%matplotlib inline
import matplotlib.pyplot as plt
import numpy as np
from ipywidgets import IntSlider, interact

x = np.linspace(0, 6, 200)

@interact(k=IntSlider(5, 0, 400))
def wave(k):
    figure, axes = plt.subplots(figsize=(8, 4), dpi=100)
    axes.plot(x, np.sin(k * x / 20))
    axes.set(xlabel="x", ylabel="sin", ylim=(-1.1, 1.1))
    axes.text(0.02, 0.95, f"k = {k}", transform=axes.transAxes)
    plt.show()
"""

# The same figure with the course's engine.
EXPLORER = """
from types import SimpleNamespace
import numpy as np
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Slider

x = np.linspace(0, 6, 200)

class Wave(DrawnExplorer):
    title = "A wave"
    inputs = {"k": Slider("wave number k", 0, 400, 1, 5)}
    size = (8.0, 4.0)

    def compute(self, k):
        return SimpleNamespace(k=k, y=np.sin(k * x / 20))

    def draw(self, figure, state):
        axes = figure.subplots()
        (self.line,) = axes.plot(x, state.y)
        axes.set(xlabel="x", ylabel="sin", ylim=(-1.1, 1.1))
        self.note = axes.text(0.02, 0.95, "", transform=axes.transAxes)
        self.animate(self.line, self.note)

    def update(self, state):
        self.line.set_ydata(state.y)
        self.note.set_text(f"k = {state.k}")

    def caption(self, state):
        return f"The sine of {state.k} x / 20, from 0 to 6."

Wave()
"""

# A cell that draws for a few seconds, while the reader goes on playing with the slider above.
DRAWS_FOR_A_WHILE = """
import time
from matplotlib.figure import Figure
from course_utils.explorers.show import AnnotatedFigure, show

for n in range(12):
    figure = Figure(figsize=(4, 2))
    figure.subplots().plot([0, n + 1], [0, 1])
    show(AnnotatedFigure(figure, f"Figure {n}: a line that rises to the right, to one."))
    time.sleep(0.25)
"""
FIGURES_DRAWN = 12


def write_notebook(path: Path, *sources: str) -> str:
    """Write a notebook with these code cells; return its name."""
    notebook = new_notebook(cells=[new_code_cell(source.strip()) for source in sources])
    notebook.metadata["kernelspec"] = dict(KERNEL)
    nbformat.write(notebook, path)
    return path.name
