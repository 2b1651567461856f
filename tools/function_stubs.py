"""function_stubs.py - writes the stubs of the public functions of Python from their signatures

A signature stands once, in the function. Its annotations say how the result follows from the arguments (python/backplane/_types.pyi); this program
writes the overloads that this means: an array of NumPy gives one of NumPy, and so on. Usage: function_stubs.py [FOLDER], which is the package's
source by default. BACKPLANE_BUILD is the build folder (default: build), whose package is imported.
"""

import importlib
import inspect
import os
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", ROOT / "build")).resolve()
sys.path.insert(0, str(BUILD / "python"))

from backplane._quick import SLOW  # noqa: E402

MODULES = ("elementwise", "fft", "linalg", "nn.functional", "nn.grad", "reduce")
# Functions of the package itself, whose modules have no stubs of this kind. Functions of the extension have their signatures in its stub.
TOP = ("bmm", "cumsum", "dot", "einsum", "gemm", "matmul", "mm", "mv")
TYPING = "Any Callable Dict List Literal NamedTuple Optional Sequence Tuple TypeVar Union".split()
DECIDES = ("Kind", "Mixed", "Steps", "Pair", "Sequence[Kind]", "Sequence[Mixed]")
NUMPY, SAME = "NDArray[Any]", "Same"

# What an argument that decides is, and the kind of the results. Plain arrays have no library of their own.
ROWS = {
    "Kind": (("NDArray[Any]", NUMPY), ("Same", SAME), ("Buffer", "Tensor"), ("Nested", NUMPY)),
    "Mixed": (("NDArray[Any]", NUMPY), ("Plain", "Own"), ("Same", SAME), ("Nested", NUMPY)),
}
PLAIN = {"Kind": "Tensor", "Mixed": "Own"}
PAIRS = (
    ("NDArray[Any]", "Operand", NUMPY),
    ("Union[Number, Plain]", "NDArray[Any]", NUMPY),
    ("Plain", "Union[Number, Plain]", "Tensor"),
    ("Number", "Plain", "Tensor"),
    ("Union[Number, Plain]", "Same", SAME),
    ("Plain", "Operand", "Array"),
    ("Same", "Operand", SAME),
    ("Number", "Nested", NUMPY),
    ("Lists", "Operand", NUMPY),
)
# The element type of a function without an array, and the kind of its result.
TYPES = (("Optional[str]", "Tensor"), ("NumPyType", NUMPY), ("DType", "Array"))
# The first arguments of einsum().
EXPRESSIONS = (
    ("expression: str", "operands: Sequence[{}]", "/"),
    ("expression: str", "first: {}", "/", "*operands: Operand"),
    ("first: {}", "labels: Labels", "/", "*others: Union[Operand, Labels]"),
)


class Form:
    """One overload: changed annotations by the names of the arguments, and the type of the results."""

    def __init__(self, changes, result):
        self.changes, self.result = changes, result

    def and_(self, changes, result=None):
        return Form({**self.changes, **changes}, self.result if result is None else result)


def put(text, kind):
    """Returns a type of results for arrays of a kind."""
    return re.sub(r"\bKind\b", kind, text)


def put_out(text, written):
    return re.sub(r"\bOut\b", written, text)


def among(name, later, result, own):
    """Returns the forms of several arrays; the first one that is not plain decides."""
    forms = [Form({name: "NDArray[Any]"}, put(result, NUMPY))]
    for kind, made in (("NDArray[Any]", NUMPY), (None, PLAIN[own]), ("Same", SAME)):
        for place in range(len(later) if kind else 1):
            before = later if kind is None else later[:place]
            found = {later[place]: kind} if kind else {}
            forms.append(Form({**dict.fromkeys((name, *before), "Plain"), **found}, put(result, made)))
    rest = (("Plain", "Array"), ("Same", SAME), ("Nested", NUMPY))
    return forms + [Form({name: kind}, put(result, made)) for kind, made in rest]


def deciding(kinds, result):
    """Returns the forms that follow from the arguments that decide the kind of the results."""
    names = [name for name, kind in kinds.items() if kind in DECIDES]
    later = [name for name, kind in kinds.items() if kind == "Next"]
    if kinds[names[0]] == "Pair":
        return [Form(dict(zip(names, pair)), put(result, pair[2])) for pair in PAIRS]
    name, outer = names[0], re.sub(r"\w+(\]?)$", r"{}\1", kinds[names[0]])
    own = re.sub(r"Sequence\[(\w+)\]", r"\1", kinds[name])
    if later:
        return among(name, later, result, own)
    forms = [Form({name: outer.format(kind)}, put(result, made)) for kind, made in ROWS["Mixed" if own == "Steps" else own]]
    if own == "Steps":
        packed = re.sub(r"(^|Union\[|\], )Tuple\[Kind", r"\1Tuple[PackedSequence", result)
        forms.insert(0, Form({name: "Packed"}, put(packed, "Array")))  # first, because it is a tuple
    return forms


