"""Recurrent layers against NumPy in f64: stacks, directions, projections, lengths, dropout, and their gradients."""

import numpy as np
import pytest

import backplane as bp
from backplane.nn import functional, grad

rng = np.random.default_rng(5)
GATES = {"rnn_tanh": 1, "rnn_relu": 1, "lstm": 4, "gru": 3}
CELLS = [*((mode, False) for mode in GATES), ("gru", True)]  # with reset_before


def random(*shape, kind=np.float64):
    return (0.5 * rng.standard_normal(shape)).astype(kind)


def parameters(mode, size, hidden, layers=1, directions=1, biases=True, projection=0, kind=np.float64):
    """Returns the list of parameters in torch's order."""
    found, columns = [], projection or hidden
    for layer in range(layers):
        for _ in range(directions):
            rows, width = GATES[mode] * hidden, size if layer == 0 else directions * columns
            found += [random(rows, width, kind=kind), random(rows, columns, kind=kind)]
            found += [random(rows, kind=kind), random(rows, kind=kind)] if biases else []
            found += [random(columns, hidden, kind=kind)] if projection else []
    return found


def logistic(x):
    return 1 / (1 + np.exp(-x))


def one_item(mode, steps, w, u, b, c, projection, h, cell, before=False):
    """Returns the hidden states after each step, and the final cell."""
    outputs = []
    for x in steps:
        p, q = w @ x + b, u @ h + c
        if mode == "lstm":
            i, f, g, o = np.split(p + q, 4)
            cell = logistic(f) * cell + logistic(i) * np.tanh(g)
            h = logistic(o) * np.tanh(cell)
            h = h if projection is None else projection @ h
        elif mode == "gru":
            (pr, pz, pn), (qr, qz, qn) = np.split(p, 3), np.split(q, 3)
            r, z = logistic(pr + qr), logistic(pz + qz)
            part = u[2 * len(h) :] @ (r * h) + c[2 * len(h) :] if before else r * qn
            h = (1 - z) * np.tanh(pn + part) + z * h
        else:
            h = np.tanh(p + q) if mode == "rnn_tanh" else np.maximum(p + q, 0)
        outputs.append(h)
    return outputs, h, cell


def reference(mode, x, hx, params, biases=True, layers=1, bidirectional=False, lengths=None, projection=0, before=False):
    """Returns output, hidden states and cells, each item alone."""
    directions, per = 1 + bidirectional, 2 + 2 * biases + (projection > 0)
    hidden = params[0].shape[0] // GATES[mode]
    columns = projection or hidden
    count = x.shape[1]
    h0, c0 = (hx if mode == "lstm" else (hx, None)) if hx is not None else (None, None)
    finals, cells = np.zeros((layers * directions, count, columns)), np.zeros((layers * directions, count, hidden))
    for layer in range(layers):
        output = np.zeros((len(x), count, directions * columns))
        for d in range(directions):
            at = layer * directions + d
            own = params[at * per : (at + 1) * per]
            b, c = own[2:4] if biases else (np.zeros(len(own[0])),) * 2
            for n in range(count):
                length = len(x) if lengths is None else lengths[n]
                h = np.zeros(columns) if h0 is None else h0[at, n]
                cell = np.zeros(hidden) if c0 is None else c0[at, n]
                steps = x[:length, n][:: -1 if d else 1]
                found, h, cell = one_item(mode, steps, own[0], own[1], b, c, own[-1] if projection else None, h, cell, before)
                if length:
                    output[:length, n, d * columns : (d + 1) * columns] = np.array(found)[:: -1 if d else 1]
                finals[at, n], cells[at, n] = h, cell
        x = output
    return (x, finals, cells) if mode == "lstm" else (x, finals)


def states(mode, layers, directions, count, hidden, projection=0, kind=np.float64):
    h = random(layers * directions, count, projection or hidden, kind=kind)
    return (h, random(layers * directions, count, hidden, kind=kind)) if mode == "lstm" else h


