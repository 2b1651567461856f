"""Checks in the built objects that a module uses only functions and data of modules below it, and in the sources that a module declares
only what it defines: a second declaration of an upper module's function would pass the check of includes. Tables of families and of
providers are the only objects that lower modules use."""

import collections
import json
import pathlib
import re
import shlex
import shutil

import common
from modules import MAY_INCLUDE

# Tables that lower modules use: each family's description, the list of classes that calibration measures (src/ops/classes.c), and each
# provider and runtime that is built in.
TABLES = re.compile(r"bp__(?:family|measuring)_[a-z_]+|bp__classes|bp_(?:provider|runtime)_[a-z_]+")
# Objects of their own, which link the library from outside or not at all; reference_apart.py says what the references may call.
PROGRAMS = ("src/cli/", "src/dropin/", "src/reference/", "src/probe/program/")
# A prototype, or a variable that is defined elsewhere; its first name, and the rest of a list of variables.
DECLARED = re.compile(r"^[a-z_][\w \t*]*?[\s*](bp__\w+)\s*(?:\([^;{}=]*\)|\[[^;{}=]*\])?\s*((?:,[^;{}=()]*)?);", re.M)


def objects():
    """Returns the objects of the library, its helper program and its modules of providers, by source; several if it is compiled often."""
    found = collections.defaultdict(list)
    build = common.build_folder()
    for row in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(row["command"])
        output = words[words.index("-o") + 1]
        try:
            source = pathlib.Path(row["file"]).relative_to(common.ROOT).as_posix()
        except ValueError:
            continue
        path = pathlib.Path(row["directory"]) / output
        if source.startswith("src/") and not source.startswith(PROGRAMS) and not output.startswith("tests/") and path.exists():
            found[source].append(path)
    return found


def module_of(source):
    """The module of a source; each provider is one."""
    parts = source.split("/")
    return "/".join(parts[1:3]) if parts[1] == "providers" else parts[1]


def may_use(module, other):
    if module in MAY_INCLUDE:
        # The helper program measures and tests through the library's own calls.
        return other in MAY_INCLUDE[module] or (module == "probe" and other == "ops")
    # Providers get everything else in the table of host functions. Names and sizes of types are in the library for native, and in the
    # public headers for others.
    return other == "base" or other in ("providers/batch", "providers/driver", "providers/transform", "providers/kernels",
                                         "providers/opencl", "providers/cuda", "providers/strided", "providers/ranks", "providers/fftw")


def symbols(found):
    """Returns the source that defines each symbol, and the symbols that each source uses."""
    source_of = {str(path): source for source, paths in found.items() for path in paths}
    defined, used = {}, collections.defaultdict(set)
    for line in common.run("nm", "--print-file-name", "--format=posix", *source_of).splitlines():
        path, _, rest = line.partition(": ")
        name, kind = rest.split()[:2]
        if kind in "TDBRVW":
            defined.setdefault(name, source_of[path])
        elif kind == "U":
            used[source_of[path]].add(name)
    return defined, used


def declared_twice(defined):
    """Returns failures for declarations of what another module defines."""
    failures = []
    for path in common.sources("src"):
        if path.as_posix().startswith(PROGRAMS):
            continue
        code = common.code_of(path)
        for match in DECLARED.finditer(code):
            for name in (match.group(1), *re.findall(r"\bbp__\w+", match.group(2))):
                source = defined.get(name)
                if source and module_of(source) != module_of(path.as_posix()) and not TABLES.fullmatch(name):
                    failures.append(f"{path}:{common.line_of(code, match.start())}: declares {name}, which {source} defines: include its header")
    return failures


def main():
    if not shutil.which("nm"):
        common.skip("nm is not installed")
    found = objects()
    defined, used = symbols(found)
    failures, edges = [], 0
    for source, names in sorted(used.items()):
        for name in sorted(names & defined.keys()):
            module, other = module_of(source), module_of(defined[name])
            edges += 1
            # The references are no part of the library: they call its public functions, as a program does.
            public = module == "reference" and not name.startswith("bp__")
            if module != other and not public and not may_use(module, other) and not TABLES.fullmatch(name):
                failures.append(f"{source}: uses {name} of {defined[name]}, which is not below {module}")
    if not edges:
        failures.append("no object of the library was found")
    common.finish(failures + declared_twice(defined), edges)


main()
