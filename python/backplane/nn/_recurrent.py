"""Recurrent layers for backplane.nn.functional, and their gradients for backplane.nn.grad."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

from .. import _core
from .._convert import exact, numpy_of, shape_of
from .._errors import bad_type, bad_value
from .._products import _is_numpy, _is_torch, _like
from ._functions import function
from ._packed import PackedSequence, as_packed, gather, ordered, spread

if TYPE_CHECKING:
    from .._types import Flag, Kind, Operand, Parameters, SettingsArgument, State, States, Steps

# Fields of the call.
INPUT, WEIGHT_IH, WEIGHT_HH, WEIGHT_HR, BIAS_IH, BIAS_HH = "input", "weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh"
HIDDEN, CELL, LENGTHS = "initial_hidden", "initial_cell", "lengths"
OUTPUT, FINAL_HIDDEN, FINAL_CELL, RESERVE = "output", "final_hidden", "final_cell", "reserve"
GRAD_OUTPUT, GRAD_HIDDEN, GRAD_CELL = "grad_output", "grad_h_n", "grad_c_n"
BY_INPUT, BY_HIDDEN, BY_CELL = "input_gradient", "initial_hidden_gradient", "initial_cell_gradient"
BY_IH, BY_HH, BY_HR = "weight_ih_gradient", "weight_hh_gradient", "weight_hr_gradient"
BY_BIAS_IH, BY_BIAS_HH = "bias_ih_gradient", "bias_hh_gradient"

GATES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}
"""Rows of the weights for each unit."""

# ---- Views ----


def _view(array: Any) -> Any:
    """Returns the array as one that has views: NumPy's, torch's or similar."""
    return array if hasattr(array, "swapaxes") else numpy_of("rnn").asarray(array)


def _concatenate(parts: Sequence[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if all(map(_is_torch, parts)):
        return sys.modules["torch"].cat(list(parts))
    numpy = numpy_of("rnn")
    return numpy.concatenate([numpy.asarray(part) for part in parts])


def _both(arrays: Sequence[Any]) -> Any:
    """Returns the parameter of one direction, or the parameters of both as one array."""
    if len(arrays) == 1:
        return arrays[0]
    if all(map(_is_torch, arrays)):
        return sys.modules["torch"].stack(list(arrays))
    numpy = numpy_of("rnn")
    return numpy.stack([numpy.asarray(array) for array in arrays])


# ---- Arguments ----


def _sets(name: str, of: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Returns the parameters of each layer, from the list in torch's order."""
    projection = of.get("proj_size", 0)  # which an LSTM has
    places = [WEIGHT_IH, WEIGHT_HH] + [BIAS_IH, BIAS_HH] * bool(of["has_biases"])
    places += [WEIGHT_HR] * (projection > 0)
    params, directions, layers = list(of["params"]), 1 + bool(of["bidirectional"]), of["num_layers"]
    wanted = layers * directions * len(places)
    if layers < 1:
        raise bad_value(f"num_layers: is {layers}; it must be at least 1")
    if len(params) != wanted:
        raise bad_value(
            f"params: has {len(params)} arrays; {layers} layers with {directions} directions and {len(places)} arrays each "
            f"need {wanted}"
        )
    sets = []
    for first in range(0, wanted, directions * len(places)):
        own = [params[first + d * len(places) :][: len(places)] for d in range(directions)]
        sets.append({place: _both([exact(name, one[i]) for one in own]) for i, place in enumerate(places)})
    if projection > 0 and any(shape_of(one[WEIGHT_HR])[-2] != projection for one in sets):
        raise bad_value(f"proj_size: is {projection}; the projections in params have another number of rows", "E_SHAPE")
    return sets


def _states(name: str, hx: Any, unbatched: bool) -> Tuple[Any, Any]:
    """Returns hidden state and cell, None where they are absent."""
    if hx is None:
        return None, None
    if name == "lstm" and not (isinstance(hx, (tuple, list)) and len(hx) == 2):
        raise bad_value("hx: must be a tuple of two, hidden state and cell, or None")
    given = hx if name == "lstm" else (hx,)
    states = [None if one is None else _view(exact(name, one)) for one in given]
    states = [None if one is None else one[:, None] for one in states] if unbatched else states
    return states[0], states[1] if name == "lstm" else None


def _steps_first(array: Any, batch_first: bool, unbatched: bool) -> Any:
    """Returns an input or output with steps, items and columns."""
    if unbatched:
        return _view(array)[:, None]
    return _view(array).swapaxes(0, 1) if batch_first else array