def near(found, wanted, tolerance=1e-12):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("mode", "before"), CELLS)
@pytest.mark.parametrize(("layers", "directions", "biases"), [(1, 1, True), (1, 2, False), (3, 1, False), (2, 2, True)])
def test_stacks(mode, before, layers, directions, biases):
    x, hx = random(4, 3, 5), states(mode, layers, directions, 3, 7)
    params = parameters(mode, 5, 7, layers, directions, biases)
    given = dict(has_biases=biases, num_layers=layers, bidirectional=directions == 2)
    given.update(reset_before=True) if before else None
    wanted = reference(mode, x, hx, params, biases, layers, directions == 2, before=before)
    function = getattr(functional, mode)
    near(function(x, hx, params, **given), wanted)
    near(function(x.swapaxes(0, 1), hx, params, **given, batch_first=True), (wanted[0].swapaxes(0, 1), *wanted[1:]))
    near(function(x, None, params, **given), reference(mode, x, None, params, biases, layers, directions == 2, before=before))


@pytest.mark.parametrize("directions", [1, 2])
def test_projections(directions):
    x, hx = random(4, 3, 5), states("lstm", 2, directions, 3, 7, 2)
    params = parameters("lstm", 5, 7, 2, directions, projection=2)
    found = functional.lstm(x, hx, params, True, 2, bidirectional=directions == 2, proj_size=2)
    near(found, reference("lstm", x, hx, params, True, 2, directions == 2, projection=2))


@pytest.mark.parametrize(("mode", "before"), CELLS)
def test_lengths(mode, before):
    x, hx, lengths = random(5, 6, 4), states(mode, 2, 2, 6, 3), [2, 5, 0, 3, 5, 1]
    params = parameters(mode, 4, 3, 2, 2)
    more = {"reset_before": True} if before else {}
    found = getattr(functional, mode)(x, hx, params, num_layers=2, bidirectional=True, lengths=lengths, **more)
    near(found, reference(mode, x, hx, params, True, 2, True, lengths, before=before))


def test_without_items():
    x, hx = random(5, 4), states("lstm", 1, 1, 1, 3)
    params = parameters("lstm", 4, 3)
    found = functional.lstm(x, (hx[0][:, 0], hx[1][:, 0]), params)
    near(found, [one[:, 0] for one in reference("lstm", x[:, None], hx, params)])


def test_single_precision_and_types():
    x, params = random(4, 3, 5, kind="f4"), parameters("gru", 5, 7, kind="f4")
    found = functional.gru(x, None, params)
    assert all(isinstance(one, np.ndarray) and one.dtype == np.float32 for one in found)
    near(found, reference("gru", x, None, params), 2e-6)
    output, final = functional.gru(memoryview(x), None, [memoryview(one) for one in params])
    assert type(output) is bp.Tensor
    assert np.array_equal(np.asarray(output), found[0]) and np.array_equal(np.asarray(final), found[1])


def test_dropout():
    """Elements between layers are dropped with the probability, and the others grow."""
    x, params = random(5, 90, 5), parameters("rnn_relu", 5, 20, 2)
    plain = functional.rnn_relu(x, None, params, num_layers=2)
    for same in (dict(dropout=0.5), dict(train=True), dict(dropout=0.0, train=True)):
        near(functional.rnn_relu(x, None, params, num_layers=2, **same), plain, 0)
    drops = dict(num_layers=2, dropout=0.4, train=True)
    first, _ = functional.rnn_relu(x, None, params, **drops, generator=np.random.default_rng(3))
    again, _ = functional.rnn_relu(x, None, params, **drops, generator=3)
    other, _ = functional.rnn_relu(x, None, params, **drops)
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    middle = reference("rnn_relu", x, None, params[:4])[0]
    kept = np.random.default_rng(3).random(middle.shape) >= 0.4
    assert 0.57 < kept.mean() < 0.63
    near([first], reference("rnn_relu", middle * kept / 0.6, None, params[4:])[:1])


