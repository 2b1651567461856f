"""What there is on this machine: libraries, backends, and all of it on one page."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _core
from ._errors import bad_value
from ._products import last_plan
from ._settings import origins


class Library(NamedTuple):
    """A math library that was found. Texts are empty where a fact is unknown."""

    id: str
    """Short, unique, stable between runs: openblas, openblas-openmp, blis, mkl, netlib, ..."""
    family: str
    offers: Tuple[str, ...]
    """Of blas, cblas, lapack, fft, dnn, openmp, builtin, gpu."""
    state: str
    reason: str
    """For a state other than ok: one sentence."""
    path: str
    soname: str
    version: str
    kernels: str
    """The kernel set that it runs on this processor: Haswell, zen3, generic, ..."""
    int_bits: int
    threading: str
    fact_sources: str
    """How each fact was learned."""
    faults: str
    """A line for each operation and type that the library is refused for, since the probe saw it go wrong: eig f32: ..."""
    blas: str
    """Of a LAPACK alone: the library whose matrix products it calls."""
    loaded: bool


class Backend(NamedTuple):
    """What is known of a backend of torch.backends on this machine."""

    name: str
    built: bool
    """Code for it is compiled in."""
    present: bool
    """Its library is installed."""
    available: bool
    """It can run: code, library and device are there."""
    enabled: bool
    """It is available, and no setting keeps it from being used."""
    version: str
    version_number: int
    """As the backend counts: 91900 for cuDNN 9.19.0; 0 when unknown."""
    reason: str
    """Why it is not available; empty when it is."""


def libraries(*, refresh: bool = False) -> List[Library]:
    """The math libraries of this machine, searched for at the first call, and again where ``refresh`` is true."""
    return [Library(**row) for row in _core.libraries(refresh)]


def backend_status(name: str) -> Backend:
    """What is known of one backend, with the reason where it is not available."""
    return Backend(**_core.backend_status(name))


def backends_status() -> List[Backend]:
    """What is known of every backend."""
    return [Backend(**row) for row in _core.backends()]


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
    """Prints what is installed, found and set; with mode="dicts", returns it."""
    if mode not in ("stdout", "dicts"):
        raise bad_value(f"mode: '{mode}' is not accepted; it takes stdout or dicts")
    found = _as_dict()
    if mode == "dicts":
        return found
    print(_page(found))
    return None
