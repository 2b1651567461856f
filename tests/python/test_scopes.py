"""Scopes: per thread, nested, and restored after exceptions, in generators and in threads."""

import threading

import numpy as np
import pytest

import backplane as bp


def test_only_the_given_settings_change():
    bp.settings.deterministic = "run"
    with bp.flags(num_threads=3) as scope:
        assert scope is not None and bp.settings.num_threads == 3 and bp.settings.deterministic == "run"
    assert bp.settings.num_threads == 0


def test_nesting_and_exceptions():
    with pytest.raises(KeyError):
        with bp.flags(num_threads=1):
            with bp.flags(num_threads=2, deterministic="run"):
                assert bp.settings.num_threads == 2
                raise KeyError
    assert bp.settings.num_threads == 0 and bp.settings.deterministic == "off"


def test_a_write_inside_a_scope_is_seen_after_it():
    with bp.flags(num_threads=1):
        bp.settings.num_threads = 7
        assert bp.settings.num_threads == 1
    assert bp.settings.num_threads == 7


def test_generators_leave_in_any_order():
    def walk(count):
        with bp.flags(num_threads=count):
            yield bp.settings.num_threads
            yield bp.settings.num_threads

    first, second = walk(1), walk(2)
    assert next(first) == 1 and next(second) == 2
    first.close()  # leaves the outer scope first
    assert bp.settings.num_threads == 2 and next(second) == 2
    second.close()
    assert bp.settings.num_threads == 0


def test_threads_do_not_see_each_other():
    start, failures = threading.Barrier(4), []

    def work(count, mode):
        with bp.flags(num_threads=count, deterministic=mode):
            start.wait()
            for _ in range(200):
                if (bp.settings.num_threads, bp.settings.deterministic) != (count, mode):
                    failures.append(count)
                bp.matmul(np.eye(8), np.eye(8))
                plan = bp.last_plan()
                if plan.threads > count:
                    failures.append(plan)

    threads = [threading.Thread(target=work, args=(i + 1, mode)) for i, mode in enumerate(["off", "run", "threads", "off"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and bp.settings.num_threads == 0


def test_another_thread_may_not_leave_it():
    scope, caught = bp.flags(num_threads=2), []
    scope.__enter__()

    def leave():
        try:
            scope.__exit__(None, None, None)
        except bp.Error as error:
            caught.append(error.status)

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
    assert caught == ["E_SCOPE"] and bp.settings.num_threads == 2
    scope.__exit__(None, None, None)
    assert bp.settings.num_threads == 0


def test_one_object_is_open_once_at_a_time():
    scope = bp.flags(num_threads=2)
    with scope:
        with pytest.raises(bp.Error, match="open already"):
            scope.__enter__()
        assert bp.settings.num_threads == 2
    with scope:
        assert bp.settings.num_threads == 2


def test_a_decorated_function_may_call_itself():
    @bp.flags(num_threads=2)
    def count(depth):
        return bp.settings.num_threads if depth == 0 else count(depth - 1)

    assert count(3) == 2 and bp.settings.num_threads == 0


def test_a_dropped_scope_is_left():
    scope = bp.flags(num_threads=2)
    scope.__enter__()
    del scope
    assert bp.settings.num_threads == 0


def test_a_scope_dropped_in_another_thread_is_left_by_its_own():
    held, dropped, reads = [], threading.Event(), []

    def work():
        held.append(bp.flags(num_threads=2).__enter__())
        entered.set()
        dropped.wait(10)
        reads.append(bp.settings.num_threads)
        with bp.flags(num_threads=5):
            reads.append(bp.settings.num_threads)
        reads.append(bp.settings.num_threads)

    entered = threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(10)
    held.clear()
    dropped.set()
    thread.join()
    assert reads == [0, 5, 0]


def test_functions_that_run_later_are_not_decorated():
    def generator():
        yield

    async def coroutine():
        pass

    async def both():
        yield

    for function in (generator, coroutine, both):
        with pytest.raises(bp.BadTypeError, match="inside it instead"):
            bp.flags(num_threads=2)(function)


def test_options_of_one_call():
    options = bp.Options({"blas.preferred": "native"})
    for given in (options, {"blas.preferred": "native"}):
        bp.matmul(np.eye(2), np.eye(2), settings=given)
        assert bp.last_plan().library == "native" and "call" in bp.last_plan().reason
    with pytest.raises(TypeError):
        bp.matmul(np.eye(2), np.eye(2), settings="num_threads=1")
    with pytest.raises(AttributeError):
        bp.Options({"blas.prefered": "native"})


def test_measuring_is_switched_for_all_operations_or_one_family():
    with bp.flags(benchmark=True, fft__benchmark=False):
        assert bp.settings.benchmark is True and bp.settings.fft.benchmark == "false"
        with bp.flags(linalg__benchmark=True):
            assert bp.settings.linalg.benchmark == "true" and bp.settings.matmul.benchmark == "inherit"
    assert bp.settings.benchmark is False and bp.settings.fft.benchmark == "inherit"
