"""Lists the libraries and backends of this machine, and prints the whole configuration."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _core
from ._errors import bad_value
from ._html import Rows, table as html_table, text_of
from ._products import last_plan
from ._settings import origins


class Library(NamedTuple):
    """A math library of this machine. Unknown texts are empty."""

    id: str
    """Short, unique, stable between runs: openblas, openblas-openmp, blis, mkl, netlib, ..."""
    family: str
    offers: Tuple[str, ...]
    """Some of blas, cblas, lapack, fft, dnn, openmp, builtin, gpu, smm."""
    state: str
    """ok, facade, broken, untrusted or unprobed."""
    reason: str
    """Why the state is not ok; empty if it is."""
    path: str
    soname: str
    version: str
    kernels: str
    """The kernel set that it uses on this processor: Haswell, zen3, generic, ..."""
    int_bits: int
    threading: str
    fact_sources: str
    """The source of each field: version: openblas_get_config; ..."""
    faults: str
    """A line for each operation and type in which the library failed the probe; it is not used for them: eig f32: ..."""
    blas: str
    """For a LAPACK without BLAS: the library whose matrix products it calls."""
    loaded: bool

    def _repr_html_(self) -> str:
        return html_table((), zip(self._fields, map(text_of, self)))


class Backend(NamedTuple):
    """The state of a backend of torch.backends on this machine."""

    name: str
    built: bool
    """This version has a provider for it."""
    present: bool
    """Its library is installed and not broken."""
    available: bool
    """It can run: provider, library and device are present."""
    enabled: bool
    """It is available, and no setting disables it."""
    version: str
    version_number: int
    """The version in the backend's own numbering: 91900 for cuDNN 9.19.0; 0 when unknown."""
    reason: str
    """Why it is not available; empty if it is."""


def libraries(*, refresh: bool = False) -> List[Library]:
    """Returns the math libraries of this machine. Searches on the first call, and again if ``refresh`` is true."""
    fields = ("id", "version", "offers", "state", "kernels", "threading", "path", "reason")
    return Rows((Library(**row) for row in _core.libraries(refresh)), fields)


def backend_status(name: str) -> Backend:
    """Returns the state of one backend, with the reason if it is not available."""
    return Backend(**_core.backend_status(name))


def backends_status() -> List[Backend]:
    """Returns the state of every backend."""
    fields = ("name", "built", "present", "available", "enabled", "version", "reason")
    return Rows((Backend(**row) for row in _core.backends()), fields)


def _as_dict() -> Dict[str, Any]:
    plan = last_plan()
    return {
        "version": _core.version,
        "machine": _core.machine(),
        "providers": _core.providers(),
        "libraries": [library._asdict() for library in libraries()],
        "backends": [backend._asdict() for backend in backends_status()],
        "settings": {name: {"layer": layer, "where": where, "value": text} for name, (layer, where, text) in origins().items()},
        "last_plan": None if plan is None else plan._asdict(),
    }


def _page(found: Dict[str, Any]) -> str:
    machine = found["machine"]
    lines = [
        f"backplane {found['version']}",
        f"processor: {machine['cpu_model'] or machine['architecture']}, {machine['usable_cpus']} usable, "
        f"{machine['capability']} (hardware: {machine['hardware_capability']})",
        "libraries:",
    ]
    for row in found["libraries"]:
        lines.append(f"  {row['id']} {row['version']} ({', '.join(row['offers'])}): {row['reason'] or row['state']}")
    lines.append("backends:")
    for row in found["backends"]:
        lines.append(f"  {row['name']} {row['version']}".rstrip() + f": {'available' if row['available'] else row['reason']}")
    lines.append("settings that differ from their defaults:")
    for name, row in found["settings"].items():
        lines.append(f"  {name} = {row['value']} ({row['layer']}{': ' if row['where'] else ''}{row['where']})")
    plan = found["last_plan"]
    if plan:
        lines.append(f"last plan of this thread: {plan['problem']}, by {plan['library']} ({plan['algorithm']}): {plan['reason']}")
    return "\n".join(lines)


def show_config(mode: str = "stdout") -> Optional[Dict[str, Any]]:
    """Prints version, machine, libraries, backends and changed settings; with mode="dicts", returns them instead."""
    if mode not in ("stdout", "dicts"):
        raise bad_value(f"mode: '{mode}' is not accepted; it takes stdout or dicts")
    found = _as_dict()
    if mode == "dicts":
        return found
    print(_page(found))
    return None