def by_type(result):
    return [Form({"dtype": kind}, put(result, made)) for kind, made in TYPES]


def split_union(result):
    """Returns the two types of a result that a flag chooses."""
    inside, depth = re.fullmatch(r"Union\[(.*)\]", result).group(1), 0
    for place, letter in enumerate(inside):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            return inside[:place], inside[place + 1 :].strip()
    raise ValueError(result)


def with_out(forms, kinds, result):
    """Returns the forms without an array for the result, and one with it."""
    name = "c" if "c" in kinds else "out"
    out = re.fullmatch(r"Optional\[(.*)\]", kinds.get(name, ""))
    if not out:
        return forms
    given = {name: re.sub(r"Kind|Mixed|Steps|Pair", "Operand", kind) for name, kind in kinds.items() if kind in DECIDES}
    forms = [form.and_({name: "None"}) for form in forms]
    first = re.sub(r"Tuple\[Kind((?:, Kind)+)\]", lambda found: f"Tuple[Out{found.group(1).replace('Kind', 'Array')}]", result)
    written = "Same" if out.group(1).startswith("Sequence") else "Written"  # a tuple of arrays for a tuple of results
    return [*forms, Form({**given, name: put_out(out.group(1), written)}, put(put_out(first, written), written))]


def with_flag(flag, kinds, result, make):
    """Returns the forms with a flag that is False, True, or not known. In the last, only one array decides."""
    first, second = split_union(result)
    unknown = [form for form in make(result) if not any(kinds[name] == "Next" for name in form.changes)]
    return [
        *(form.and_({flag: "Literal[False]"}) for form in make(first)),
        *(form.and_({flag: "Literal[True] *"}) for form in make(second)),
        *(form.and_({flag: "bool"}) for form in unknown),
    ]


def forms(kinds, result):
    """Returns all overloads of a function, whose annotations are these."""

    def make(wanted):
        if "Kind" not in wanted:
            return [Form({}, wanted)]
        made = deciding(kinds, wanted) if any(kind in DECIDES for kind in kinds.values()) else by_type(wanted)
        return with_out(made, kinds, wanted)

    flag = next((name for name, kind in kinds.items() if kind == "Flag"), None)
    return with_flag(flag, kinds, result, make) if flag else make(result)


# ---- Text ----


def parameters(signature, form):
    """Returns the text of the parameters. A flag that is True follows the star, because those before it have defaults."""
    last = next((name for name, kind in form.changes.items() if kind.endswith(" *")), None)
    given = [one for one in signature.parameters.values() if one.name != last]
    given += [signature.parameters[last].replace(kind=inspect.Parameter.KEYWORD_ONLY)] if last else []
    parts, star = [], False
    for place, one in enumerate(given):
        if one.kind == one.KEYWORD_ONLY and not star and given[0].kind != one.VAR_POSITIONAL:
            parts.append("*")
            star = True
        kind = form.changes.get(one.name, str(one.annotation)).replace(" *", "")
        kind = {"_Settings": "SettingsArgument"}.get(kind, "Operand" if kind in ("Next", "Pair", "Mixed", "Steps") else kind)
        chosen = one.name in form.changes and kind != "None" and not kind.startswith("Optional") and one.default is None
        required = one.default is one.empty or one.name == last or chosen
        parts.append(f"{one.name}: {kind}" + ("" if required else f" = {one.default!r}"))
        following = given[place + 1].kind if place + 1 < len(given) else None
        if one.kind == one.POSITIONAL_ONLY and following != one.POSITIONAL_ONLY:
            parts.append("/")
    return parts


