"""Ctrl-C in long calls: a path search, an einsum with many steps, large products and batches soon end with KeyboardInterrupt,
in the main thread only, and the next call works."""

import textwrap

import pytest

# A thread sends a signal after the call has begun. Without it the call would take much longer than the test may. The program
# prints the time between the signal and the end of the call.
SENDER = """
import os, signal, threading, time
import backplane

sent = []

def send(delay=0.3):
    def later():
        time.sleep(delay)
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=later).start()
"""


def interrupted(python, code, **env):
    result = python("-c", SENDER + textwrap.dedent(code), **env)
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout.split()


def test_a_search_ends(python):
    words = interrupted(
        python,
        """
        letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        for function in backplane.einsum_path, backplane.einsum:
            send()
            operands = [(2,)] * 52 if function is backplane.einsum_path else [memoryview(b"ab" * 8).cast("d")] * 52
            kept = {"shapes": True} if function is backplane.einsum_path else {}
            try:
                function(",".join(letters) + "->", *operands, optimize="optimal", work=10**15, **kept)
            except KeyboardInterrupt as stop:
                assert time.process_time() - sent.pop() < 20
                print(type(stop).__name__, backplane.einsum_path("ab,bc->ac", (2, 3), (3, 4), shapes=True)[0])
        """,
    )
    assert " ".join(words) == "KeyboardInterrupt [(0, 1)] KeyboardInterrupt [(0, 1)]"


def test_an_einsum_with_many_steps_ends(python):
    words = interrupted(
        python,
        """
        array = backplane.einsum("ij->ij", memoryview(bytearray(8 * 700 * 700)).cast("d", [700, 700]))
        call = [each for i in range(4000) for each in (array, [i, i + 1])]
        search = dict(optimize=[(0, 1)] + [(0, 3998 - i) for i in range(3998)])
        backplane.set_flags(num_threads=1)
        send()
        try:
            backplane.einsum(*call, [0, 4000], **search)
        except KeyboardInterrupt as stop:
            assert time.process_time() - sent.pop() < 20
            print(type(stop).__name__)
        """,
    )
    assert words == ["KeyboardInterrupt"]


# The batch dimensions have stride 0, so that the work is large and the memory small.
OPERATIONS = """
class Repeated:
    def __init__(self, array, *shape):
        import numpy
        self.array = numpy.lib.stride_tricks.as_strided(numpy.asarray(array), shape, (0,) * (len(shape) - 2) + array.strides)

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

def ends(function):
    send()
    try:
        function()
    except KeyboardInterrupt:
        assert time.process_time() - sent.pop() < 20
        return True
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_large_operations_end(python, threads):
    pytest.importorskip("numpy")
    words = interrupted(
        python,
        OPERATIONS
        + """
import numpy
random = numpy.random.default_rng(1).random
small, large, wide, tall = random((24, 24)), random((200, 200)), numpy.ones((8, 100000)), numpy.ones((100000, 8))
backplane.set_flags(num_threads=THREADS)
print(
    ends(lambda: backplane.matmul(Repeated(wide, 300000, 8, 100000), Repeated(tall, 300000, 100000, 8), settings={"blas.preferred": "native"})),
    ends(lambda: backplane.linalg.det(Repeated(small, 20000000, 24, 24), settings={"linalg.preferred": "native"})),
    ends(lambda: backplane.linalg.matrix_norm(Repeated(numpy.ones((1000, 1000)), 1000000, 1000, 1000))),
    ends(lambda: backplane.linalg.det(Repeated(large, 1000000, 200, 200))),
    backplane.linalg.det(numpy.eye(8)),
)
""".replace("THREADS", str(threads)),
    )
    assert words == ["True"] * 4 + ["1.0"]


def test_a_frequent_form_ends_and_its_warnings_come_with_it(python):
    pytest.importorskip("numpy")
    words = interrupted(
        python,
        OPERATIONS
        + """
import numpy, warnings
backplane.set_flags(num_threads=1)
large = numpy.broadcast_to(numpy.ones(1), (1 << 14, 1 << 20))
backplane.reduce.sum(large[0, :3])
with warnings.catch_warnings(record=True) as seen, backplane.flags({"reduce.preferred": "not-there"}):
    warnings.simplefilter("always")
    print(ends(lambda: backplane.reduce.sum(large)), len(seen), backplane.reduce.sum(large[0, :3]), len(seen))
""",
    )
    assert words == ["True", "1", "3.0", "1"]


def test_handlers_that_return_do_not_stop_a_call(python):
    words = interrupted(
        python,
        """
        seen = []
        signal.signal(signal.SIGINT, lambda *unused: seen.append(backplane.einsum_path("ab,bc->ac", (2, 3), (3, 4), shapes=True)))
        letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        send(0.2)
        try:
            backplane.einsum_path(",".join(letters) + "->", *[(2,)] * 52, shapes=True, optimize="optimal", work=10**15, seconds=1.5)
        except backplane.Error as error:
            print(error.status, len(seen), seen[0][0])
        """,
    )
    assert words == ["E_TIMEOUT", "1", "[(0,", "1)]"]


def test_other_threads_continue(python):
    words = interrupted(
        python,
        """
        ended = []
        letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

        def search():
            try:
                backplane.einsum_path(",".join(letters) + "->", *[(2,)] * 52, shapes=True, optimize="optimal", work=10**15, seconds=1.5)
            except BaseException as error:
                ended.append(getattr(error, "status", type(error).__name__))

        threading.Thread(target=search).start()
        try:
            send(0.2)
            time.sleep(100)
        except KeyboardInterrupt:
            while not ended:  # join() of Python 3.11 returns at once after an interrupt
                time.sleep(0.05)
        print(ended)
        """,
    )
    assert words == ["['E_TIMEOUT']"]


# The other thread gives the lock up at each turn, and gets it back only when this thread gives it up, because no thread asks for it within
# an hour. A small call keeps the lock, but not while it makes a plan: for the first one, libraries are measured in a new cache.
HOLDER = """
import sys, threading, time
import backplane, numpy

turns = 0
done = False

def turn():
    global turns
    while not done:
        turns += 1
        time.sleep(0)

sys.setswitchinterval(3600)
thread = threading.Thread(target=turn)
thread.start()
few, many = numpy.ones(8), numpy.ones(100000)
first = turns
backplane.elementwise.add(few, few)
print(turns > first)
first = turns
while turns == first:
    backplane.elementwise.add(many, many)
done = True
thread.join()
"""


def test_other_threads_run_while_a_small_call_makes_its_plan(python, tmp_path):
    pytest.importorskip("numpy")
    result = python("-c", HOLDER, BACKPLANE_CACHE_DIR=str(tmp_path))
    assert result.stdout.split() == ["True"], result.stdout + result.stderr
