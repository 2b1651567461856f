"""The engine of quantized operations."""

from __future__ import annotations

from typing import List

from ._module import attach, fact

engine: str
supported_engines: List[str]


# This library has no quantized operations, so that the one engine that keeps its promise is none.
attach(__name__, "quantized.", supported_engines=fact(lambda: ["none"], "The engines that can run here; a fact."))
