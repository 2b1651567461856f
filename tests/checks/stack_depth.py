"""Checks that no call of a public function takes more than 16 KiB of stack in the library's own functions, on any path of
direct calls in the machine code of the built library. Kernels and providers are called through pointers, and are not counted;
recursion is counted once."""

import platform

import common

MOST = 16 << 10


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


def main():
    if platform.machine() != "x86_64":
        common.skip("the frames are read from x86-64 code")
    if "CMAKE_BUILD_TYPE:STRING=Debug" in (common.build_folder() / "CMakeCache.txt").read_text(encoding="utf-8"):
        common.skip("without optimization frames are larger")
    code, known = common.machine_code("libbackplane.so.0"), {}
    public = code.public()
    failures = []
    for start in public:
        depth, path = deepest(start, code, known)
        if depth > MOST:
            failures.append(f"{depth} bytes of stack, more than {MOST}: {' > '.join(path)}")
    common.finish(failures, len(public))


main()
