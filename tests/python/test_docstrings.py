"""Help of the public functions: each says what it does, shapes, element types, defaults and errors, and has an example that runs. What the
help says of element types and errors is compared with what the functions do."""

import array
import doctest
import inspect
import re

import numpy as np
import pytest

import backplane as bp

MODULES = (bp.elementwise, bp.fft, bp.linalg, bp.nn.functional, bp.nn.grad, bp.reduce)
FUNCTIONS = {
    f"{module.__name__.partition('.')[2]}.{name}": getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if inspect.isroutine(getattr(module, name))
}
FUNCTIONS.update({name: getattr(bp, name) for name in ("einsum", "rand", "randn")})
PARTS = ("Shapes: ", "Types: ", "Defaults: ", "Errors:", "Example:")
EXCEPTIONS = ("BadTypeError", "BadValueError", "Error", "LinAlgError", "MemoryError")


def lines_of(name):
    return inspect.getdoc(FUNCTIONS[name]).split("\n")


def missing(text):
    """Returns what a help lacks."""
    lines = text.strip().split("\n")
    sentence = " ".join("\n".join(lines).split("\n\n")[0].split())
    found = [part for part in PARTS if sum(line.startswith(part) for line in lines) != 1]
    found += [] if re.match(r"[A-Z][a-z]+s\b.*[.:`]", sentence) else ["a sentence"]
    errors = re.findall(r"^    (\w+)(?:, an? \w+)?: \S.*[^.]\.$", text, re.MULTILINE)
    found += [] if errors and all(error in EXCEPTIONS for error in errors) else ["an exception of each error"]
    return found + ([] if re.search(r"^>>> ", text, re.MULTILINE) else ["an example"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_help_has_all_parts(name):
    assert missing(inspect.getdoc(FUNCTIONS[name])) == []


def test_a_part_that_is_missing_is_found():
    whole = inspect.getdoc(bp.linalg.inv)
    for part in PARTS:
        assert part in missing(whole.replace(part, "Else: ", 1)), part
    assert missing(whole.replace(">>>", "...")) == ["an example"] and missing(whole.replace("BadTypeError", "TypeError"))
    assert missing(whole.replace("Computes", "the"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_defaults_are_those_of_the_signature(name):
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    line, = (line for line in lines_of(name) if line.startswith("Defaults: "))
    for parameter in parameters:
        given = parameter.default is not parameter.empty
        assert given == (f"``{parameter.name}`` {parameter.default!r}" in line), parameter


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_runs(name):
    names = {"np": np, "backplane": bp, "array": array.array, "einsum": bp.einsum, **{each: getattr(bp.fft, each) for each in bp.fft.__all__}}
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(FUNCTIONS[name]), names, name, None, 0)
    assert test.examples and doctest.DocTestRunner().run(test).failed == 0


# ---- What the help says, and what the functions do ----

# The functions that take no array of numbers first, or any, or NumPy's arrays of any type.
FREE = {"fft.fftfreq", "fft.rfftfreq", "fft.fftshift", "fft.ifftshift", "rand", "randn", "elementwise.concat", "einsum", "linalg.multi_dot",
        "linalg.cross", "linalg.diagonal", "linalg.trace", "linalg.matrix_transpose", "linalg.vander", "nn.functional.embedding"}


def values_of(function):
    """Returns wrong values for the parameters that are needed."""
    parameters = inspect.signature(function).parameters.values()
    return [object() for one in parameters if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD or one.kind is one.POSITIONAL_ONLY
            and one.default is one.empty]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in FREE])
def test_what_is_no_array_is_a_type_error(name):
    function = FUNCTIONS[name]
    words = {"upper": True} if name.endswith("solve_triangular") else {}
    with pytest.raises((TypeError, ValueError)):
        function(*values_of(function), **words)


TYPES = ("f16", "bf16", "f32", "f64", "c64", "c128", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool")
ONE_ARRAY = [name for name in FUNCTIONS if len(values_of(FUNCTIONS[name])) == 1 and name not in FREE and "solve" not in name]


@pytest.mark.parametrize("name", ONE_ARRAY)
def test_the_types_are_those_that_are_accepted(name):
    """Functions of one array, and tensors of the package, which no function of NumPy converts."""
    line, = (line for line in lines_of(name) if line.startswith("Types: "))
    function = FUNCTIONS[name]
    for kind in TYPES:
        x = bp.zeros((2, 2), dtype=kind)
        try:
            function(x)
            accepted = True
        except bp.BadTypeError:
            accepted = False
        except (bp.Error, TypeError):  # such as of a singular matrix: the type is not what is wrong
            accepted = None
        named = line.startswith("Types: all") or bool(re.search(rf"\b{kind}\b", line))
        converted = kind[0] in "iub" and kind != "bf16" and "ntegers" in line  # which the help says in words
        if accepted is not None and (named or not converted):
            assert accepted == named, kind
