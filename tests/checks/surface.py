"""Checks that every operation of the list (BP_OP_MAP) is reached in all ways: C, C++, Python, the command, tuning, bench, the reference
pages; and that every function of C that runs, plans or explains has one in C++. What is not reached is in a list here, with the reason."""

import json
import os
import re
import shutil
import subprocess
import sys

import common

FUNCTION = re.compile(r"BP_API\s+bp_status\s+(bp_\w+)\s*\(")
RUNS = re.compile(r"bp_(\w+_(?:run|plan|explain))")
# Functions of C that have no counterpart with this name in C++, and why.
ELSEWHERE = {
    "call_run": "takes the address of any struct; C++ has a function for each",
    "call_plan": "takes the address of any struct; C++ has a function for each",
    "call_explain": "takes the address of any struct; C++ has a function for each",
}

# Operations that are not reached in one way, and why.
EXCEPTIONS = {
    ("attention_paged", "the command"): "programs keep pages between calls, and the command makes one call",
    ("attention_paged", "bench"): "as in the command",
}
# Operations that are steps of others, and so have no call.
STEPS = {"contract": "einsum makes it", "graph": "it is made of calls, and has functions of its own"}

# Each operation in Python and in the command; one name stands for all that lead to it. Operations of linear algebra have their own.
NAMES = {
    "gemm": ("gemm", "gemm"), "fft": ("fft.fft", "fft"), "einsum": ("einsum", "einsum"),
    "conv": ("nn.functional.conv2d", "conv2d"), "conv_input": ("nn.grad.conv2d_input", "conv2d_input"),
    "conv_weight": ("nn.grad.conv2d_weight", "conv2d_weight"),
    "max_pool": ("nn.functional.max_pool2d", "max_pool2d"), "avg_pool": ("nn.functional.avg_pool2d", "avg_pool2d"),
    "max_pool_backward": ("nn.grad.max_pool2d_input", "max_pool2d_input"),
    "avg_pool_backward": ("nn.grad.avg_pool2d_input", "avg_pool2d_input"),
    "batch_norm": ("nn.functional.batch_norm", "batch_norm"), "batch_norm_training": ("nn.functional.batch_norm", "batch_norm_training"),
    "batch_norm_backward": ("nn.grad.batch_norm_gradients", "batch_norm_gradients"),
    "attention": ("nn.functional.scaled_dot_product_attention", "sdpa"),
    "attention_backward": ("nn.grad.scaled_dot_product_attention_gradients", "sdpa_gradients"),
    "attention_paged": ("nn.functional.scaled_dot_product_attention", None),
    "attention_lengths": ("nn.functional.scaled_dot_product_attention", "sdpa"),
    "attention_lengths_backward": ("nn.grad.scaled_dot_product_attention_gradients", "sdpa_gradients"),
    "rnn": ("nn.functional.lstm", "lstm"), "rnn_backward": ("nn.grad.lstm_gradients", "lstm_gradients"),
    "unary": ("elementwise.exp", "unary"), "binary": ("elementwise.add", "binary"), "take": ("elementwise.take", "take"),
    "gather": ("elementwise.take_along_axis", "gather"), "reduce": ("reduce.sum", "reduce"), "variance": ("reduce.var", "var"),
    "pad": ("nn.functional.pad", "pad"), "flip": ("elementwise.flip", "flip"), "roll": ("elementwise.roll", "roll"),
    "softmax": ("nn.functional.softmax", "softmax"), "softmax_backward": ("nn.grad.softmax_input", "softmax_input"),
    "layer_norm": ("nn.functional.layer_norm", "layer_norm"),
    "layer_norm_backward": ("nn.grad.layer_norm_gradients", "layer_norm_gradients"),
    "where": ("elementwise.where", "where"),
    "random": ("rand", "random_uniform"), "cumsum": ("cumsum", "cumsum"),
}

# Prints each pass of each call that the library describes: call, pass, operation.
DESCRIBED = """
import ctypes, sys
class Info(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p)]
class Pass(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("op", ctypes.c_int)]
library = ctypes.CDLL(sys.argv[1])
library.bp_call_at.restype = ctypes.c_void_p
library.bp_call_get_info.restype, library.bp_call_get_info.argtypes = ctypes.POINTER(Info), [ctypes.c_void_p]
library.bp_call_pass_at.restype, library.bp_call_pass_at.argtypes = ctypes.POINTER(Pass), [ctypes.c_void_p, ctypes.c_int]
library.bp_op_name.restype = ctypes.c_char_p
index = 0
while call := library.bp_call_at(index):
    index, of = index + 1, 0
    while row := library.bp_call_pass_at(call, of):
        of += 1
        print(library.bp_call_get_info(call).contents.name.decode(), library.bp_op_name(row.contents.op).decode() or "-")
"""

# Prints the names of Python, of those given, that are not there.
IMPORTED = """
import functools, importlib, sys
import backplane
for module in ("nn.functional", "nn.grad", "elementwise", "reduce", "linalg", "fft"):
    importlib.import_module("backplane." + module)
for name in sys.argv[1:]:
    try:
        functools.reduce(getattr, name.split("."), backplane)
    except AttributeError:
        print(name)
"""


