"""The documents say what is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyrua_ros import arguments, paths

ROOT = paths.share()
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_reference_is_what_the_model_is_told() -> None:
    from pyrua_ros.planner.prompt import api_reference

    stored = (ROOT / "docs" / "robo.md").read_text(encoding="utf-8")
    assert stored.strip() == api_reference().strip(), "write it again: ./pyrua api > docs/robo.md"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_document_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+\.md)[^)]*\)", document.read_text(encoding="utf-8"))
    for link in links:
        assert (document.parent / link).exists(), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_argument_that_is_shown_exists(document: Path) -> None:
    known = {argument.name for argument in arguments.arguments()}
    assert set(re.findall(r"\b([a-z_]+):=", document.read_text(encoding="utf-8"))) <= known


def test_every_python_file_that_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![*.\w/])[\w/]+\.py\b", text)) - {"cells/NNN.py"}
    existing = {str(path.relative_to(ROOT / "pyrua_ros")) for path in (ROOT / "pyrua_ros").rglob("*.py")}
    known = existing | {name.rpartition("/")[2] for name in existing}
    assert {name.removeprefix("pyrua_ros/") for name in named} <= known
