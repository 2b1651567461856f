"""Packed sequences against each sequence alone, and their functions against torch where it is installed."""

import numpy as np
import pytest

import backplane as bp
from backplane.nn import functional, grad
from backplane.nn.utils import rnn

rng = np.random.default_rng(8)
GATES = {"rnn_tanh": 1, "rnn_relu": 1, "lstm": 4, "gru": 3}
LENGTHS = [2, 5, 1, 5, 3]


def random(*shape):
    return 0.5 * rng.standard_normal(shape)


def parameters(mode, size, hidden, layers, directions, projection=0):
    found, columns = [], projection or hidden
    for layer in range(layers):
        for _ in range(directions):
            rows, width = GATES[mode] * hidden, size if layer == 0 else directions * columns
            found += [random(rows, width), random(rows, columns), random(rows), random(rows)]
            found += [random(columns, hidden)] if projection else []
    return found


def states(mode, count, items, hidden, projection=0):
    h = random(count, items, projection or hidden)
    return (h, random(count, items, hidden)) if mode == "lstm" else h


def item(mode, hx, n):
    return tuple(one[:, n : n + 1] for one in hx) if mode == "lstm" else hx[:, n : n + 1]


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize(("layers", "directions", "projection"), [(1, 1, 0), (2, 2, 0), (2, 2, 2)])
def test_each_sequence_alone(mode, layers, directions, projection):
    projection = projection if mode == "lstm" else 0
    function = getattr(functional, mode)
    given = dict(num_layers=layers, bidirectional=directions == 2)
    given.update(proj_size=projection) if mode == "lstm" else None
    params = parameters(mode, 4, 3, layers, directions, projection)
    hx = states(mode, layers * directions, len(LENGTHS), 3, projection)
    sequences = [random(length, 4) for length in LENGTHS]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    output, *finals = function(packed, hx, params, **given)
    assert isinstance(output, rnn.PackedSequence) and output.sorted_indices is packed.sorted_indices
    for n, (sequence, found) in enumerate(zip(sequences, rnn.unpack_sequence(output))):
        alone, *ends = function(sequence[:, None], item(mode, hx, n), params, **given)
        np.testing.assert_array_equal(found, alone[:, 0])
        for final, end in zip(finals, ends):
            np.testing.assert_array_equal(final[:, n : n + 1], end)
    order = np.asarray(packed.sorted_indices)
    sorted_hx = tuple(one[:, order] for one in hx) if mode == "lstm" else hx[:, order]
    rest = (True, layers, 0.0, False, directions == 2)
    if not projection:  # torch's form: the items are in the order of the data
        data, *ends = function(packed.data, packed.batch_sizes, sorted_hx, params, *rest)
        np.testing.assert_array_equal(data, output.data)
        for final, end in zip(finals, ends):
            np.testing.assert_array_equal(final[:, order], end)


@pytest.mark.parametrize("mode", GATES)
def test_gradients(mode):
    """Gradients of a packed sequence are the same as with lengths."""
    params, hx = parameters(mode, 4, 3, 1, 2), states(mode, 2, len(LENGTHS), 3)
    sequences = [random(length, 4) for length in LENGTHS]
    packed, padded = rnn.pack_sequence(sequences, False), rnn.pad_sequence(sequences)
    given = dict(bidirectional=True)
    function, gradients = getattr(functional, mode), getattr(grad, f"{mode}_gradients")
    output, *finals, reserve = function(packed, hx, params, **given, return_reserve=True)
    whole, *_, kept = function(padded, hx, params, **given, lengths=LENGTHS, return_reserve=True)
    slopes, ends = random(*whole.shape), [random(*one.shape) for one in finals]
    names = dict(zip(("grad_h_n", "grad_c_n"), ends))
    wanted = gradients(slopes, padded, hx, params, whole, kept, **given, lengths=LENGTHS, **names)
    by_output = rnn.pack_padded_sequence(slopes, LENGTHS, enforce_sorted=False)
    found = gradients(by_output, packed, hx, params, output, reserve, **given, **names)
    for n, sequence in enumerate(rnn.unpack_sequence(found[0])):
        np.testing.assert_allclose(sequence, wanted[0][: LENGTHS[n], n], rtol=1e-12, atol=1e-13)
    pairs = zip(found[1], wanted[1]) if mode == "lstm" else [(found[1], wanted[1])]
    for one, other in [*pairs, *zip(found[2], wanted[2])]:
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_half_precision():
    """f16 is computed in f32, and rounded once."""
    params = [one.astype("f2") for one in parameters("lstm", 4, 3, 2, 2)]
    sequences = [random(length, 4).astype("f2") for length in LENGTHS]
    output, *finals = functional.lstm(rnn.pack_sequence(sequences, False), None, params[:8], bidirectional=True)
    wide = [one.astype("f4") for one in params[:8]]
    wanted, *ends = functional.lstm(rnn.pack_sequence([one.astype("f4") for one in sequences], False), None, wide, bidirectional=True)
    for one, other in [(output.data, wanted.data), *zip(finals, ends)]:
        assert one.dtype == np.float16
        np.testing.assert_array_equal(one, other.astype("f2"))


