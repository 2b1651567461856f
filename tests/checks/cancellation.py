"""Checks that no thread can be cancelled inside the library: on each path of calls from a public function to a cancellation
point of POSIX there is a function that switches cancellation off (base/uncancelled.h). The calls are read from the
machine code of the built library. Calls of providers through their tables are not followed."""

import collections
import re
import shutil

import common

POINTS = frozenset(
    "accept clock_nanosleep close closedir connect creat dlopen fclose fcntl fdatasync fflush fgets fopen fputs fread fsync"
    " ftruncate fwrite getline glob lockf lseek mkostemp mkstemp msync nanosleep open openat opendir poll popen posix_spawn ppoll"
    " pread pselect pthread_cond_clockwait pthread_cond_timedwait pthread_cond_wait pthread_join pwrite read readdir readv recv"
    " recvmsg scandir select sem_timedwait sem_wait send sendmsg sigsuspend sigtimedwait sigwait sleep syslog system tcdrain usleep"
    " wait wait3 wait4 waitid waitpid write writev".split())
GUARDS = frozenset(["pthread_setcancelstate"])
PAIRED = frozenset(["bp__registry_lock"])  # off until the lock is released
FUNCTION = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
# A function whose address is taken, such as one for qsort(), counts as called.
CALL = re.compile(r"\s(?:callq?|j[a-z]+|lea|bl?|adrp?)\s.*?(?:0x)?([0-9a-f]+) <([^>+]+)>")


def read_calls(library):
    """Returns the names of all functions by address, and the addresses of functions that each of them uses."""
    names, calls, current = {}, collections.defaultdict(set), None
    for line in common.run("objdump", "-d", "--no-show-raw-insn", library).splitlines():
        start = FUNCTION.match(line)
        if start:
            current = int(start.group(1), 16)
            names[current] = re.sub(r"@.*", "", start.group(2))
            continue
        call = CALL.search(line)
        if call and current is not None:
            calls[current].add(int(call.group(1), 16))
    return names, calls


def public_functions(library):
    lines = (line.split() for line in common.run("nm", "-D", "--defined-only", library).splitlines())
    return {int(words[0], 16) for words in lines if words[1] == "T" and words[2].startswith("bp_")}


def path_to_point(start, names, calls):
    """Returns the shortest unprotected path to a cancellation point as text, or None."""
    paths, waiting = {start: (start,)}, collections.deque([start])
    while waiting:
        function = waiting.popleft()
        called = {names.get(address, "") for address in calls[function]}
        if called & (GUARDS | PAIRED):
            continue
        for address in sorted(calls[function]):
            path = (*paths[function], address)
            if names.get(address) in POINTS:
                return " > ".join(names[step] for step in path)
            if address in names and address not in paths:
                paths[address] = path
                waiting.append(address)
    return None


def main():
    common.skip_under_sanitizer("the sanitizer's functions are on the paths")
    if not shutil.which("objdump"):
        common.skip("objdump is missing")
    library = common.build_folder() / "libbackplane.so.0"
    names, calls = read_calls(library)
    public = public_functions(library)
    if not any(name in GUARDS for name in names.values()):
        common.finish(["no function of the library switches cancellation off"], 1)
    failures = [f"a thread can be cancelled here: {path}" for path in
                (path_to_point(start, names, calls) for start in sorted(public, key=names.get)) if path]
    common.finish(failures, len(public))


main()
