"""inference.py - times the example networks with torch and onnxruntime in interleaved rounds.

    python bench/inference.py [build] [models] [threads] [rounds] [model.onnx]        default: build, build/models, 1, 5

The sentence embedding runs with 32 and 128 tokens, alone and 16 at a time, next to BertModel of transformers and its ONNX export,
as far as these are installed; their weights are random, which does not change the time. model.onnx comes from the package
silero-vad, for the voice detection, which onnxruntime runs block after block. Each round starts the C program, which prepares the
network and then prints the median of its runs. Times are medians of the rounds in milliseconds with the least and the
greatest, ratios are times of the others by Backplane's."""
import io
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import wave
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = {"backplane": (), "backplane bf16": ("--set", "fp32_precision=bf16")}


def program(path, threads, repeats, *arguments):
    """Returns a function that runs a C program and returns the time in milliseconds it prints."""

    def run():
        command = [path, "--set", f"num_threads={threads}", "--repeat", repeats, *arguments]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
        return float(re.search(r": ([0-9.]+) ms", done.stderr)[1])

    return run


def median(function, repeats):
    """Returns a function that calls another one and returns the median of the times in milliseconds."""

    def run():
        function()
        return statistics.median(timing.per_call(function, 1) / 1e6 for _ in range(repeats))

    return run


def session(onnxruntime, model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def embedding_peers(torch, transformers, onnxruntime, threads, repeats, batch, length):
    """Yields names and functions of the same network in the other libraries."""
    if not torch or not transformers:
        return
    torch.set_num_threads(threads)
    config = transformers.BertConfig(vocab_size=30522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                                     intermediate_size=1536)

    class Embedding(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = transformers.BertModel(config, add_pooling_layer=False)

        def forward(self, ids, mask):
            hidden, there = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state, mask.unsqueeze(-1)
            return torch.nn.functional.normalize((hidden * there).sum(1) / there.sum(1))

    network = Embedding().eval()
    ids, mask = torch.full((batch, length), 2773), torch.ones(batch, length, dtype=torch.long)

    def run():
        with torch.inference_mode():
            return network(ids, mask)

    yield "torch", median(run, repeats)
    model = io.BytesIO()
    try:
        torch.onnx.export(network, (ids, mask), model, input_names=["ids", "mask"], dynamo=False)
    except Exception as error:  # the exporter needs packages that torch does not require
        print(f"no ONNX export: {error}".splitlines()[0][:120])
        return
    if onnxruntime:
        theirs = session(onnxruntime, model.getvalue(), threads)
        given = {"ids": ids.numpy(), "mask": mask.numpy()}
        yield "onnxruntime", median(lambda: theirs.run(None, given), repeats)


def voice_peer(numpy, onnxruntime, model, threads, repeats, recording):
    theirs = session(onnxruntime, model, threads)
    with wave.open(str(recording)) as file:
        samples = numpy.frombuffer(file.readframes(file.getnframes()), "<i2").astype("float32") / 32768
    samples = numpy.concatenate([numpy.zeros(64, "float32"), samples, numpy.zeros(-len(samples) % 512, "float32")])
    rate = numpy.array(16000)

    def run():
        state = numpy.zeros((2, 1, 128), "float32")
        for first in range(0, len(samples) - 64, 512):
            _, state = theirs.run(None, {"input": samples[None, first : first + 576], "state": state, "sr": rate})

    return median(run, repeats)


def compare(title, candidates, threads, rounds):
    times = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, function in candidates.items():
            if threads > 1:
                time.sleep(0.04)
            times[name].append(function())
    middle = {name: statistics.median(of) for name, of in times.items()}
    print(f"{title}:", *(f"{name} {middle[name]:.2f} [{min(of):.2f}, {max(of):.2f}]" for name, of in times.items()),
          "|", *(f"{name}/backplane {middle[name] / middle['backplane']:.2f}" for name in times if "backplane" not in name), flush=True)


def main(build="build", models="build/models", threads=1, rounds=5, silero=None):
    build, models, threads, rounds = Path(build) / "examples", Path(models), int(threads), int(rounds)
    timing.set_threads(threads)
    torch, transformers, onnxruntime, numpy = map(timing.module, ("torch", "transformers", "onnxruntime", "numpy"))
    print(f"torch {timing.version(torch)} | onnxruntime {timing.version(onnxruntime)} | {threads} threads | {os.cpu_count()} CPUs")
    for length in (32, 128):
        for batch in (1, 16):
            repeats = max(3, 12800 // (batch * length) // 8)
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as sentences:
                sentences.write(("word " * (length - 2) + "\n") * batch)
                sentences.flush()
                files = [models / "sentence_embedding.safetensors", sentences.name]
                candidates = {name: program(build / "sentence_embedding", threads, repeats, *options, *files)
                              for name, options in SETTINGS.items()}
                candidates.update(embedding_peers(torch, transformers, onnxruntime, threads, repeats, batch, length))
                compare(f"embedding {batch} x {length} tokens", candidates, threads, rounds)
    recording = ROOT / "examples/data/speech.wav"
    candidates = {"backplane": program(build / "voice_activity", threads, 20, models / "voice_activity.safetensors", recording)}
    if silero and onnxruntime and numpy:
        candidates["onnxruntime"] = voice_peer(numpy, onnxruntime, silero, threads, 20, recording)
    compare("voice detection", candidates, threads, rounds)


main(*sys.argv[1:])
