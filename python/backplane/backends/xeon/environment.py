"""Builds the environment of the instances: thread counts, preloaded allocator and OpenMP runtime."""

from __future__ import annotations

import os
import platform
import re
import sys
import sysconfig
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from .errors import logger
from .options import Options

Environment = Dict[str, str]

JEMALLOC_SETTINGS = "oversize_threshold:1,background_thread:true,metadata_thp:auto"
ELF_HEADER_BYTES = 20
# The names of each allocator's library, best first. Debian packages the one without profilers by itself.
ALLOCATORS = {"tcmalloc": ("tcmalloc", "tcmalloc_minimal"), "jemalloc": ("jemalloc",)}
# The run-time libraries of sanitizers, which end a program in which another library is loaded before them.
SANITIZER = re.compile(r"lib(a|hwa|l|m|t)san\.so|libclang_rt\.")


def _multiarch() -> str:
    """Returns the folder below ``lib`` for libraries of this architecture on Debian-like systems."""
    return sysconfig.get_config_var("MULTIARCH") or f"{platform.machine()}-linux-gnu"


def library_folders(environment: Mapping[str, str], root: Path = Path("/")) -> List[Path]:
    """Returns the folders that are searched for libraries, in order; tests set ``root`` to replace the system's folders."""
    prefixes = [environment.get("CONDA_PREFIX"), environment.get("VIRTUAL_ENV"), sys.prefix]
    folders = [Path(prefix) / "lib" for prefix in prefixes if prefix]
    folders.append(Path(environment.get("HOME") or os.path.expanduser("~")) / ".local/lib")
    for system in ("usr/local", "usr"):
        folders += [root / system / "lib" / _multiarch(), root / system / "lib", root / system / "lib64"]
    return list(dict.fromkeys(folders))


def _elf_kind(path: Path) -> Optional[Tuple[bytes, bytes]]:
    """Returns word size and byte order, and the processor, of an ELF file; None for any other file, such as a linker script."""
    try:
        with path.open("rb") as file:
            header = file.read(ELF_HEADER_BYTES)
    except OSError:
        return None
    if len(header) < ELF_HEADER_BYTES or not header.startswith(b"\x7fELF"):
        return None
    return header[4:6], header[18:20]


def _is_library(name: str, file_name: str) -> bool:
    return re.fullmatch(rf"lib{re.escape(name)}\.so(\.\d+)*", file_name) is not None


def _versions(path: Path) -> Tuple[int, ...]:
    """Returns the numbers after ``.so``. A name without numbers sorts last, because it is the exact name."""
    numbers = path.name.partition(".so")[2]
    return tuple(int(number) for number in numbers.split(".")[1:]) if numbers else (sys.maxsize,)


def find_library(name: str, folders: Sequence[Path]) -> Optional[str]:
    """Returns the path of ``lib<name>.so`` or ``lib<name>.so.N`` in the first folder that has a loadable one, or None."""
    wanted = _elf_kind(Path("/proc/self/exe"))
    for folder in folders:
        found = [path for path in folder.glob(f"lib{name}.so*") if _is_library(name, path.name)]
        for path in sorted(found, key=_versions, reverse=True):
            # LD_PRELOAD separates its entries by colons and spaces, and has no way to quote them.
            if _elf_kind(path) == wanted and not re.search(r"[: ]", str(path)):
                return str(path)
    return None


def preloads(environment: Mapping[str, str]) -> List[str]:
    return [item for item in re.split(r"[: ]+", environment.get("LD_PRELOAD", "")) if item]


def _drop_missing_preloads(environment: Environment) -> None:
    """Removes missing files from LD_PRELOAD with one warning each; the loader would print one per program."""
    kept = []
    for item in preloads(environment):
        # A name without a slash is searched for by the loader, and "$LIB" is filled in by it.
        if "/" in item and "$" not in item and not os.path.exists(item):
            logger.warning("%s does not exist and is removed from LD_PRELOAD", item)
        else:
            kept.append(item)
    _set_preloads(environment, kept)


