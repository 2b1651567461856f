"""The engine of quantized operations."""

from __future__ import annotations

from typing import List

from .._settings import setting
from ._module import attach, fact

engine: str
supported_engines: List[str]


def _supported() -> List[str]:
    # This library has no quantized operations, so that the one engine that keeps its promise is none.
    return [word for word in setting("quantized.engine").allowed.split("|") if word == "none"]


attach(__name__, "quantized.", supported_engines=fact(_supported, "The engines that can run here; a fact."))