def lines(name, parts, result):
    """Returns the lines of an overload, which are broken between parameters alone."""
    parts = ", ".join(one.replace(" ", "\0") for one in parts)
    end = f") -> {result}: ...".replace(" ", "\0")
    text = textwrap.wrap(f"def\0{name}({parts}{end}", 138, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(text).replace("\0", " ")


def einsum(name, signature):
    """Returns the overloads of a function whose first arguments are an expression and arrays, or arrays and labels."""
    text = ""
    for first in EXPRESSIONS:
        for kind, result in (*ROWS["Mixed"], ("Operand", "Written")):
            own = parameters(signature, Form({"out": "Written" if result == "Written" else "None"}, result))
            own[0] = ", ".join(first).format(kind)
            own[0] += "" if "*" in own[0] else ", *"
            text += f"@overload\n{lines(name, own, result)}\n"
    return text


def signature_of(name, value):
    """Returns the signature of a function; the signature of one of the extension from the extension's stub."""
    value = SLOW.get(value, value)
    if not inspect.isbuiltin(value):
        return inspect.signature(value)
    stub = (ROOT / "python/backplane/_core.pyi").read_text()
    found = {}
    exec("from __future__ import annotations\n" + re.search(rf"^def {name}\((?:.|\n)*?: \.\.\.$", stub, re.M).group(0), found)
    return inspect.signature(found[name])


def function(name, value, generic):
    signature = signature_of(name, value)
    if any(one.kind == one.VAR_POSITIONAL for one in signature.parameters.values()):
        return einsum(name, signature)
    kinds = {each.name: str(each.annotation) for each in signature.parameters.values()}
    result = str(signature.return_annotation)
    result = f"{result}[Kind]" if result in generic else result
    made = forms(kinds, result)
    head = "@overload\n" if len(made) > 1 else ""
    return "".join(f"{head}{lines(name, parameters(signature, form), form.result)}\n" for form in made)


def record(kind):
    """Returns the class of results of several arrays. It is generic in the stub alone, because Python 3.9 and 3.10 have no such classes."""
    return f"class {kind.__name__}(NamedTuple, Generic[Made]):\n" + "".join(f"    {field}: Made\n" for field in kind._fields) + "\n"


def records(functions):
    """Returns the classes of results by name, in the order of their use."""
    found = {}
    for value in functions:
        value = SLOW.get(value, value)
        name = "" if inspect.isbuiltin(value) else str(inspect.signature(value).return_annotation)
        kind = vars(sys.modules[inspect.unwrap(value).__module__]).get(name) if name.isidentifier() else None
        if isinstance(kind, type) and issubclass(kind, tuple):
            found[name] = kind
    return found


def imports(text, dots):
    words = set(re.findall(r"\w+", text))
    shared = (ROOT / "python/backplane/_types.pyi").read_text()
    names = set(re.findall(r"^(\w+) =|^class (\w+)|import .* as (\w+)$", shared, re.M))
    types = sorted({one for each in names for one in each if one} & words)
    typing = [one for one in [*TYPING, "Generic", "overload"] if one in words]
    lines = [f"from typing import {', '.join(sorted(typing, key=str.lower))}\n\n"]
    if "PackedSequence" in words:
        lines.append("from ._packed import PackedSequence\n")
    lines.append(f"from {dots}_types import {', '.join(types)}\n")
    return "".join("\n".join(textwrap.wrap(line, 138)) + "\n" if len(line) < 138 else wrap_import(line) for line in lines)


def wrap_import(line):
    head, names = line.strip().split(" import ")
    return f"{head} import (\n{textwrap.fill(names, 134, initial_indent='    ', subsequent_indent='    ')}\n)\n"


def stub(name):
    """Returns the stub of a module, or of the functions of the package itself."""
    module = importlib.import_module("backplane" + (f".{name}" if name else ""))
    names = [*module.__all__] if name else [*TOP]
    functions = {each: vars(module)[each] for each in names if callable(vars(module)[each]) and not isinstance(vars(module)[each], type)}
    others = [each for each in names if each not in functions]
    generic = records(functions.values())
    body = "".join(record(kind) for kind in generic.values())
    body += "\n".join(function(each, value, generic) for each, value in functions.items())
    head = f'"""Types of backplane{"." * bool(name)}{name}. Written by tools/function_stubs.py from the signatures (make docs)."""\n\n'
    extra = {"LinAlgError": "from ._core import LinAlgError as LinAlgError\n", "plan_cache": "from ._plan_cache import PlanCache\n"}
    last = "\nplan_cache: PlanCache\n" if "plan_cache" in others else ""
    listed = f"\n__all__ = {names!r}\n".replace("'", '"') if name else ""
    listed = "\n".join(textwrap.wrap(listed.strip(), 138, subsequent_indent="    ")) + "\n\n" if listed else ""
    return head + imports(body, ".." if "." in name else ".") + "".join(extra[each] for each in others) + "\n" + listed + body + last


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "python/backplane"
    for name in MODULES:
        path = folder / f"{name.replace('.', '/')}.pyi"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(stub(name))
    (folder / "_typed.pyi").write_text(stub(""))


if __name__ == "__main__":
    main()
