"""How Sphinx builds the site. `tools/site/build.py` prepares the pages and calls it."""

from __future__ import annotations

import os
from pathlib import Path

import course_utils

HERE = Path(__file__).resolve().parent

project = "Attention, a course that runs"
author = "The attention course authors"
copyright = f"{author}. Text: CC BY 4.0; code: MIT"
release = course_utils.__version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "tools.site.mathematics",
    "tools.site.docstrings",
]
html_math_renderer = "mathml"

nb_execution_mode = "off"
nb_merge_streams = True
# What answers a prediction waits behind this word; kit/predict.js opens it after the guess.
nb_code_prompt_show = nb_code_prompt_hide = "Output"
nb_render_markdown_format = "myst"  # as the text beside it: the axis letters are a table
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 3
# A lecture's small headings follow its title directly: in a notebook they are sized for a cell.
# A field named like a type (bytes) could be what an annotation means; it is not.
suppress_warnings = ["myst.header", "ref.python"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Class attributes", "Attributes")]
default_role = "code"
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = project
html_static_path = [str(HERE / "static")]
html_favicon = str(HERE / "static" / "icon.svg")
html_extra_path = [os.environ["COURSE_SITE_EXTRA"]]
html_css_files = ["course.css"]
html_js_files = [("../live/live.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None
html_domain_indices = False
html_use_index = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "github-dark"
html_theme_options = {"navigation_with_keys": False, "top_of_page_buttons": []}


def _name_level(_app, _page, _template, context, _doctree) -> None:
    """The theme calls the captions of its sidebar headings, but not of which level."""
    key = "furo_navigation_tree"
    context[key] = context.get(key, "").replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app) -> None:
    """After the theme has made its sidebar."""
    app.connect("html-page-context", _name_level, priority=900)
