"""Checks that no call of a public function takes more than 16 KiB of stack in the library's own functions, on any path of
direct calls in the machine code of the built library; recursion is counted once. Kernels and providers are called through
pointers, which is no path here: so no single function of the library and of its providers has more than 9 KiB, but for one. What
calls through pointers take is measured by tests/fuzz/families/stack.c. Frames depend on what the compiler inlines: `make clang`
checks them as clang makes them."""

import platform

import common

MOST = 16 << 10
MOST_FRAME = 9 << 10
# Functions with larger frames: bytes, and the reason.
LARGER = {"bp__layer_rows_part": (10 << 10) + 256}  # norms: what is known of 64 rows
PROVIDERS = ("blas", "cuda", "fftw", "opencl", "scalapack")


def deepest(start, code, known, above=frozenset()):
    """Returns the bytes of stack of the deepest path, and its functions."""
    if start in known:
        return known[start]
    depth, path = 0, ()
    for address in code.calls[start]:
        if address in code.names and address not in above and address != start:
            below = deepest(address, code, known, above | {start})
            depth, path = max((depth, path), below)
    known[start] = (code.stack[start] + depth, (f"{code.names[start]} ({code.stack[start]})", *path))
    return known[start]


def large_frames(code):
    """Returns the failures of functions whose own frame is too large."""
    return [f"{code.library.name}: {name} takes {code.stack[at]} bytes of stack, more than {LARGER.get(name, MOST_FRAME)}: use the "
            "memory of the plan" for at, name in code.names.items() if code.stack[at] > LARGER.get(name, MOST_FRAME)]


def main():
    if platform.machine() != "x86_64":
        common.skip("the frames are read from x86-64 code")
    if "CMAKE_BUILD_TYPE:STRING=Debug" in (common.build_folder() / "CMakeCache.txt").read_text(encoding="utf-8"):
        common.skip("without optimization frames are larger")
    code, known = common.machine_code("libbackplane.so.0").without_helper(), {}
    public = code.public()
    modules = [common.build_folder() / f"backplane-providers/{name}.so" for name in PROVIDERS]
    failures = large_frames(code)
    for module in modules:
        failures += large_frames(common.machine_code(f"backplane-providers/{module.name}")) if module.exists() else []
    for start in public:
        depth, path = deepest(start, code, known)
        if depth > MOST:
            failures.append(f"{depth} bytes of stack, more than {MOST}: {' > '.join(path)}")
    common.finish(failures, len(public))


main()
