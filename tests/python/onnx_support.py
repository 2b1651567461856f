"""Models of one node, for the tests of ONNX files."""

import backplane as bp


def run_node(path, opset, operation, arrays, constants=(), outputs=1, **attributes):
    """Runs a node. Arrays whose numbers are in `constants` are initializers, and None is an absent input."""
    import onnx

    names = ["" if array is None else f"x{i}" for i, array in enumerate(arrays)]
    results = [f"y{i}" for i in range(outputs)]
    node = onnx.helper.make_node(operation, names, results, **attributes)
    given = {name: array for name, array in zip(names, arrays) if name}
    known = {f"x{i}" for i in constants}
    kinds = {name: onnx.helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in given.items()}
    ports = [onnx.helper.make_tensor_value_info(name, kinds[name], array.shape) for name, array in given.items() if name not in known]
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in given.items() if name in known]
    shapes = [onnx.helper.make_tensor_value_info(name, 1, None) for name in results]
    graph = onnx.helper.make_graph([node], "g", ports, shapes, tensors)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)
    path.write_bytes(model.SerializeToString())
    return bp.Graph.from_onnx(path)(*[array for name, array in given.items() if name not in known])
