"""Tables for notebooks."""

from __future__ import annotations

import html
from typing import Any, Iterable, List, Sequence, TypeVar

Row = TypeVar("Row")
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


def text_of(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


class Rows(List[Row]):
    """A list of named tuples, which a notebook shows as a table of some of their fields."""

    def __init__(self, rows: Iterable[Row], fields: Sequence[str]) -> None:
        super().__init__(rows)
        self._fields = fields

    def _repr_html_(self) -> str:
        return table(self._fields, [[text_of(getattr(row, name)) for name in self._fields] for row in self])