def operations():
    """Name and NAME of each operation of the list, with its family."""
    rows = re.findall(r'X\(\d+, (\w+), "(\w+)", "[^"]*", "[^"]*", (\w+)\)', common.read("include/backplane/operation.h"))
    return {text: (name, family) for name, text, family in rows}


def loading():
    """The environment of a program that loads what the build has made; it is not instrumented."""
    return {**os.environ, "PYTHONPATH": str(common.build_folder() / "python"), "LD_PRELOAD": os.environ.get("TESTED_PRELOAD", "")}


def calls():
    """For each operation the calls of the library whose passes are of it."""
    found = {}
    for line in common.run(sys.executable, "-c", DESCRIBED, common.build_folder() / "libbackplane.so", env=loading()).splitlines():
        call, op = line.split()
        found.setdefault(op, set()).add(call)
    return found


def functions():
    """The functions of the C interface that return a status."""
    declared = set()
    for header in common.sources("include", "*.h"):
        declared |= set(FUNCTION.findall(common.code_of(header)))
    return declared


def wrapped():
    """The C functions that the C++ headers call, after their macros are replaced."""
    compiler = shutil.which("c++") or common.skip("there is no C++ compiler")
    done = subprocess.run([compiler, "-std=c++17", "-E", "-P", "-x", "c++", "-I", common.ROOT / "include", "-"], input="#include <backplane.hpp>\n",
                          capture_output=True, text=True, check=True)
    return set(re.findall(r"\b(bp_\w+)\(", done.stdout[done.stdout.index("namespace backplane"):]))


def absent_in_python(names):
    interpreter = common.ROOT / ".venv/bin/python"
    return set(common.run(interpreter if interpreter.exists() else sys.executable, "-B", "-c", IMPORTED, *names, env=loading()).split())


def of_command():
    """The operations of the command, and those that bench measures."""
    command = common.build_folder() / "backplane"
    named = {row["name"] for row in json.loads(common.run(command, "help", "--json"))["operations"]}
    table = common.run(command, "bench", "--help").partition("\nOperations\n")[2]
    return named, set(re.findall(r"^ +(\w+) ", table, re.M))


def has_one(calls_of, names):
    """Whether a call has a function in C: bp_pool_run(), or bp_inv()."""
    return any(f"bp_{call}" in names or f"bp_{call}_run" in names for call in calls_of)


def ways(op, name, family, known):
    """The ways to an operation, and whether each leads there."""
    python, command = NAMES.get(op, ("linalg." + op, op) if family == "linalg" else (None, None))
    own = known["calls"].get(op, set())
    return {
        "C": has_one(own, known["functions"]),
        "C++": has_one(own, known["wrapped"]),
        "Python": python is not None and python not in known["absent"],
        "the command": command in known["command"],
        "tuning": re.search(rf"\bBP_OP_{name}\b", known["tuned"]) is not None,
        "bench": command in known["bench"],
        "the reference pages": has_one(own, known["pages"]),
    }


def unreached():
    """What is not reached, as sentences; and the number of operations."""
    listed = operations()
    command, bench = of_command()
    asked = [NAMES[op][0] for op in NAMES] + ["linalg." + op for op in listed if listed[op][1] == "linalg"]
    known = {"calls": calls(), "functions": functions(), "wrapped": wrapped(), "absent": absent_in_python(asked), "command": command,
             "bench": bench, "tuned": common.read("tests/tuning/test_families.c"),
             "pages": set(re.findall(r"`(bp_\w+)`", common.read("docs/reference/c-api.md")))}
    failures = [f"{op} is in a list of this check, and not in BP_OP_MAP" for op in sorted((set(NAMES) | set(STEPS)) - set(listed))]
    for op, (name, family) in listed.items():
        if op in STEPS:
            failures += [f"{op} is listed as a step of others, and has a call"] if known["calls"].get(op) else []
            continue
        for way, reached in ways(op, name, family, known).items():
            if reached == ((op, way) in EXCEPTIONS):
                failures.append(f"{op} is {'reached in ' + way + ', and is in the list of exceptions' if reached else 'not reached in ' + way}")
    return failures, len(listed)


def without_counterpart():
    """Functions that run, plan or explain, and have none in C++; and the number of functions."""
    declared = {match.group(1) for match in map(RUNS.fullmatch, functions()) if match}
    there = {name[len("bp_"):] for name in wrapped()}
    failures = [f"backplane.hpp has no counterpart of bp_{name}()" for name in sorted(declared - there - set(ELSEWHERE))]
    failures += [f"{name} is in the list of exceptions, and has a counterpart or is not declared" for name in sorted(ELSEWHERE)
                 if name in there or name not in declared]
    return failures, len(declared)


def main():
    failures, functions_checked = without_counterpart()
    more, operations_checked = unreached()
    common.finish(failures + more, functions_checked + operations_checked if functions_checked >= 50 and operations_checked >= 50 else 0)


if __name__ == "__main__":
    main()
