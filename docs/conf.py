"""How Sphinx builds these pages: `make docs`. A broken link, a page that nobody finds or a foreign request fails it."""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

project = "Jobyard"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Jobyard"
html_copy_source = False
html_show_sphinx = False
pygments_style, pygments_dark_style = "friendly", "native"
myst_heading_anchors = 4  # named as on the forges that show these files
suppress_warnings = ["misc.highlighting_failure"]  # what a terminal shows is no code

SECTION = re.compile(r"^## (.+?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
PAGE = re.compile(r"^- \[[^\]]+\]\(([\w/-]+)\.md\)", re.MULTILINE)
FOREIGN = re.compile(
    r"<(?:script|img|iframe|link(?![^>]*rel=.canonical))[^>]*(?:src|href)=.https?://[^>]*>|url\(.?https?:"
)


def navigation(app: Sphinx, name: str, source: list[str]) -> None:
    """The sections of index.md are the navigation: it is written once, and reads well without Sphinx, too."""
    if name == "index":
        for caption, section in SECTION.findall(source[0]):
            pages = "\n".join(PAGE.findall(section))
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n"


def refuse_foreign_requests(app: Sphinx, error: Exception | None) -> None:
    """Who reads these pages is nobody else's business: no fonts, scripts or pictures of other sites."""
    built = [*Path(app.outdir).rglob("*.html"), *Path(app.outdir).rglob("*.css")]
    found = [f"{path.name}: {match[0]}" for path in built for match in FOREIGN.finditer(path.read_text())]
    for each in found:
        logger.warning("this page would ask another site: %s", each)


def setup(app: Sphinx) -> None:
    app.connect("source-read", navigation)
    app.connect("build-finished", refuse_foreign_requests)
