"""Checks that no thread can be cancelled inside the library: on each path of calls from a public function to a cancellation
point of POSIX there is a function that switches cancellation off (base/uncancelled.h). The calls are read from the
machine code of the built library. Calls of providers through their tables are not followed."""

import collections

import common

POINTS = frozenset(
    "accept clock_nanosleep close closedir connect creat dlopen fclose fcntl fdatasync fflush fgets fopen fputs fread fsync"
    " ftruncate fwrite getline glob lockf lseek mkostemp mkstemp msync nanosleep open openat opendir poll popen posix_spawn ppoll"
    " pread pselect pthread_cond_clockwait pthread_cond_timedwait pthread_cond_wait pthread_join pwrite read readdir readv recv"
    " recvmsg scandir select sem_timedwait sem_wait send sendmsg sigsuspend sigtimedwait sigwait sleep syslog system tcdrain usleep"
    " wait wait3 wait4 waitid waitpid write writev".split())
GUARDS = frozenset(["pthread_setcancelstate"])
PAIRED = frozenset(["bp__registry_lock"])  # off until the lock is released


def path_to_point(start, code):
    """Returns the shortest unprotected path to a cancellation point as text, or None."""
    paths, waiting = {start: (start,)}, collections.deque([start])
    while waiting:
        function = waiting.popleft()
        called = sorted(address for address in code.calls[function] if address in code.names)
        if {code.names[address] for address in called} & (GUARDS | PAIRED):
            continue
        for address in called:
            path = (*paths[function], address)
            if code.names[address] in POINTS:
                return " > ".join(code.names[step] for step in path)
            if address not in paths:
                paths[address] = path
                waiting.append(address)
    return None


def main():
    code = common.machine_code("libbackplane.so.0").without_helper()
    if GUARDS.isdisjoint(code.names.values()):
        common.finish(["no function of the library switches cancellation off"], 1)
    public = code.public()
    failures = [f"a thread can be cancelled here: {path}" for path in (path_to_point(start, code) for start in public) if path]
    common.finish(failures, len(public))


main()
