"""The site's pages that are made from the package, and its first page. `make site` itself checks links and builds the whole."""

import importlib.util
import re
import sys

import pytest
from conftest import ROOT

import backplane as bp

sys.path.insert(0, str(ROOT / "tools"))
import site_python  # noqa: E402

PAGES = {path.as_posix(): text for path, text in site_python.pages(bp)}
FOLDER = "docs/reference/python-modules"


@pytest.fixture(scope="module")
def maker():
    """tools/site.py, whose name is a module of Python's."""
    spec = importlib.util.spec_from_file_location("backplane_site", ROOT / "tools/site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_code(text):
    return re.sub(r"^```.*?^```|`[^`]+`", "", text, flags=re.S | re.M)


def test_each_function_has_an_entry():
    for name, module in site_python.modules(bp).items():
        headings = set(re.findall(r"^## (.*)$", PAGES[site_python.page_of(name).as_posix()], re.M))
        callables = {public for public in dir(module) if callable(getattr(module, public))}
        assert {name.replace("_", r"\_") for name in callables} <= headings, name
    assert len(PAGES) > 35 and f"{FOLDER}/backplane_backends_xeon_run_cpu.md" in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_markdown_is_sound(page):
    text = PAGES[page]
    assert text.count("```") % 2 == 0 and text.startswith("# backplane")
    plain = without_code(text)
    assert not re.search(r"(?<!\\)[<>*_|\[\]]|``|>>>", plain.replace("**", "")), page


def test_signatures_texts_and_examples():
    text = PAGES[f"{FOLDER}/backplane_linalg.md"]
    assert "```python\nsolve(A, B, *, left=True, out=None, settings=None)\n```" in text
    assert "```python\n>>> backplane.linalg.solve([[2, 0], [0, 4]], [2, 2])\narray([1. , 0.5])\n```" in text
    assert "\n- LinAlgError: the operation fails" in text
    top = PAGES[f"{FOLDER}/backplane.md"]
    assert r"### record.to\_dict" in top and "Fields: `id`, `family`" in top and "`float32`" in top


def test_the_first_page(maker):
    text = maker.landing()
    assert text.startswith(f"# Backplane {bp.__version__}\n") and text.count("grid-item-card") == 3 and "{version}" not in text
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert len(targets) > 15 and all((ROOT / target).exists() for target in targets)
    listed = set(re.findall(r"<([^>]+)>$", text, re.M))
    assert {"docs/tasks.md", "docs/how-to/python-packages.md", f"{FOLDER}/backplane_linalg.md"} <= listed


def test_pages_that_load_something_are_found(maker):
    for text in ('<script src="https://x/y.js">', "<img alt='' src='//x/y.png'>", '<link rel="stylesheet" href="http://x/y.css">'):
        assert maker.LOADED.search(text)
    for text in ('<script src="_static/y.js">', '<a href="https://x/">', '<link rel="stylesheet" href="../y.css">'):
        assert not maker.LOADED.search(text)
