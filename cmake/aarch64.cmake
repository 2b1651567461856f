# Toolchain of `make aarch64`: Debian's cross compiler, and qemu's user-mode emulation to run what it builds. Libraries without
# a Debian cross package (cmocka, OpenBLAS) are in build-aarch64/sysroot, installed by tools/aarch64.sh.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
get_filename_component(aarch64_root ${CMAKE_CURRENT_LIST_DIR}/../build-aarch64/sysroot ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${aarch64_root} /usr/aarch64-linux-gnu ${CMAKE_PREFIX_PATH})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# Programs that the emulator runs find the libraries by these variables, also if another program of the build starts them.
set(emulated_environment QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
    LD_LIBRARY_PATH=${aarch64_root}/usr/lib/aarch64-linux-gnu/openblas-pthread:${aarch64_root}/usr/lib/aarch64-linux-gnu)
