"""site_python.py - makes the site's pages of the Python interface, one for each public module, from the docstrings of the built package."""
import importlib
import inspect
import pathlib
import re
import types

FOLDER = pathlib.PurePath("docs/reference/python-modules")
APART = ("backends.xeon.run_cpu",)  # public modules that the package imports only when they are used


def modules(package):
    """Returns the public modules that dir() reaches from the package, by name."""
    for name in APART:
        importlib.import_module(f"{package.__name__}.{name}")
    found, rest = {}, [package]
    while rest:
        module = rest.pop()
        found[module.__name__] = module
        inside = (getattr(module, name, None) for name in dir(module))
        rest += [one for one in inside if inspect.ismodule(one) and one.__name__.startswith(f"{module.__name__}.") and one.__name__ not in found]
    return dict(sorted(found.items()))


def page_of(name):
    """Returns the page of a module, relative to the root."""
    return FOLDER / (name.replace(".", "_") + ".md")


def escaped(text):
    """A line of a docstring as Markdown: ``code`` is code, and all else has no marks."""
    pieces = re.split(r"``(.+?)``", text)
    return "".join(f"`{piece}`" if i % 2 else re.sub(r"([\\`*_<>\[\]|#~$])", r"\\\1", piece) for i, piece in enumerate(pieces))


def example(paragraph):
    return ["```python", *paragraph, "```"]


def text(paragraph):
    """Lines of text. One that begins with a word and a colon is a paragraph, as Shapes and Errors are, and an indented one a list's item."""
    for line in paragraph:
        if line.startswith("    "):
            yield f"- {escaped(line.strip())}"
        else:
            yield from ([""] if re.match(r"[A-Z]\w+:", line) else [])
            yield escaped(line)
            yield from ([""] if line.endswith(":") else [])


def markdown(docstring):
    """A docstring as Markdown."""
    blocks = [block.split("\n") for block in re.split(r"\n[ \t]*\n", inspect.cleandoc(docstring if isinstance(docstring, str) else "").strip())]
    written = []
    for lines in blocks:
        lines = inspect.cleandoc("\n".join(lines)).split("\n") if lines[0].startswith("    >>>") else lines
        written.append("\n".join(example(lines) if lines[0].startswith(">>>") else text(lines)))
    return "\n\n".join(written).strip() + "\n"


def signature(function):
    """The names and defaults of the arguments. Annotations are left out: the text says what the arguments are."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def entry(name, function):
    yield f"## {escaped(name)}\n"
    yield f"```python\n{name}{signature(function)}\n```\n"
    yield markdown(function.__doc__)


def class_entry(name, kind):
    yield f"## {escaped(name)}\n"
    yield markdown(kind.__doc__)
    fields = getattr(kind, "_fields", ())
    if fields:
        yield "Fields: " + ", ".join(f"`{field}`" for field in fields) + "\n"
    for member, value in sorted(vars(kind).items()):
        if member.startswith("_") or member in fields or not (inspect.getdoc(value) or "").strip():
            continue
        if isinstance(value, (property, types.GetSetDescriptorType, types.MemberDescriptorType)):
            yield f"### {escaped(f'{name}.{member}')}\n\n{markdown(value.__doc__)}"
        elif callable(getattr(kind, member)):
            yield f"### {escaped(f'{name}.{member}')}\n\n```python\n{member}{signature(getattr(kind, member))}\n```\n\n{markdown(value.__doc__)}"


def module_page(name, module):
    """Returns the page of a module: its text, its functions and classes, and the names of all else."""
    yield f"# {escaped(name)}\n"
    yield markdown(module.__doc__)
    others = []
    for public in dir(module):
        value = getattr(module, public)
        if inspect.isclass(value):
            yield from class_entry(public, value)
        elif callable(value):
            yield from entry(public, value)
        else:
            others.append(f"`{public}`")
    if others:
        yield "## Other names\n\n" + ", ".join(others) + "\n"


def pages(package):
    """Yields the path and the text of each page, relative to the root."""
    for name, module in modules(package).items():
        yield page_of(name), "\n".join(module_page(name, module))
