"""site.py - builds the documentation as a static site into build/site, with Sphinx and MyST. `make site` installs them and runs it.

The pages link to each other as they are in the repository. So they are copied into build/site-source in the same folders, with the
headers and examples that they link to, a page for each header, made from its comments, and one for each module of Python, made from the
docstrings of the package in the build folder. A dead link or anchor fails the build, and so does a page that loads something from a network.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import c_api
import site_files
import site_python

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
sys.path.insert(0, str(BUILD / "python"))
import backplane  # noqa: E402

SOURCE, SITE = BUILD / "site-source", BUILD / "site"
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
LOADED = re.compile(r"""<(?:script|img|iframe)[^>]+src=["'](?:https?:)?//|<link[^>]+rel=["'](?:stylesheet|preload)["'][^>]+href=["'](?:https?:)?//""")
CONFIG = """project = "Backplane"
release = version = "{version}"
extensions = ["myst_parser", "sphinx_design"]
myst_enable_extensions = ["colon_fence"]
root_doc = "index"
html_theme = "furo"
html_title = "Backplane {version}"
html_copy_source = False
html_show_copyright = False
myst_heading_anchors = 6
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
"""


def escaped(text):
    return re.sub(r"([\\`*_<>\[\]|#])", r"\\\1", text)


def prose(comment):
    """A comment as Markdown: paragraphs and lists; lines that are indented stay as they are."""
    for paragraph in re.split(r"\n[ \t]*\n", comment):
        lines, code, listed = [], False, False
        for line in paragraph.split("\n"):
            item = re.match(r"^ *[-*] +(.*)", line)
            if item:
                lines += ([] if listed else [""]) + ["- " + escaped(item.group(1))]
                code, listed = False, True
            elif line.startswith("   ") and not listed:
                lines += ([] if code else [""]) + ["    " + line.rstrip()]
                code = True
            else:
                lines += ([""] if code else []) + [("  " if listed else "") + escaped(line.strip())]
                code = False
        yield "\n".join(lines)


def page_of_header(path):
    """Returns the page of a header below include/, relative to the root."""
    return "docs/reference/c/" + path.name.replace(".", "_") + ".md"


def header_page(path, text):
    yield f"# {path.name}\n"
    yield "\n\n".join(prose(text)) + "\n"
    for comment, declarations, functions in c_api.entries(c_api.INCLUDE / path):
        yield f"## {', '.join(functions)}\n" if functions else ""
        yield "```c\n" + "\n".join(text.replace("BP_API ", "").strip() for text in declarations) + "\n```\n"
        yield "\n\n".join(prose(comment)) + "\n"


def to_pages(text, page):
    """Returns the text with links to headers replaced by links to their pages."""
    described = [path for _, known in c_api.headers() for path, _ in known]

    def page_of(match):
        target = os.path.normpath(page.parent / match.group(1))
        header = pathlib.PurePath(target).relative_to("include") if target.startswith("include/") else None
        if "://" in match.group(1) or header not in described:
            return match.group(0)
        return f"]({os.path.relpath(page_of_header(header), page.parent)})"

    return LINK.sub(page_of, text)


def contents(title, pages):
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", ""])


def navigation():
    """The tables of contents: the groups of docs/index.md, the decisions, the headers, and the pages about the project."""
    yield contents("Start", ["Tasks <docs/tasks.md>", "About Backplane <README.md>", "All pages <docs/index.md>"])
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    for group, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", index, re.S | re.M):
        yield contents(group, [f"{title} <{os.path.normpath('docs/' + target)}>" for title, target in re.findall(r"^\| \[([^]]*)\]\(([^)]*)\)", body, re.M)])
    decisions = (ROOT / "docs/explanation/decisions.md").read_text(encoding="utf-8")
    yield contents("Decisions", [f"docs/explanation/{target}" for target in re.findall(r"^- \[[^]]*\]\(([^)]*)\)", decisions, re.M)])
    yield contents("Python modules", [f"{name} <{site_python.page_of(name)}>" for name in site_python.modules(backplane)])
    yield contents("C headers", [f"{path.name} <{page_of_header(path)}>" for _, known in c_api.headers() for path, _ in known])
    yield contents("Project", ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md",
                               "Example data <examples/data/README.md>", "Example provider <examples/provider/README.md>"])


def stage():
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    for name in site_files.COPIED:
        (SOURCE / name).parent.mkdir(exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, SOURCE / name)
    (SOURCE / "docs/reference/c").mkdir()
    for _, known in c_api.headers():
        for path, text in known:
            (SOURCE / page_of_header(path)).write_text("\n".join(header_page(path, text)), encoding="utf-8")
    (SOURCE / site_python.FOLDER).mkdir()
    for path, text in site_python.pages(backplane):
        (SOURCE / path).write_text(text, encoding="utf-8")
    for page in sorted(SOURCE.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        page.write_text(to_pages(text, page.relative_to(SOURCE)), encoding="utf-8")


def landing():
    """The first page: what there is for each kind of reader, and the tables of contents."""
    return (ROOT / "tools/site/index.txt").read_text(encoding="utf-8").format(version=backplane.__version__) + "".join(navigation())


def loading_pages():
    """Returns the pages of the site that load something from a network."""
    return [page.relative_to(SITE) for page in sorted(SITE.rglob("*.html")) if LOADED.search(page.read_text(encoding="utf-8"))]


def main():
    stage()
    (SOURCE / "conf.py").write_text(CONFIG.format(version=backplane.__version__), encoding="utf-8")
    (SOURCE / "index.md").write_text(landing(), encoding="utf-8")
    shutil.rmtree(SITE, ignore_errors=True)
    status = subprocess.call([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-d", BUILD / "site-cache", SOURCE, SITE])
    loading = loading_pages()
    if loading:
        sys.exit(f"pages that load something from a network: {', '.join(map(str, loading))}")
    sys.exit(status)


if __name__ == "__main__":
    main()
