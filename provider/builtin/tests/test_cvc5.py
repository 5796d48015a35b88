"""cvc5: proofs of small contradictions, and no proof where there is none."""

import unittest

from support import Answers

WORKER = "cvc5_unsat_proof"


class Proofs(Answers, unittest.TestCase):
    def solve(self, logic, script):
        return self.output(WORKER, {"logic": logic, "script": script})

    def test_contradictions(self):
        for logic, script in (
            ("QF_UF", "(declare-const p Bool)(assert p)(assert (not p))"),
            ("QF_UF", "(declare-sort U 0)(declare-fun f (U) U)(declare-const a U)(assert (not (= (f a) (f a))))"),
            ("QF_LIA", "(declare-const x Int)(assert (> x 2))(assert (< x 3))"),
            ("QF_LRA", "(declare-const x Real)(assert (< x (/ 1 3)))(assert (> x (/ 1 2)))"),
        ):
            with self.subTest(script=script):
                output = self.solve(logic, script)
                self.assertEqual((output["status"], output["proof_format"]), ("UNSATISFIABLE", "cvc5.alethe/1.3.4"))
                self.assertTrue(output["proof"].startswith("(\n(assume a0 "), output["proof"])
                # The last step derives the empty clause.
                self.assertIn("(cl)", output["proof"].splitlines()[-2])
                # A line for each step, between the two parentheses.
                self.assertEqual(output["proof_steps"], len(output["proof"].splitlines()) - 2)
                self.assertEqual(output["holes"], output["proof"].count(":rule hole"))
                self.assertTrue(output["problem"].startswith("(set-logic %s)\n" % logic))

    def test_no_proof(self):
        output = self.solve("QF_UF", "(declare-const p Bool)(assert p)")
        self.assertEqual(output["status"], "SATISFIABLE")
        self.assertEqual([output[k] for k in ("proof", "proof_format", "proof_steps", "holes")], [None] * 4)

    def test_refusals(self):
        for script in (
            "", "(assert q)", "(assert 1)", "(declare-const p Bool", "(get-proof)", "(set-logic ALL)", "(check-sat)",
            "(declare-const x Int)(assert (= x 1))", "(set-option :produce-proofs false)", "(assert (! true :named a))",
            "(declare-const p Bool)(declare-const p Bool)",
        ):  # fmt: skip
            with self.subTest(script=script):
                self.refused(WORKER, {"logic": "QF_UF", "script": script}, "/input/script")
        nonlinear = "(declare-const x Int)(assert (= (* x x) 2))"
        self.refused(WORKER, {"logic": "QF_LIA", "script": nonlinear}, "/input/script")


if __name__ == "__main__":
    unittest.main()
