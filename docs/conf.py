"""Settings of the documentation site: `make docs`."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

import wm

_MADE = "model_config, model_post_init, set_fit_request, set_score_request, get_metadata_routing"
"""Members that pydantic and scikit-learn add to classes."""

project = "treeproof"
author = "the authors of treeproof"
copyright = author
release = wm.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_click",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]

myst_heading_anchors = 3
# Docstrings write names in single backticks, as they are in numpy's own documentation.
default_role = "literal"
smartquotes = False  # it turns the dashes of options into others
autodoc_default_options = {"members": True, "exclude-members": _MADE}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autosummary_generate = True
napoleon_google_docstring = False
napoleon_use_rtype = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"treeproof {release}"
html_copy_source = False
html_show_sphinx = False
# Without the prompt; output is not copied.
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"


def _at_home(_app: Sphinx, name: str, source: list[str]) -> None:
    """Let links to documents at the root of the repository lead to their pages here."""
    up = "../" * name.count("/")
    source[0] = re.sub(
        r"\]\((?:\.\./)+(CONTRIBUTING|CHANGELOG)\.md\)",
        lambda found: f"]({up}project/{found[1].lower()}.md)",
        source[0],
    )


def setup(app: Sphinx) -> None:
    """Connect to the builder."""
    app.connect("source-read", _at_home)
