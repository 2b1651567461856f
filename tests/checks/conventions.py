"""Checks that the functions and structs of the public headers follow the conventions of docs/explanation/decisions/interface_conventions.md:
who writes a tensor, the type and the names of axes, and the order of arguments."""

import re

import common

DECLARED = re.compile(r"\bBP_API\s+[^;{}()]*?\b(bp_\w+)\s*\(([^;{}]*)\)\s*;")
STRUCT = re.compile(r"typedef struct (bp_\w+_call|bp_einsum_\w+|bp_contraction_\w+) \{([^}]*)\}")
# Copies have the destination first, as memcpy, printing reads only, and so does what adds a constant to a graph.
COPIES = {"include/backplane/tensor.h", "include/backplane/device.h", "include/backplane/graph.h"}
# What the caller releases or leaves, and a view that is unmapped.
MADE = re.compile(r"bp_\w+ \*\*\w+$|DLManagedTensorVersioned \*\*\w+$|bp_view \*view$")
TENSOR = re.compile(r"(?:const )?DLTensor \*\w+$")
PLANNING = ("_plan", "_explain", "_shape", "_dtype", "_write")
COUNTS = {"axes": "axis_count", "tensors": "count", "operands": "count", "shape": "ndim"}
OTHER_WORDS = {"dim": "axis", "dims": "axes", "out": "output", "in": "input", "keepdim": "keep"}
TYPES = {"axis": ("int axis",), "axes": ("const int *axes",), "axis_count": ("int axis_count",), "ndim": ("int ndim", "int *ndim")}


def arguments_of(text):
    """The arguments of a declaration; a function that is an argument is one."""
    depth, found, start = 0, [], 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append(text[start:at])
            start = at + 1
    return [" ".join(one.split()) for one in [*found, text[start:]]]


def name_of(argument):
    return (re.findall(r"\w+", argument.partition("(")[0]) or [""])[-1]


def check_order(arguments):
    """What is made is first, then the options, and the output is the last tensor."""
    for index, argument in enumerate(arguments):
        if MADE.match(argument) and index > 0:
            yield f"{argument} is argument {index + 1}; what the caller releases is the first one"
    options = "const bp_options *options"
    if options in arguments and arguments.index(options) != int("**" in arguments[0]):
        yield f"options are argument {arguments.index(options) + 1}; they stand behind what is made, before all else"
    names = [name_of(argument) for argument in arguments]
    for listed, count in COUNTS.items():
        if listed in names and count in names and names.index(count) > names.index(listed) and arguments[names.index(count)] != "int *ndim":
            yield f"{listed} stands before {count}; a count stands before its list"


def check_tensors(name, arguments):
    """Functions that compute write their last tensors; those that plan, or write to a file, write none."""
    tensors = [argument for argument in arguments if TENSOR.match(argument)]
    constant = [argument.startswith("const") for argument in tensors]
    if name.endswith(PLANNING):
        if not all(constant):
            yield f"{tensors[constant.index(False)]} is not const; it plans, and writes no tensor"
    elif tensors and constant[-1]:
        yield f"{tensors[-1]} is const; the last tensor is the output"
    elif sorted(constant, reverse=True) != constant:
        yield "an input stands behind an output"


def check_words(arguments):
    for argument in arguments:
        word = name_of(argument)
        if word in OTHER_WORDS:
            yield f"{word} is the name of {argument}; it must be {OTHER_WORDS[word]}"
        if argument not in TYPES.get(word, (argument,)):
            yield f"{argument} must be {' or '.join(TYPES[word])}"
        if re.match(r"(const )?int32_t\b", argument) and word != "place":
            yield f"{argument} must be int; only the place of a device has a fixed width, as in bp_problem"


def check_struct(body):
    """Outputs and the gradients that a pass computes are not const, inputs and the gradients by outputs are. Operands that a struct has in
    one array cannot be both."""
    for line in (" ".join(line.split()) for line in body.split(";")):
        for word in re.findall(r"(\w+)(?:\[\w*\])?(?=,|$)", line):
            given = re.match(r"input$|(output|final_\w+)_gradient$", word)
            written = word == "output" or word.endswith("_gradient") and not given
            if word == "operand" and "DLTensor *" in line:
                yield "operand has inputs and outputs; each has a field of its own"
            if "DLTensor *" in line and (written or given) and written == line.startswith("const"):
                yield f"{word} is {'const, and a pass writes it' if written else 'not const, and no pass writes it'}"
        names = [name_of(part) for part in line.split(",")]
        yield from check_words([line] if "int32_t" in line or {*names} & {*OTHER_WORDS, *TYPES} else [])


def main():
    failures, checked = [], 0
    for path in common.sources("include", "*.h"):
        code = common.code_of(path)
        for match in DECLARED.finditer(code):
            name, arguments = match.group(1), arguments_of(match.group(2))
            found = [*check_order(arguments), *check_words(arguments)]
            found += [] if str(path) in COPIES else check_tensors(name, arguments)
            failures += [f"{path}:{common.line_of(code, match.start(1))}: {name}(): {text}" for text in found]
            checked += 1
        for match in STRUCT.finditer(code):
            failures += [f"{path}:{common.line_of(code, match.start())}: {match.group(1)}: {text}" for text in check_struct(match.group(2))]
            checked += 1
    common.finish(failures, checked)


main()
