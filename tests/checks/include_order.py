"""Checks that a module includes only headers of modules below it, that providers, command, Python module, examples and
benchmarks include only public headers, and that no file includes a vendor's header."""

import re

import common
from modules import MAY_INCLUDE

# The helper program calls the routines that providers call, and shares their lists of these routines.
LISTS_OF_FUNCTIONS = ("providers/blas/routines.h", "providers/lapack/routines.h", "providers/fftw/api.h", "providers/mkl/api.h", "providers/onednn/api.h",
                      "providers/xsmm/api.h")
# Providers never include each other. Code that several of them share is in this header and these modules.
SHARED_BY_ALL_PROVIDERS = "providers/least.h"
SHARED_BY_PROVIDERS = {
    "providers/attention": ["providers/cudnn", "providers/kernels", "providers/native"],
    "providers/batch": ["providers/blas", "providers/fftw", "providers/lapack", "providers/mkl", "providers/native", "providers/xsmm"],
    "providers/driver": ["providers/blas", "providers/lapack", "providers/mkl", "providers/onednn", "providers/scalapack", "providers/xsmm"],
    "providers/transform": ["providers/fftw", "providers/mkl"],
    "providers/kernels": ["providers/clblast", "providers/opencl", "providers/nvrtc"],
    "providers/opencl": ["providers/clblast"],
    "providers/cuda": ["providers/cublas", "providers/cudnn", "providers/cufft", "providers/cusolver", "providers/nvrtc"],
    "providers/strided": ["providers/cuda", "providers/opencl"],
    "providers/ranks": ["providers/fftwmpi", "providers/scalapack"],
    "providers/fftw": ["providers/fftwmpi"],
}
# The benchmarks of convolutions, of passes and of recurrent layers call oneDNN directly, as their peer.
PEERS = dict.fromkeys(("bench/conv", "bench/passes", "bench/rnn"), "providers/onednn/api.h")
# The command is compiled with the library's files for text, suggestions, JSON and headers of .npy files, and links the references.
# It reads the file of calls that the hooks library writes.
SHARED_WITH_COMMAND = ("base/text.h", "base/npy.h", "dropin/record_file.h")
# The folders of the command, and those whose headers each may include in addition to its own. The files outside folders may include all.
FOLDERS_OF_COMMAND = {
    "command": [],
    "output": ["command"],
    "arrays": ["command"],
    "operations": ["command", "arrays"],
    "list": ["command", "arrays"],
    "settings": ["command"],
    "ranks": ["command", "program", "operations"],
    "model": ["command", "arrays", "operations", "ranks"],
    "eval": ["command", "arrays", "operations", "list", "model", "ranks"],
    "compare": ["command", "arrays", "operations"],
    "tune": ["command", "arrays", "operations"],
    "bench": ["command", "output", "arrays", "operations", "model"],
    "program": ["command", "arrays"],
    "doctor": ["command"],
    "inspect": ["command", "doctor", "program"],
    "launch": ["command", "arrays", "program", "inspect"],
    "report": ["command", "output", "arrays", "operations", "doctor", "settings"],
}
# The drop-in objects open libraries themselves, and must not use RTLD_DEEPBIND in a process with a sanitizer either.
SHARED_WITH_DROPIN = ("base/sanitizer.h",)
SYSTEM = re.compile(
    r"(assert|complex|ctype|dirent|dlfcn|elf|errno|fcntl|fenv|float|fnmatch|getopt|inttypes|libgen|limits|link|locale|malloc|math|poll|pthread|pwd"
    r"|sched|signal|spawn|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|tgmath|time"
    r"|unistd|wchar|cpuid|immintrin|x86intrin|arm_neon|arm_sve|(sys|linux|asm)/\w+)\.h"
)
# Exceptions: hwloc's header and oneDNN 2's, a peer of a benchmark, whose functions are looked up at run time, and
# Python's headers for the Python module.
SYSTEM_OF_MODULE = {"machine": re.compile(r"hwloc\.h"), "python": re.compile(r"(Python|structmember)\.h"),
                    "bench": re.compile(r"oneapi/dnnl/dnnl\.h")}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def module_of(path):
    """Returns the module of a file ("provider" for all providers, the top folder outside src/), and the folder of its headers."""
    parts = path.parts
    if parts[0] != "src":
        return parts[0], path.parent.as_posix()
    if parts[1] == "providers":
        return "provider", "/".join(parts[1:3])
    return parts[1], parts[1]


def wrong_in_command(path, name):
    """Returns why a file of the command may not include `name`, which is a header of the command in another folder, or None."""
    folder, target = path.parts[2], name.split("/")[1]
    if len(path.parts) == 3 or folder == target or target in FOLDERS_OF_COMMAND.get(folder, []):
        return None
    return f"cli/{folder} may include {', '.join(FOLDERS_OF_COMMAND.get(folder, [])) or 'nothing'} of the command"


def wrong(path, quoted, name):
    """Returns why the file may not include `name`, or None."""
    module, folder = module_of(path)
    if not quoted:
        allowed = SYSTEM.fullmatch(name) or (module in SYSTEM_OF_MODULE and SYSTEM_OF_MODULE[module].fullmatch(name))
        if allowed or name.startswith("backplane"):
            return None
        return "neither a system header nor a header of this project"
    if name == "backplane.h" or name.startswith("backplane/"):
        return None
    adjacent = (common.ROOT / path.parent / name).is_file()
    if module == "cli" and name.startswith("cli/"):
        return wrong_in_command(path, name)
    if module not in MAY_INCLUDE:
        own = adjacent or name.startswith(folder + "/") or (module == "provider" and f"/{name}".startswith(f"/{folder}"))
        if module == "cli" and (name in SHARED_WITH_COMMAND or name.startswith("reference/")):
            return None
        if module == "dropin" and name in SHARED_WITH_DROPIN:
            return None
        if PEERS.get(folder) == name:
            return None
        sharing = SHARED_BY_PROVIDERS.get("/".join(name.split("/")[:2]), [])
        shared = module == "provider" and (name == SHARED_BY_ALL_PROVIDERS or folder in sharing)
        return None if own or shared else "it may include only public headers and its own"
    if module == "probe" and name in LISTS_OF_FUNCTIONS:
        return None
    target = name.split("/")[0] if "/" in name else module
    if target == module or target in MAY_INCLUDE[module]:
        return None
    return f"{module} may include {', '.join(MAY_INCLUDE[module]) or 'nothing'} below it"


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