def _as_given(array: Any, batch_first: bool, unbatched: bool) -> Any:
    if unbatched:
        return array[:, 0]
    return array.swapaxes(0, 1) if batch_first else array


def _lengths(lengths: Any) -> Any:
    return None if lengths is None else numpy_of("rnn").asarray(lengths, dtype="int64")


# ---- Layers ----


def _layer(name: str, pass_: str, of: Dict[str, Any], tensors: Dict[str, Any], wanted: Sequence[str], explains: bool) -> Any:
    given = {INPUT: tensors[INPUT], **tensors}  # the first array decides the type of the results
    fields: Dict[str, Any] = {"mode": name, "directions": 1 + bool(of["bidirectional"])}
    if name == "gru":
        fields["reset_before"] = of["reset_before"]
    results = _core.call("rnn", tuple(wanted), None, None, of["settings"], explains, pass_=pass_, **fields, **given)
    return results if explains else tuple(_like(one, tensors[INPUT]) for one in results)


def _drop(output: Any, p: float, generator: Any) -> Any:
    """Sets elements of a fresh array to 0 with probability p, and divides the others by 1 - p."""
    numpy = numpy_of("dropout")
    generator = generator if isinstance(generator, numpy.random.Generator) else numpy.random.default_rng(generator)
    kept, scale = generator.random(shape_of(output)) >= p, 1 - p if p < 1 else 1
    if _is_torch(output):  # NumPy has no bf16
        output *= sys.modules["torch"].from_numpy(kept).to(output.dtype) / scale
        return output
    values = output if _is_numpy(output) else numpy.asarray(output)
    values *= kept / values.dtype.type(scale)
    return output


def _forward(name: str, of: Dict[str, Any], explains: bool) -> Any:
    if not 0 <= of["dropout"] <= 1:
        raise bad_value(f"dropout: is {of['dropout']}; it must be from 0 to 1")
    sets, directions = _sets(name, of), 1 + bool(of["bidirectional"])
    if of["return_reserve"] and len(sets) > 1:
        raise bad_value(f"return_reserve: is for a single layer, and num_layers is {len(sets)}")
    given = exact(name, of["input"])
    unbatched = len(shape_of(given)) == 2
    current = _steps_first(given, of["batch_first"], unbatched)
    hidden, cell = _states(name, of["hx"], unbatched)
    for state in (hidden, cell):
        shape = (0, 0, 0) if state is None else shape_of(state)
        if state is not None and (len(shape) != 3 or shape[0] != len(sets) * directions):
            raise bad_value(
                f"hx: a state has shape {shape}; it must have 3 dimensions, the first of size {len(sets) * directions}: layers "
                "times directions",
                "E_SHAPE",
            )
    wanted = [OUTPUT, FINAL_HIDDEN] + [FINAL_CELL] * (name == "lstm") + [RESERVE] * bool(of["return_reserve"])
    finals: List[Tuple[Any, ...]] = []
    for i, tensors in enumerate(sets):
        own = slice(i * directions, (i + 1) * directions)
        tensors.update({INPUT: current, LENGTHS: _lengths(of["lengths"])})
        tensors[HIDDEN] = None if hidden is None else hidden[own]
        tensors[CELL] = None if cell is None else cell[own]
        results = _layer(name, "training" if of["return_reserve"] else "inference", of, tensors, wanted, explains)
        if explains:
            return results
        current = results[0]
        finals.append(results[1:])
        if of["train"] and of["dropout"] > 0 and i + 1 < len(sets):
            current = _drop(current, of["dropout"], of["generator"])
    states = [_concatenate(parts) for parts in zip(*(one[: 1 + (name == "lstm")] for one in finals))]
    states = [_view(one)[:, 0] for one in states] if unbatched else states
    output = _as_given(_view(current), of["batch_first"], unbatched) if unbatched or of["batch_first"] else current
    return (output, *states, *finals[0][len(states) :])


