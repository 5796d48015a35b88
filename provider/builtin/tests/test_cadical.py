"""The SAT worker: with stand-ins that answer badly, and with the real solver.

The real solver is the one that PROVIDER_EXECUTABLE names; without it only the
stand-ins are used.
"""

import itertools
import os
import pathlib
import random
import sys
import tempfile
import unittest

from support import Answers, request, start

WORKER = "cadical_solve"
REAL = os.environ.get("PROVIDER_EXECUTABLE")
FORMULA = {"variables": 2, "clauses": [[1, 2]]}


class StandIns(Answers, unittest.TestCase):
    def ask(self, body, value=FORMULA):
        """Put a request to a worker whose solver is this Python program."""
        with tempfile.TemporaryDirectory() as folder:
            solver = pathlib.Path(folder) / "solver"
            solver.write_text("#!%s -I\nimport sys\n%s\n" % (sys.executable, body))
            solver.chmod(0o755)
            return start(WORKER, request(WORKER, value), str(solver))

    def says(self, text, status):
        return "sys.stdin.read(); sys.stdout.write(%r); sys.exit(%d)" % (text, status)

    def test_bad_answers(self):
        for text, status in (
            ("", 0),
            ("", 10),
            ("s SATISFIABLE\nv 1 2 0\n", 0),
            ("s SATISFIABLE\nv 1 2 0\n", 20),
            ("s UNSATISFIABLE\n", 10),
            ("s UNSATISFIABLE\nv 1 2 0\n", 20),
            ("s UNSATISFIABLE\nv 1", 20),
            ("s UNKNOWN\n", 0),
            ("s SATISFIABLE\n", 10),
            ("s SATISFIABLE\nv 1 2 0", 10),
            ("s SATISFIABLE\nv 1 2\n", 10),
            ("s SATISFIABLE\nv 1 0\n", 10),
            ("s SATISFIABLE\nv 1 2 3 0\n", 10),
            ("s SATISFIABLE\nv 1 1 0\n", 10),
            ("s SATISFIABLE\nv 2 1 0\n", 10),
            ("s SATISFIABLE\nv 1 2 0\nv 0\n", 10),
            ("s SATISFIABLE\nv 1 2 0 0\n", 10),
            ("s SATISFIABLE\nv 1 +2 0\n", 10),
            ("s SATISFIABLE\nv 1  2 0\n", 10),
            ("s SATISFIABLE\nv 1 02 0\n", 10),
            ("v 1 2 0\ns SATISFIABLE\n", 10),
            ("s SATISFIABLE\ns SATISFIABLE\nv 1 2 0\n", 10),
            ("s SATISFIABLE\r\nv 1 2 0\r\n", 10),
            ("noise\ns SATISFIABLE\nv 1 2 0\n", 10),
        ):
            with self.subTest(text=text, status=status):
                self.error(self.ask(self.says(text, status)), "EXECUTION_FAILED", None)

    def test_good_answers(self):
        done = self.ask(self.says("c a comment\ns SATISFIABLE\nc\nv 1\nv -2 0\n", 10))
        self.assertEqual(self.answer(done, 0)["output"]["model"], [1, -2])

    def test_false_model(self):
        self.error(self.ask(self.says("s SATISFIABLE\nv -1 -2 0\n", 10)), "EXECUTION_FAILED", None)

    def test_bad_proofs(self):
        refuted = {**FORMULA, "proof": True}
        for proof in ("1 2", "x 0\n", "1 2\n", "d 1 0 2 0\n", "0 1 0\n"):
            body = "open(sys.argv[-1], 'w').write(%r); " % proof + self.says("s UNSATISFIABLE\n", 20)
            with self.subTest(proof=proof):
                self.error(self.ask(body, refuted), "EXECUTION_FAILED", None)
        body = "open(sys.argv[-1], 'w').write('1 0\\n' * 300000); " + self.says("s UNSATISFIABLE\n", 20)
        self.error(self.ask(body, refuted), "LIMIT_EXCEEDED", None)

    def test_noise_and_crashes(self):
        noisy = "sys.stderr.write('secret'); " + self.says("s SATISFIABLE\nv 1 2 0\n", 10)
        self.assertEqual(self.answer(self.ask(noisy), 0)["output"]["model"], [1, 2])
        self.error(self.ask("import os; os.abort()"), "EXECUTION_FAILED", None)

    def test_executable(self):
        for path in ("cadical", os.path.relpath("/bin/true"), "/no/such/file", "/", __file__):
            done = start(WORKER, request(WORKER, FORMULA), path)
            self.error(done, "EXECUTION_FAILED", None)
            # Refused before anything is started.
            self.assertIn(b"could not be loaded", done.stdout)
        self.error(start(WORKER, request(WORKER, FORMULA)), "EXECUTION_FAILED", None)

    def test_refusals(self):
        for value, where in (
            ({"variables": 2, "clauses": [[0]]}, "/clauses/0/0"),
            ({"variables": 2, "clauses": [[1], [3]]}, "/clauses/1/0"),
            ({"variables": 2, "clauses": [[-3]]}, "/clauses/0/0"),
            ({"variables": 2, "clauses": [["1"]]}, "/clauses/0/0"),
            ({"variables": 2, "clauses": [1]}, "/clauses/0"),
            ({"variables": 0, "clauses": []}, "/variables"),
            ({"variables": 10001, "clauses": []}, "/variables"),
            ({"variables": 1, "clauses": [[]] * 50001}, "/clauses"),
            ({"variables": 10000, "clauses": [[1] * 10000] * 21}, "/clauses/20"),
            ({"variables": 2, "clauses": [], "proof": 1}, "/proof"),
            ({"variables": 2, "clauses": [], "proof": None}, "/proof"),
            ({"variables": 2, "clauses": [], "seed": 1}, ""),
        ):
            with self.subTest(where=where):
                self.refused(WORKER, value, "/input" + where, "/bin/true")


