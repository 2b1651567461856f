"""The modules of src/, and which of them each may use. ARCHITECTURE.md has the same table."""

# Each module, and the modules whose internal headers it may include in addition to its own.
MAY_INCLUDE = {
    "base": [],
    "settings": ["base"],
    "tensor": ["base"],
    "machine": ["base", "settings"],
    "store": ["base", "settings"],
    "registry": ["base", "settings", "store", "machine"],
    "dist": ["base", "settings", "store", "tensor", "machine", "registry"],
    "device": ["base", "settings", "store", "tensor", "machine", "registry", "dist"],
    "einsum": ["base", "settings"],
    "calibration": ["base", "settings", "store", "machine", "registry"],
    "tuning": ["base"],
    "dispatch": ["base", "settings", "store", "tensor", "machine", "registry", "dist", "device", "calibration", "einsum", "tuning"],
    "ops": ["base", "settings", "store", "tensor", "machine", "registry", "device", "calibration", "einsum", "tuning", "dispatch"],
    "graph": ["base", "settings", "tensor", "dispatch", "ops"],
    "onnx": ["base", "tensor", "dispatch", "ops", "graph"],
    # The helper program makes plans of the library for the times that it measures.
    "probe": ["base", "settings", "store", "tensor", "machine", "registry", "dist", "device", "calibration", "tuning", "dispatch"],
}