def _backward(name: str, of: Dict[str, Any], explains: bool) -> Any:
    tensors = _sets(name, dict(of, num_layers=1))[0]
    given = exact(name, of["input"])
    unbatched, first = len(shape_of(given)) == 2, of["batch_first"]
    hidden, cell = _states(name, of["hx"], unbatched)
    grad_hidden, grad_cell = (
        None if one is None else _view(exact(name, one))[:, None] if unbatched else exact(name, one)
        for one in (of["grad_h_n"], of.get("grad_c_n"))
    )
    for place in (BIAS_IH, BIAS_HH):
        tensors.pop(place, None)
    tensors.update({INPUT: _steps_first(given, first, unbatched), HIDDEN: hidden, CELL: cell, RESERVE: of["reserve"]})
    tensors[OUTPUT] = _steps_first(exact(name, of["output"]), first, unbatched)
    tensors[GRAD_OUTPUT] = _steps_first(exact(name, of["grad_output"]), first, unbatched)
    tensors.update({LENGTHS: _lengths(of["lengths"]), GRAD_HIDDEN: grad_hidden, GRAD_CELL: grad_cell})
    states = [BY_HIDDEN] + [BY_CELL] * (name == "lstm")
    weights = [BY_IH, BY_HH] + [BY_HR] * (WEIGHT_HR in tensors) + [BY_BIAS_IH, BY_BIAS_HH] * bool(of["has_biases"])
    wanted = [BY_INPUT, *states, *weights]
    results = _layer(name, "backward", of, tensors, wanted, explains)
    if explains:
        return results
    by = dict(zip(wanted, results))
    of_states = tuple(_view(by[place])[:, 0] if unbatched else by[place] for place in states)
    order = [BY_IH, BY_HH] + [BY_BIAS_IH, BY_BIAS_HH] * bool(of["has_biases"]) + [BY_HR] * (WEIGHT_HR in tensors)
    views = {place: _view(by[place]) for place in order}
    if of["bidirectional"]:
        params = [views[place][d] for d in range(2) for place in order]
    else:  # weights are given without a dimension for the directions, and so are their gradients
        params = [views[place][0] if place in (BY_BIAS_IH, BY_BIAS_HH) else views[place] for place in order]
    by_input = by[BY_INPUT]
    if unbatched or first:
        by_input = _as_given(_view(by_input), first, unbatched)
    return by_input, of_states if name == "lstm" else of_states[0], params


# ---- Packed sequences ----

_TORCH_ORDER = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")


def _packed_input(name: str, of: Dict[str, Any]) -> Tuple[Dict[str, Any], Optional[PackedSequence]]:
    """Returns the arguments by name and the packed input, if it is one. torch.lstm(data, batch_sizes, hx, params, ...) has one
    argument more than the call without, and no batch_first."""
    if isinstance(of["has_biases"], (list, tuple)):
        data, sizes, *rest = (of[word] for word in _TORCH_ORDER)
        of = dict(of, **dict(zip(("hx", *_TORCH_ORDER[2:-1]), rest)), batch_first=False)
        if isinstance(of["num_layers"], float):
            raise bad_type(f"{name}: with batch_sizes, all arguments up to bidirectional are needed")
        packed: Optional[PackedSequence] = PackedSequence(data, sizes)
    else:
        packed = as_packed(of["input"])
    if packed is not None and of["lengths"] is not None:
        raise bad_value("lengths: a packed sequence has its own, so they must be None")
    return of, packed


def _ordered(hx: Any, index: Any) -> Any:
    return type(hx)(ordered(one, index) for one in hx) if isinstance(hx, (tuple, list)) else ordered(hx, index)


def _forward_any(name: str, given: Dict[str, Any], explains: bool) -> Any:
    """Computes layers of an array, or of a packed sequence. torch's form with batch_sizes has the data as its result."""
    of, packed = _packed_input(name, given)
    if packed is None:
        return _forward(name, of, explains)
    padded, lengths = spread(packed.data, packed.batch_sizes)
    hx = _ordered(of["hx"], packed.sorted_indices)
    results = _forward(name, dict(of, input=padded, hx=hx, lengths=lengths, batch_first=False), explains)
    if explains:
        return results
    count = 1 + (name == "lstm")
    data = gather(_view(results[0]), packed.batch_sizes)
    output = packed._replace(data=data) if of is given else data
    return (output, *(ordered(_view(one), packed.unsorted_indices) for one in results[1 : 1 + count]), *results[1 + count :])


def _backward_any(name: str, of: Dict[str, Any], explains: bool) -> Any:
    """Computes the gradients of a layer of an array, or of a packed sequence."""
    packed = as_packed(of["input"])
    if packed is None:
        return _backward(name, of, explains)
    if of["lengths"] is not None:
        raise bad_value("lengths: a packed sequence has its own, so they must be None")
    padded, lengths = spread(packed.data, packed.batch_sizes)
    both = {}
    for word in ("output", "grad_output"):
        one = as_packed(of[word])
        both[word] = spread(of[word] if one is None else one.data, packed.batch_sizes)[0]
    states = {word: ordered(of.get(word), packed.sorted_indices) for word in ("grad_h_n", "grad_c_n")}
    hx = _ordered(of["hx"], packed.sorted_indices)
    results = _backward(name, dict(of, input=padded, hx=hx, lengths=lengths, batch_first=False, **both, **states), explains)
    if explains:
        return results
    by_input, by_hx, by_params = results
    by_input = packed._replace(data=gather(_view(by_input), packed.batch_sizes))
    by_hx = tuple(map(_view, by_hx)) if name == "lstm" else _view(by_hx)
    return by_input, _ordered(by_hx, packed.unsorted_indices), by_params


