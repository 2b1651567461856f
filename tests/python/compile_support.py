"""What the tests of backplane.compile and backplane.compiler share: arrays, and comparisons of compiled functions."""

import numpy as np

import backplane as bp

RNG = np.random.default_rng(7)
X, Y, W = (RNG.standard_normal(shape).astype("f4") for shape in ((4, 6), (6,), (5, 6)))


def leaves(tree):
    if isinstance(tree, dict):
        return [leaf for one in tree.values() for leaf in leaves(one)]
    return [leaf for one in tree for leaf in leaves(one)] if isinstance(tree, (tuple, list)) else [tree]


def assert_same(got, wanted):
    assert type(got) is type(wanted)
    assert len(leaves(got)) == len(leaves(wanted))
    for one, other in zip(leaves(got), leaves(wanted)):
        one, other = np.asarray(one), np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()


def check(function, *arguments, graphs=1, **names):
    """Compares two calls of a compiled function with the function, and the number of graphs."""
    wanted = function(*arguments, **names)
    compiled = bp.compile(function)
    assert_same(compiled(*arguments, **names), wanted)
    assert_same(compiled(*arguments, **names), wanted)
    assert len(compiled.graphs) == graphs
    return compiled
