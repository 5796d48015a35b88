"""Z3: known problems, and scripts that try to give the solver other commands."""

import unittest

from support import Answers

WORKER = "z3_satisfiability"


class Satisfiability(Answers, unittest.TestCase):
    def solve(self, logic, script):
        return self.output(WORKER, {"logic": logic, "script": script})

    def test_known(self):
        output = self.solve("QF_LRA", "(declare-const x Real)(assert (= (* 3 x) 1))")
        model = [{"name": "x", "parameters": [], "sort": "Real", "value": "(/ 1.0 3.0)"}]
        self.assertEqual((output["status"], output["model"], output["model_checked"]), ("SATISFIABLE", model, True))
        output = self.solve("QF_UF", "(declare-const |p q| Bool)(assert |p q|)(assert (not |p q|)) ; (exit)")
        self.assertEqual((output["status"], output["model"], output["assertions"]), ("UNSATISFIABLE", None, 2))
        output = self.solve("QF_BV", "(declare-const b (_ BitVec 8))(assert (= (bvmul b b) #x51))")
        self.assertEqual((output["status"], output["model_checked"]), ("SATISFIABLE", True))
        output = self.solve("ALL", "(assert true)")
        self.assertEqual((output["status"], output["model"]), ("SATISFIABLE", []))

    def test_functions_in_models(self):
        script = "(declare-sort U 0)(declare-fun f (U) U)(declare-const a U)(assert (not (= (f a) a)))"
        output = self.solve("QF_UF", script)
        self.assertEqual([d["name"] for d in output["model"]], ["a", "f"])
        self.assertEqual([len(d["parameters"]) for d in output["model"]], [0, 1])

    def test_stops_at_its_limit(self):
        cubes = " ".join("(* %s %s %s)" % (v, v, v) for v in "xyz")
        script = "".join("(declare-const %s Int)" % v for v in "xyz") + "(assert (= (+ %s) 33))" % cubes
        output = self.solve("QF_NIA", script)
        self.assertEqual((output["status"], output["reason"], output["model"]), ("UNKNOWN", "STEP_LIMIT", None))

    def test_refusals(self):
        for script in (
            "", "(", ")", "(assert true", "(assert true))", "assert true", "()", "(())", "(assert)", "(assert x)", "(assert 1)",
            "(check-sat)", "(exit)", "(set-option :timeout 1)", "(set-info :a b)", "(get-model)", '(echo "x")', "(push 1)",
            '(include "/etc/passwd")', "(eval true)", "(declare-const x Nope)", "(assert (! true :named a))",
            "(declare-datatypes ((L 0)) (((n))))", "(assert |a)", '(assert "a)', "(assert \\)", "(assert true)\0", "(assert é)",
            "(assert " + "(not " * 300 + "true" + ")" * 301, "(declare-const x Int)(declare-const x Bool)(assert (= x x 1 true))",
        ):  # fmt: skip
            with self.subTest(script=script[:40]):
                self.refused(WORKER, {"logic": "ALL", "script": script}, "/input/script")
        self.refused(WORKER, {"logic": "QF_NOPE", "script": "(assert true)"}, "/input/logic")
        self.refused(WORKER, {"logic": ["ALL"], "script": "(assert true)"}, "/input/logic")
        self.refused(WORKER, {"logic": "ALL", "script": " " * 262145}, "/input/script")
        self.refused(WORKER, {"logic": "ALL", "script": "(assert true)" * 10001}, "/input/script")


if __name__ == "__main__":
    unittest.main()