# ---- The functions ----


_TEXT = """Computes {what}, as torch.{name}().

    ``input`` is steps x items x columns, with ``batch_first`` items x steps x columns, or without items steps x columns.
    ``hx`` is {hx}; None stands for zeros. ``params`` lists, for each layer and each direction, the weights
    ``w_ih``, ``w_hh``, with ``has_biases`` ``b_ih`` and ``b_hh``{projection}. Returns {results}.

    With ``train``, dropout is applied between layers; ``generator`` is a numpy.random.Generator, or a seed for one. ``lengths``
    are the steps of each item, in any order: later outputs are 0, and the final states are those after the last step of each
    item. ``return_reserve``, for one layer, adds what backplane.nn.grad.{name}_gradients() needs.{more}

    ``input`` may be a PackedSequence of backplane.nn.utils.rnn or of torch; then the output is one, and the items of the states
    are in the caller's order. The form of torch with ``batch_sizes`` is accepted, with all of its arguments:
    ``{name}(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)``.

    Shapes: with T steps, N items, I columns, H units and D directions: ``input`` T x N x I, the states layers * D x N x H, the output
    T x N x D * H; the weights {gates} * H x I and {gates} * H x H, the biases {gates} * H. Later layers have D * H columns.
    Errors: BadValueError: the number of arrays in params is another than the arguments say, or dropout is not from 0 to 1

    >>> params = [np.zeros(({gates}, 1)), np.zeros(({gates}, 1))]
    >>> results = backplane.nn.functional.{name}(np.ones((2, 1, 1)), None, params, has_biases=False)
    >>> results[0].shape, len(results)
    ((2, 1, 1), {count})
    """
_RESET_BEFORE = """

    With ``reset_before``, which PyTorch does not have, the reset gate is multiplied by the hidden state before the product with
    the weights, as in Cho et al. (2014): the GRU of Keras with ``reset_after=False``, and of ONNX with
    ``linear_before_reset=0``. Both biases of the new state are added."""
_GRADIENTS = """Computes the gradients of one layer of {name}() by its input, ``hx`` and ``params``, as a tuple.

    ``output`` and ``reserve`` are what that call returned with ``return_reserve``; all other arguments are as in that call.
    {states} gradients by the final states, or None. The second result is {hx}, the third a list as ``params``.

    Shapes: as in the call that they belong to; each result is as the array that it is the gradient by.

    >>> x, params = np.ones((2, 1, 1)), [np.ones(({gates}, 1)), np.ones(({gates}, 1))]
    >>> y, *states, reserve = backplane.nn.functional.{name}(x, None, params, has_biases=False, return_reserve=True)
    >>> by_input, by_hx, by_params = backplane.nn.grad.{name}_gradients(np.ones_like(y), x, None, params, y, reserve, has_biases=False)
    >>> by_input.shape, [one.shape for one in by_params]
    ((2, 1, 1), [({gates}, 1), ({gates}, 1)])
    """


def _layers(
    input: Steps,
    hx: State,
    params: Parameters,
    has_biases: Union[bool, Sequence[Operand]] = True,
    num_layers: int = 1,
    dropout: float = 0.0,
    train: float = False,
    bidirectional: bool = False,
    batch_first: bool = False,
    *,
    lengths: Optional[Operand] = None,
    generator: Any = None,
    return_reserve: Flag = False,
    settings: SettingsArgument = None,
) -> Union[Tuple[Kind, Kind], Tuple[Kind, Kind, Kind]]:
    """{help}"""
    return locals()  # type: ignore[return-value]


def _layers_help(name: str, what: str) -> str:
    """Returns the help of a mode other than LSTM."""
    hx, results = "the initial hidden states, (layers * directions) x items x units", "output and final hidden states"
    more = _RESET_BEFORE if name == "gru" else ""
    return _TEXT.format(what=what, hx=hx, projection="", results=results, more=more, name=name, gates=GATES[name], count=2)


