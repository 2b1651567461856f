"""Tables for notebooks."""

from __future__ import annotations

import html
from typing import Iterable, Sequence

_LEFT = "text-align: left; white-space: pre-wrap"


def _row(tag: str, cells: Sequence[str], numbers: int) -> str:
    """A row whose first cells are numbers, which end at the same place."""
    return "".join(
        f'<{tag} style="{"text-align: right" if i < numbers else _LEFT}">{html.escape(cell)}</{tag}>' for i, cell in enumerate(cells)
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", numbers: int = 0) -> str:
    """Returns a table. Without heads the first column names the rows."""
    head = f"<thead><tr>{_row('th', heads, numbers)}</tr></thead>" if heads else ""
    body = "".join(f"<tr>{_row('td', cells, numbers)}</tr>" for cells in rows)
    title = f'<caption style="text-align: left">{html.escape(caption)}</caption>' if caption else ""
    return f"<table>{title}{head}<tbody>{body}</tbody></table>"
