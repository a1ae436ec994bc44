"""Every link of the pages leads somewhere, and every page is found from docs/index.md. `make docs` checks it, too."""

import re
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
CODE = re.compile(r"^([ \t]*)```.*?^\1```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def prose(page: Path) -> str:
    """Without code, in which brackets mean something else; names in headings and links stay."""
    return CODE.sub(lambda match: "" if "```" in match[0] else match[0].strip("`"), page.read_text())


def anchors(page: Path) -> set[str]:
    """The names that forges and Sphinx give to headings; a second one of the same name gets a number."""
    names: list[str] = []
    for heading in HEADING.findall(prose(page)):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        names.append(f"{slug}-{again}" if (again := names.count(slug)) else slug)
    return set(names)


def broken(page: Path) -> list[str]:
    found = []
    for link in LINK.findall(prose(page)):
        place, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", place):
            continue
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or not target.is_relative_to(ROOT):
            found.append(f"{link}: there is no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            found.append(f"{link}: there is no such heading")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page):
    assert broken(page) == []


def test_a_broken_link_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.docs.test_links.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# The `on_commit` story\n[a](#the-on_commit-story) [b](#no) [c](no.md)\n```\n[d](no.md)\n```\n")
    assert [text.split(":")[0] for text in broken(page)] == ["#no", "no.md"]


def test_every_page_is_in_the_index_and_the_readme_leads_there():
    listed = set(re.findall(r"^- \[[^\]]+\]\(([\w/-]+\.md)\)", (ROOT / "docs/index.md").read_text(), re.MULTILINE))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert pages - listed - {"index.md"} == set(), "add a line for it to docs/index.md"
    assert "docs/index.md" in LINK.findall((ROOT / "README.md").read_text())


def test_no_page_asks_another_site_for_a_picture():
    assert [page.name for page in PAGES if re.search(r"!\[[^\]]*\]\(https?:|<img|<script", prose(page))] == []