rnn_tanh, rnn_relu = (
    function("backplane.nn.functional", _forward_any, name, help=_layers_help(name, what))(_layers)
    for name, what in (("rnn_tanh", "layers of RNNs with tanh"), ("rnn_relu", "layers of RNNs with max(., 0)"))
)


@function("backplane.nn.functional", _forward_any, help=_layers_help("gru", "layers of GRUs"))
def gru(
    input: Steps,
    hx: State,
    params: Parameters,
    has_biases: Union[bool, Sequence[Operand]] = True,
    num_layers: int = 1,
    dropout: float = 0.0,
    train: float = False,
    bidirectional: bool = False,
    batch_first: bool = False,
    *,
    lengths: Optional[Operand] = None,
    reset_before: bool = False,
    generator: Any = None,
    return_reserve: Flag = False,
    settings: SettingsArgument = None,
) -> Union[Tuple[Kind, Kind], Tuple[Kind, Kind, Kind]]:
    """{help}"""
    return locals()  # type: ignore[return-value]


@function(
    "backplane.nn.functional",
    _forward_any,
    help=_TEXT.format(
        what="layers of LSTMs",
        hx="a tuple of initial hidden states and cells, (layers * directions) x items x units",
        projection=", and with ``proj_size`` ``w_hr``",
        results="output, final hidden states and final cells",
        more="",
        name="lstm",
        gates=GATES["lstm"],
        count=3,
    ),
)
def lstm(
    input: Steps,
    hx: States,
    params: Parameters,
    has_biases: Union[bool, Sequence[Operand]] = True,
    num_layers: int = 1,
    dropout: float = 0.0,
    train: float = False,
    bidirectional: bool = False,
    batch_first: bool = False,
    *,
    lengths: Optional[Operand] = None,
    proj_size: int = 0,
    generator: Any = None,
    return_reserve: Flag = False,
    settings: SettingsArgument = None,
) -> Union[Tuple[Kind, Kind, Kind], Tuple[Kind, Kind, Kind, Kind]]:
    """{help}"""
    return locals()  # type: ignore[return-value]


def _gradients(
    grad_output: Operand,
    input: Steps,
    hx: States,
    params: Sequence[Operand],
    output: Operand,
    reserve: Operand,
    has_biases: bool = True,
    bidirectional: bool = False,
    batch_first: bool = False,
    *,
    grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None,
    settings: SettingsArgument = None,
) -> Tuple[Kind, Kind, List[Kind]]:
    """{help}"""
    return locals()  # type: ignore[return-value]


def _differentiate(name: str, of: Dict[str, Any], explains: bool) -> Any:
    return _backward_any(name[: -len("_gradients")], of, explains)


def _gradients_help(name: str) -> str:
    return _GRADIENTS.format(name=name, gates=GATES[name], states="``grad_h_n`` is the", hx="the gradient by ``hx``")


rnn_tanh_gradients, rnn_relu_gradients = (
    function("backplane.nn.grad", _differentiate, f"{name}_gradients", help=_gradients_help(name))(_gradients)
    for name in ("rnn_tanh", "rnn_relu")
)


@function("backplane.nn.grad", _differentiate, help=_gradients_help("gru"))
def gru_gradients(
    grad_output: Operand,
    input: Steps,
    hx: States,
    params: Sequence[Operand],
    output: Operand,
    reserve: Operand,
    has_biases: bool = True,
    bidirectional: bool = False,
    batch_first: bool = False,
    *,
    grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None,
    reset_before: bool = False,
    settings: SettingsArgument = None,
) -> Tuple[Kind, Kind, List[Kind]]:
    """{help}"""
    return locals()  # type: ignore[return-value]


@function(
    "backplane.nn.grad",
    _differentiate,
    help=_GRADIENTS.format(
        name="lstm", gates=GATES["lstm"], states="``grad_h_n`` and ``grad_c_n`` are the", hx="a tuple of the gradients by both parts of ``hx``"
    ),
)
def lstm_gradients(
    grad_output: Operand,
    input: Steps,
    hx: States,
    params: Sequence[Operand],
    output: Operand,
    reserve: Operand,
    has_biases: bool = True,
    bidirectional: bool = False,
    batch_first: bool = False,
    *,
    grad_h_n: Optional[Operand] = None,
    grad_c_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None,
    proj_size: int = 0,
    settings: SettingsArgument = None,
) -> Tuple[Kind, Tuple[Kind, Kind], List[Kind]]:
    """{help}"""
    return locals()  # type: ignore[return-value]
