"""Arguments and results of functions as lists of leaves: tuples, named tuples, lists and dicts are containers."""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

Tree = Any
"""What is left of a tree without its leaves. It has a hash."""

_LEAF = "leaf"


def flatten(tree: Any, leaves: List[Any]) -> Tree:
    """Appends the leaves of a tree to a list, and returns the rest. Dicts keep the order of their keys."""
    kind = type(tree)
    if kind in (list, tuple) or (isinstance(tree, tuple) and hasattr(tree, "_fields")):
        return kind, tuple([flatten(one, leaves) for one in tree])
    if kind is dict:
        return kind, tuple([(key, flatten(one, leaves)) for key, one in tree.items()])
    leaves.append(tree)
    return _LEAF


def unflatten(tree: Tree, next_leaf: Callable[[], Any]) -> Any:
    """Makes a tree again; takes leaves in their order."""
    if tree is _LEAF or tree == _LEAF:
        return next_leaf()
    kind, parts = tree
    if kind is dict:
        return {key: unflatten(one, next_leaf) for key, one in parts}
    made: Tuple[Any, ...] = tuple([unflatten(one, next_leaf) for one in parts])
    return made if kind is tuple else list(made) if kind is list else kind(*made)