def test_functions():
    sequences = [random(length, 2) for length in LENGTHS]
    for first in (False, True):
        padded = rnn.pad_sequence(sequences, batch_first=first, padding_value=7)
        packed = rnn.pack_padded_sequence(padded, LENGTHS, first, enforce_sorted=False)
        again, lengths = rnn.pad_packed_sequence(packed, first, 7, total_length=6)
        assert lengths.tolist() == LENGTHS and again.shape[1 if first else 0] == 6
        np.testing.assert_array_equal(again[:, :5] if first else again[:5], padded)
    left = rnn.pad_sequence(sequences, True, padding_side="left")
    assert (left[0, :3] == 0).all() and (left[0, 3:] == sequences[0]).all()
    assert rnn.invert_permutation(np.array([2, 0, 1])).tolist() == [1, 2, 0] and rnn.invert_permutation(None) is None


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rnn.pack_padded_sequence(np.ones((3, 2)), [1, 2]), "descending order with enforce_sorted"),
        (lambda: rnn.pack_padded_sequence(np.ones((3, 2)), [4, 2]), "from 2 to 4; they must be from 1 to 3"),
        (lambda: rnn.pack_padded_sequence(np.ones((3, 2)), [2, 0]), "from 0 to 2"),
        (lambda: rnn.pack_padded_sequence(np.ones((3, 2)), [2]), "lengths: has 1 elements"),
        (lambda: rnn.pack_padded_sequence(np.ones((3, 2)), [2.0, 1.0]), "must be integers"),
        (lambda: rnn.pad_packed_sequence(np.ones(3)), "must be a PackedSequence"),
        (lambda: rnn.pad_packed_sequence(rnn.PackedSequence(np.ones(3), [2, 1]), total_length=1), "total_length: is 1"),
        (lambda: rnn.pad_packed_sequence(rnn.PackedSequence(np.ones(3), [1, 2])), "descending order"),
        (lambda: rnn.pad_packed_sequence(rnn.PackedSequence(np.ones(4), [2, 1])), "a sum of 3"),
        (lambda: rnn.pad_sequence([]), "has no items"),
        (lambda: rnn.pad_sequence([np.ones((2, 3)), np.ones((2, 4))]), "the same sizes but the first"),
        (lambda: rnn.invert_permutation([1, 1]), "from 0 once"),
        (lambda: functional.gru(np.ones((3, 2)), [2, 1], None, [1, 2]), "all arguments up to bidirectional"),
        (lambda: functional.gru(rnn.PackedSequence(np.ones((3, 2)), [2, 1]), None, [], lengths=[2, 1]), "lengths: a packed"),
    ],
)
def test_wrong_arguments(call, text):
    with pytest.raises((bp.Error, ValueError, TypeError), match=text):
        call()


def test_torch():
    torch = pytest.importorskip("torch")
    sequences = [torch.randn(length, 4) for length in LENGTHS]
    layer = torch.nn.LSTM(4, 3, 2, bidirectional=True)
    params = [one.detach() for group in layer.all_weights for one in group]
    packed = torch.nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    own = rnn.pack_sequence(sequences, enforce_sorted=False)
    for one, other in zip(own, packed):
        assert torch.equal(one, other)
    with torch.no_grad():
        wanted, ends = layer(packed)
    output, *finals = functional.lstm(packed, None, params, num_layers=2, bidirectional=True)
    torch.testing.assert_close(output.data, wanted.data)
    for one, other in zip(finals, ends):
        torch.testing.assert_close(one, other)
    half = [one.bfloat16() for one in params]
    rounded = functional.lstm(packed.to(torch.bfloat16), None, half, num_layers=2, bidirectional=True)[0].data
    assert rounded.dtype == torch.bfloat16
    torch.testing.assert_close(rounded.float(), wanted.data, rtol=0.05, atol=0.03)
