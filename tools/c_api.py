"""c_api.py - reads the public headers, and prints docs/reference/c-api.md: every function by header, with its first sentence.

    python3 tools/c_api.py > docs/reference/c-api.md

tools/site.py imports it for the full pages of the site. The headers are the manual; nothing is written here a second time.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
FAMILIES = [
    ("Operations", ["matmul", "linalg", "fft", "einsum", "conv", "pool", "norm", "attention", "rnn", "elementwise", "reduce", "cumsum", "pad", "graph", "graph_backend"]),
    ("Plans, explanations, settings", ["dispatch", "settings", "status", "interrupt", "verbose"]),
    ("Tensors", ["tensor", "dlpack", "distributed"]),
    ("The machine and its libraries", ["machine", "library", "backends", "version"]),
    ("Providers", ["provider", "network"]),
]
COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
# A comment at the start of a line, a declaration up to its semicolon, or an empty line.
PART = re.compile(r"^/\*(?P<comment>.*?)\*/\n|^(?P<function>BP_API [^;{]*?);|^(?P<type>typedef (?:struct|enum)[^;{]*(?:\{(?:[^{}\n]*|.*?^)\}[^;]*)?;)"
                  r"|^(?P<alias>typedef [^;{]*;)|^(?P<blank>[ \t]*\n)", re.S | re.M)
HEADLINE = re.compile(r"^-{3,} .* -{3,}$|^-+ .+ -+$")


def plain(comment):
    """Returns the text of a comment, without its stars."""
    return re.sub(r"^[ \t]*\*[ \t]?", "", comment, flags=re.M).strip()


def first_sentence(text):
    text = re.sub(r"\s+", " ", text.split("\n\n")[0]).strip()
    found = re.match(r"(.*?[^.\d][.:])(?: [A-Z`*(]|$)", text)
    text = found.group(1) if found else text
    if len(text) > 200:
        text = text[:text.rfind("; ", 0, 200) if "; " in text[:200] else text.rfind(" ", 0, 200)].rstrip(",; ") + " ..."
    return text.rstrip(":.") + ("" if not text else " ..." if text.endswith("...") else ".")


def names(text):
    return re.findall(r"\b(bp_\w+)\(", text)[:1]


def entries(path):
    """Returns (comment, declarations, functions) for each group of a header. Declarations without an empty line between them share a comment."""
    text = path.read_text(encoding="utf-8")
    start = text.find('extern "C" {')
    end = text.rfind("#ifdef __cplusplus")
    body = text[text.find("\n", text.find("#endif", start)) + 1:end] if start >= 0 else ""
    found, comment, new_group = [], "", True
    for part in PART.finditer(body):
        if part["comment"] is not None:
            comment, new_group = plain(part["comment"]), True
            comment = "" if HEADLINE.match(comment) or comment.startswith("clang-format") else comment
        elif part["blank"] is not None:
            comment, new_group = comment if new_group else "", True
        else:
            function = part["function"]
            code = function + ";" if function else part["type"] or part["alias"]
            if new_group:
                found.append((comment, [], []))
            found[-1][1].append(code)
            found[-1][2].extend(names(function) if function else [])
            new_group = False
    return found


def headers():
    """Yields (family, [(path, description)]) of all public headers but the table of settings; paths are relative to include/."""
    paths = {path.stem: path for path in sorted((INCLUDE / "backplane").glob("*.h")) if path.stem != "settings_table"}
    groups = [(family, [paths.pop(name) for name in group if name in paths]) for family, group in FAMILIES]
    groups += [("Others", list(paths.values())), ("C++", sorted(INCLUDE.rglob("*.hpp")))]
    for family, group in groups:
        if group:
            yield family, [(path.relative_to(INCLUDE), about(path)) for path in group]


def about(path):
    """Returns the comment at the head of a header, without the file's name."""
    found = COMMENT.match(path.read_text(encoding="utf-8"))
    return re.sub(r"^\S+\.h(?:pp)? - ", "", plain(found.group(1))) if found else ""


def page():
    yield "# C interface"
    yield ""
    yield "<!-- Made from include/backplane/*.h by tools/c_api.py; change the headers. -->"
    yield ""
    yield "Every function by header, with the first sentence of its comment. The header has arguments, errors, ownership and thread rules next to each declaration."
    yield "Programs include [`backplane.h`](../../include/backplane.h), which includes all of them."
    for family, group in headers():
        yield f"\n## {family}"
        for path, text in group:
            yield f"\n### {path.name}\n"
            yield f"[`{path.name}`](../../include/{path.as_posix()}): {first_sentence(text)}\n"
            rows = [(functions, comment) for comment, _, functions in entries(INCLUDE / path) if functions]
            if not rows:
                continue
            yield "| function | |"
            yield "|---|---|"
            for functions, comment in rows:
                cell = ", ".join(f"`{function}`" for function in functions)
                yield f"| {cell} | {first_sentence(comment).replace('|', chr(92) + '|')} |"


if __name__ == "__main__":
    print("\n".join(page()))