def _set_preloads(environment: Environment, items: List[str]) -> None:
    environment.pop("LD_PRELOAD", None)
    if items:
        environment["LD_PRELOAD"] = ":".join(items)


def _is_preloaded(environment: Mapping[str, str], names: Sequence[str]) -> bool:
    return any(_is_library(name, os.path.basename(item)) for item in preloads(environment) for name in names)


def _preload(environment: Environment, names: Sequence[str], folders: Sequence[Path]) -> bool:
    """Puts the first library found in front of LD_PRELOAD, unless one of them is in it. Returns False if none is found."""
    if _is_preloaded(environment, names):
        return True
    path = next(filter(None, (find_library(name, folders) for name in names)), None)
    if path is not None:
        items = preloads(environment)
        first = next((at for at, item in enumerate(items) if not SANITIZER.match(os.path.basename(item))), len(items))
        _set_preloads(environment, [*items[:first], path, *items[first:]])
    return path is not None


def set_unless_set(environment: Environment, name: str, value: str) -> None:
    """Sets a variable, or keeps the user's value and warns if it is different."""
    if environment.setdefault(name, value) != value:
        logger.warning("%s=%s was set before and is kept; it would have become %s", name, environment[name], value)


def _missing(names: Sequence[str], folders: Sequence[Path]) -> str:
    return f"{' or '.join(f'lib{name}.so' for name in names)} was not found in {', '.join(str(folder) for folder in folders)}"


def set_allocator(environment: Environment, options: Options, folders: Sequence[Path]) -> None:
    """Preloads the requested allocator, or the first one found if none was requested."""
    if options.use_default_allocator:
        return
    asked = [name for name, wanted in (("tcmalloc", options.enable_tcmalloc), ("jemalloc", options.enable_jemalloc))
             if wanted]
    # An allocator that the user preloads is also a choice; another one in front of it would replace it.
    ready = [name for name, names in ALLOCATORS.items() if _is_preloaded(environment, names)]
    for name in asked or ready or ALLOCATORS:
        if _preload(environment, ALLOCATORS[name], folders):
            logger.info("memory allocator: %s", name)
            if options.enable_jemalloc:
                set_unless_set(environment, "MALLOC_CONF", JEMALLOC_SETTINGS)
            return
    for name in asked:
        logger.warning("%s; the default allocator is used", _missing(ALLOCATORS[name], folders))
    if not asked:
        logger.warning("neither tcmalloc nor jemalloc was found; the default allocator is used. Folders searched: %s",
                       ", ".join(str(folder) for folder in folders))


def set_openmp(environment: Environment, pin_threads: bool, folders: Sequence[Path]) -> None:
    """Preloads Intel's OpenMP runtime and configures it. If it is not found, its variables are not set.

    The runtime pins threads to the available CPUs, from the first on. So pinning is only for instances that are bound to
    their own CPUs; otherwise all instances would be pinned to the machine's first CPUs.
    """
    if not _preload(environment, ["iomp5"], folders):
        logger.warning("%s; programs use the OpenMP runtime they are linked to", _missing(["iomp5"], folders))
        return
    logger.info("OpenMP runtime: libiomp5")
    if pin_threads:
        set_unless_set(environment, "KMP_AFFINITY", "granularity=fine,compact,1,0")
    set_unless_set(environment, "KMP_BLOCKTIME", "1")


def instance_environments(base: Mapping[str, str], options: Options, threads: Sequence[int], pin_threads: bool,
                          folders: Optional[Sequence[Path]] = None) -> List[Environment]:
    """Returns one environment per instance; they differ in the number of threads only. Each warning is given once."""
    folders = library_folders(base) if folders is None else folders
    common = dict(base)
    _drop_missing_preloads(common)
    set_allocator(common, options, folders)
    if not options.disable_iomp:
        set_openmp(common, pin_threads, folders)
    for count in sorted(set(threads)):
        set_unless_set(dict(common), "OMP_NUM_THREADS", str(count))
    for name in sorted(set(common) | {"LD_PRELOAD"}):
        if name in common and common[name] != base.get(name):
            logger.info("%s=%s", name, common[name])
    return [{"OMP_NUM_THREADS": str(count), **common} for count in threads]
