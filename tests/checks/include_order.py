"""Includes go down the list of rooms only; providers, command, Python module, examples and benchmarks see the public headers
alone; and the core includes no vendor's header."""

import re

import common

# Each room and the rooms whose internal headers it may include, besides its own.
MAY_INCLUDE = {
    "base": [],
    "settings": ["base"],
    "tensor": ["base"],
    "machine": ["base", "settings"],
    "registry": ["base", "settings", "machine"],
    "einsum": ["base", "settings"],
    "dispatch": ["base", "settings", "tensor", "machine", "registry", "einsum"],
    "ops": ["base", "settings", "tensor", "machine", "registry", "einsum", "dispatch"],
}
# The probe helper tries what providers call: it shares their lists of a foreign library's functions.
PROBE = "src/registry/probe/"
LISTS_OF_FUNCTIONS = ("providers/lapack/routines.h", "providers/fftw/api.h", "providers/mkl/api.h")
# Providers never include each other; what several of them share is a room of its own below these.
SHARED_BY_PROVIDERS = {
    "providers/driver": ["providers/blas", "providers/lapack", "providers/mkl"],
    "providers/transform": ["providers/fftw", "providers/mkl"],
}
# The command is compiled with the library's files for text, suggestions and JSON.
SHARED_WITH_COMMAND = "base/text.h"
SYSTEM = re.compile(
    r"(assert|complex|ctype|dirent|dlfcn|elf|errno|fcntl|fenv|float|getopt|glob|inttypes|libgen|limits|link|locale|math|poll|pthread|pwd|sched"
    r"|signal|spawn|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|tgmath|time"
    r"|unistd|wchar|cpuid|immintrin|x86intrin|arm_neon|arm_sve|(sys|linux|asm)/\w+)\.h"
)
# The exceptions: the topology library's header, whose functions are looked up at run time, and Python's for its module.
SYSTEM_OF_ROOM = {"machine": re.compile(r"hwloc\.h"), "python": re.compile(r"(Python|structmember)\.h")}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def room_of(path):
    """Where a file belongs: a room, a provider with its own folder, or the name of a top folder outside src/."""
    parts = path.parts
    if parts[0] != "src":
        return parts[0], path.parent.as_posix()
    if parts[1] == "providers":
        return "provider", "/".join(parts[1:3])
    return parts[1], parts[1]


def wrong(path, quoted, name):
    """Why the file may not include `name`, or None."""
    room, folder = room_of(path)
    if not quoted:
        allowed = SYSTEM.fullmatch(name) or (room in SYSTEM_OF_ROOM and SYSTEM_OF_ROOM[room].fullmatch(name))
        if allowed or name.startswith("backplane"):
            return None
        return "neither a header of the system nor one of ours"
    if name == "backplane.h" or name.startswith("backplane/"):
        return None
    beside = (common.ROOT / path.parent / name).is_file()
    if room not in MAY_INCLUDE:
        own = beside or name.startswith(folder + "/") or (room == "provider" and f"/{name}".startswith(f"/{folder}"))
        if room == "cli" and name == SHARED_WITH_COMMAND:
            return None
        shared = room == "provider" and folder in SHARED_BY_PROVIDERS.get("/".join(name.split("/")[:2]), [])
        return None if own or shared else "only the public headers and its own are for it"
    if path.as_posix().startswith(PROBE) and name in LISTS_OF_FUNCTIONS:
        return None
    target = name.split("/")[0] if "/" in name else room
    if target == room or target in MAY_INCLUDE[room]:
        return None
    return f"{room} may include {', '.join(MAY_INCLUDE[room]) or 'nothing'} below it"


def main():
    failures, checked = [], 0
    for folder in ("src", "include", "python", "examples", "bench"):
        for path in common.sources(folder):
            text = common.read(path)
            for match in INCLUDE.finditer(text):
                checked += 1
                why = wrong(path, match.group(1) == '"', match.group(2))
                if why:
                    failures.append(f"{path}:{common.line_of(text, match.start(1))}: includes {match.group(2)}: {why}")
    common.finish(failures, checked)


main()
