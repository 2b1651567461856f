"""Checks that dlpack.h declares the structs with the layout of DLPack's own header. Skipped if that is not installed."""

import pathlib
import subprocess
import tempfile

import common

THEIRS = pathlib.Path("/usr/include/dlpack/dlpack.h")
FIELDS = {
    "DLTensor": ["data", "device", "ndim", "dtype", "shape", "strides", "byte_offset"],
    "DLDataType": ["code", "bits", "lanes"],
    "DLDevice": ["device_type", "device_id"],
    "DLManagedTensor": ["dl_tensor", "manager_ctx", "deleter"],
    "DLManagedTensorVersioned": ["version", "manager_ctx", "deleter", "flags", "dl_tensor"],
}
CODES = ["kDLCPU", "kDLCUDA", "kDLCUDAHost", "kDLROCM", "kDLROCMHost", "kDLInt", "kDLUInt", "kDLFloat", "kDLBfloat",
         "kDLComplex", "kDLBool"]


def facts(header, names):
    """Returns the size and offsets of the structs and the codes that a header declares, as a program prints them."""
    lines = []
    for struct in names:
        lines += [f'printf("{struct} %zu\\n", sizeof({struct}));']
        lines += [f'printf("{struct}.{field} %zu\\n", offsetof({struct}, {field}));' for field in FIELDS[struct]]
    lines += [f'printf("{code} %d\\n", (int){code});' for code in names_of_codes(header)]
    program = f'#include <stdio.h>\n#include <stddef.h>\n#include "{header}"\nint main(void) {{ {" ".join(lines)} }}\n'
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "dlpack_layout"
        subprocess.run(["cc", "-xc", "-I", common.ROOT / "include", "-o", out, "-"], input=program, text=True, check=True)
        return common.run(out).splitlines()


def names_of_codes(_):
    text = THEIRS.read_text()
    return [code for code in CODES if code in text]


def main():
    if not THEIRS.exists():
        common.skip("DLPack's header is not installed (Debian: libdlpack-dev)")
    names = [name for name in FIELDS if name in THEIRS.read_text()]
    theirs, ours = facts(THEIRS, names), facts("backplane/dlpack.h", names)
    failures = [f"DLPack has {a}, backplane/dlpack.h has {b}" for a, b in zip(theirs, ours) if a != b]
    common.finish(failures, len(theirs))


main()
