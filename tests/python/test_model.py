"""Random sequences of writes, scopes and reads in several threads, against a small model of the rules.

The rules: a value comes from the newest scope of the thread that sets it, otherwise from the process layer, otherwise it is
the default. Scopes may be left in any order; leaving one removes only that scope. A call that fails changes nothing."""

import queue
import threading

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import backplane as bp

# Preferred libraries accept any text, and warn if no library has the name: see test_preferences.py.
pytestmark = pytest.mark.filterwarnings(r"ignore:\w+\.preferred:backplane.Warning")

VALUES = {
    "num_threads": (st.integers(0, 1024), [-1, 1025, True, "2"]),
    "deterministic": (st.sampled_from(["off", "run", "threads"]), ["sometimes", 1]),
    "dispatch.fallback": (st.sampled_from(["strict", "warn", "allow"]), ["", None]),
    "blas.preferred": (st.text(st.characters(min_codepoint=32, exclude_characters="\x7f", exclude_categories=["Cs"]), max_size=9), ["a\nb", 3]),
    "cudnn.benchmark": (st.booleans(), [0, 1, "true"]),
}
NAMES = sorted(set(VALUES) & set(bp.settings))
DEFAULTS = {name: bp.setting(name).get() for name in NAMES}
THREADS = st.integers(0, 2)
SOME = st.fixed_dictionaries({}, optional={name: VALUES[name][0] for name in NAMES})
ONE = st.sampled_from(NAMES).flatmap(lambda name: st.tuples(st.just(name), VALUES[name][0]))
WRONG = st.sampled_from([(name, value) for name in NAMES for value in VALUES[name][1]])


class Worker:
    """A thread that runs one function at a time and returns its result."""
    def __init__(self):
        self.tasks, self.answers = queue.Queue(), queue.Queue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        for task in iter(self.tasks.get, None):
            try:
                self.answers.put((task(), None))
            except Exception as error:
                self.answers.put((None, error))

    def do(self, task):
        self.tasks.put(task)
        answer, error = self.answers.get(timeout=60)
        if error is None:
            return answer
        raise error


class Rules(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.workers = [Worker() for _ in range(3)]
        self.process = {}
        self.scopes = [[] for _ in self.workers]  # pairs (flags, names and values), oldest first

    def expected(self, thread, name):
        layers = [named for _, named in reversed(self.scopes[thread])] + [self.process, DEFAULTS]
        return next(layer[name] for layer in layers if name in layer)

    @rule(thread=THREADS, one=ONE)
    def write(self, thread, one):
        self.workers[thread].do(lambda: bp.set_flags(dict([one])))
        self.process.update([one])

    @rule(name=st.sampled_from(NAMES))
    def take_away(self, name):
        bp.setting(name).unset()
        self.process.pop(name, None)

    @rule(thread=THREADS, some=SOME)
    def enter(self, thread, some):
        self.scopes[thread].append((self.workers[thread].do(bp.flags(some).__enter__), some))

    @rule(thread=THREADS, choice=st.integers(0, 99))
    def leave_one_of_them(self, thread, choice):
        if self.scopes[thread]:
            self.workers[thread].do(self.scopes[thread].pop(choice % len(self.scopes[thread]))[0].__exit__)

    @rule(thread=THREADS, wrong=WRONG, some=SOME, attempt=st.sampled_from([bp.set_flags, bp.flags]))
    def be_refused(self, thread, wrong, some, attempt):
        with pytest.raises((TypeError, ValueError)):
            self.workers[thread].do(lambda: attempt({**some, **dict([wrong])}))

    @invariant()
    def all_threads_read_what_the_rules_say(self):
        for thread, worker in enumerate(self.workers):
            assert worker.do(lambda: [bp.settings[name] for name in NAMES]) == [self.expected(thread, name) for name in NAMES]

    def teardown(self):
        for worker, scopes in zip(self.workers, self.scopes):
            for scope, _ in scopes:
                worker.do(scope.__exit__)
            worker.tasks.put(None)
        for name in NAMES:
            bp.setting(name).unset()


TestRules = Rules.TestCase
TestRules.settings = settings(max_examples=60, stateful_step_count=30, deadline=None, database=None)