@unittest.skipUnless(REAL, "PROVIDER_EXECUTABLE does not name a solver")
class Solver(Answers, unittest.TestCase):
    def test_against_enumeration(self):
        source = random.Random(40)
        for _ in range(25):
            clauses = [[source.choice((1, -1)) * source.randint(1, 5) for _ in range(3)] for _ in range(source.randint(1, 40))]
            possible = any(
                all(any((literal > 0) == values[abs(literal) - 1] for literal in clause) for clause in clauses)
                for values in itertools.product((False, True), repeat=5)
            )
            output = self.output(WORKER, {"variables": 5, "clauses": clauses}, REAL)
            self.assertEqual(output["status"], "SATISFIABLE" if possible else "UNSATISFIABLE", clauses)

    def test_proofs(self):
        self.assertEqual(self.output(WORKER, {"variables": 1, "clauses": [[]], "proof": True}, REAL)["proof"], "")
        holes, pigeons = 4, 5
        at = lambda pigeon, hole: pigeon * holes + hole + 1  # noqa: E731
        clauses = [[at(p, h) for h in range(holes)] for p in range(pigeons)]
        clauses += [[-at(p, h), -at(q, h)] for h in range(holes) for p in range(pigeons) for q in range(p)]
        output = self.output(WORKER, {"variables": holes * pigeons, "clauses": clauses, "proof": True}, REAL)
        self.assertEqual((output["status"], output["proof_format"]), ("UNSATISFIABLE", "drat-text/v1"))
        self.assertTrue(output["proof"].endswith("\n0\n"))
        output = self.output(WORKER, {"variables": 1, "clauses": [[1]], "proof": True}, REAL)
        self.assertEqual((output["proof"], output["proof_format"]), (None, None))

    def test_large(self):
        clauses = [[i, -(i + 1)] for i in range(1, 10000)] * 5
        self.assertEqual(self.output(WORKER, {"variables": 10000, "clauses": clauses}, REAL)["status"], "SATISFIABLE")


if __name__ == "__main__":
    unittest.main()