@pytest.mark.parametrize(("mode", "before"), CELLS)
@pytest.mark.parametrize(("directions", "biases", "projection"), [(1, True, 0), (2, True, 0), (1, False, 2), (2, True, 2)])
def test_gradients(mode, before, directions, biases, projection):
    """Gradients are slopes of a weighted sum of all results."""
    projection = projection if mode == "lstm" else 0
    x, hx, lengths = random(3, 4, 2), states(mode, 1, directions, 4, 3, projection), [3, 1, 2, 3]
    params = parameters(mode, 2, 3, 1, directions, biases, projection)
    given = dict(has_biases=biases, bidirectional=directions == 2, lengths=lengths)
    given.update(proj_size=projection) if mode == "lstm" else None
    given.update(reset_before=True) if before else None
    *found, reserve = getattr(functional, mode)(x, hx, params, **given, return_reserve=True)
    weights = [random(*one.shape) for one in found]
    names = dict(zip(("grad_h_n", "grad_c_n"), weights[1:]))
    by = getattr(grad, f"{mode}_gradients")(weights[0], x, hx, params, found[0], reserve, **given, **names)
    flat = [by[0], *(by[1] if mode == "lstm" else [by[1]]), *by[2]]
    tensors = [x, *(hx if mode == "lstm" else [hx]), *params]
    assert len(flat) == len(tensors)

    def loss():
        results = reference(mode, x, hx, params, biases, 1, directions == 2, lengths, projection, before)
        return sum((one * weight).sum() for one, weight in zip(results, weights))

    for tensor, slope in zip(tensors, flat):
        assert slope.shape == tensor.shape
        for at in rng.integers(tensor.size, size=3):
            value, step = tensor.flat[at], 1e-5
            tensor.flat[at] = value + step
            above = loss()
            tensor.flat[at] = value - step
            below = loss()
            tensor.flat[at] = value
            assert slope.flat[at] == pytest.approx((above - below) / (2 * step), rel=1e-6, abs=1e-8)


def test_gradients_of_views():
    """Items first, and no items."""
    x, params = random(3, 4, 2), parameters("gru", 2, 3)
    output, _, reserve = functional.gru(x, None, params, return_reserve=True)
    wanted = grad.gru_gradients(np.ones_like(output), x, None, params, output, reserve)
    swapped = [one.swapaxes(0, 1) for one in (np.ones_like(output), x, output)]
    found = grad.gru_gradients(swapped[0], swapped[1], None, params, swapped[2], reserve, batch_first=True)
    near([found[0].swapaxes(0, 1), found[1], *found[2]], [wanted[0], wanted[1], *wanted[2]], 0)
    output, _, reserve = functional.gru(x[:, 0], None, params, return_reserve=True)
    found = grad.gru_gradients(np.ones_like(output), x[:, 0], None, params, output, reserve)
    near([found[0]], [wanted[0][:, 0]])


def test_explain():
    page = bp.explain(functional.lstm, random(4, 3, 5), None, parameters("lstm", 5, 7))
    assert "f64 lstm, 4 steps of 3 items, 5 columns to 7" in str(page), page
    page = bp.explain(functional.gru, random(4, 3, 5), None, parameters("gru", 5, 7), reset_before=True)
    assert "f64 gru, reset before the product, 4 steps" in str(page), page
    with pytest.raises(TypeError, match="reset_before"):
        functional.lstm(random(4, 3, 5), None, parameters("lstm", 5, 7), reset_before=True)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (dict(num_layers=2), "params: has 4 arrays"),
        (dict(num_layers=0), "num_layers"),
        (dict(has_biases=False), "params: has 4 arrays"),
        (dict(dropout=2.0), "dropout: is 2.0"),
        (dict(hx=np.zeros((2, 3, 7))), "hx: must be a tuple of two"),
        (dict(hx=(np.zeros((2, 3, 7)), np.zeros((2, 3, 7)))), "the first of size 1"),
        (dict(hx=(np.zeros((1, 2, 7)), None)), "initial_hidden has shape"),
        (dict(hx=(np.zeros((3, 7)), None)), "it must have 3 dimensions"),
        (dict(lengths=[1, 2, 9]), r"lengths\[2\] is 9"),
        (dict(lengths=[1, 2]), "lengths has shape"),
        (dict(input=np.zeros((2, 3, 4))), "weight_ih has shape"),
    ],
)
def test_wrong_arguments(change, text):
    given = dict(input=random(4, 3, 5), hx=None, params=parameters("lstm", 5, 7))
    with pytest.raises((bp.Error, ValueError, TypeError), match=text):
        functional.lstm(**{**given, **change})
