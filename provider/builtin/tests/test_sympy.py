"""The Jacobian, and the reader of expressions, which no text may get past."""

import unittest

from support import Answers

WORKER = "sympy_jacobian"


class Jacobian(Answers, unittest.TestCase):
    def test_known(self):
        for variables, functions, expected in (
            (["x", "y"], ["x^2*y", "5*x + sin(y)"], [["2*x*y", "x**2"], ["5", "cos(y)"]]),
            (["x"], ["-x^2"], [["-2*x"]]),
            (["x"], ["2^-1*x"], [["1/2"]]),
            (["x"], ["x^3^2"], [["9*x**8"]]),
            (["x"], ["6/3/2*x - 1 - 1"], [["1"]]),
            (["x"], ["x**(1/2)"], [["1/(2*sqrt(x))"]]),
            (["x"], ["log(x) + exp(x) + atan(x)"], [["exp(x) + 1/(x**2 + 1) + 1/x"]]),
            (["lambda", "x"], ["lambda*x"], [["x", "lambda"]]),
            (["S", "N"], ["S*N"], [["N", "S"]]),
        ):
            with self.subTest(functions=functions):
                output = self.output(WORKER, {"variables": variables, "functions": functions})
                self.assertEqual(output, {"jacobian": expected, "shape": [len(functions), len(variables)]})

    def test_same_text_each_time(self):
        value = {"variables": list("abcdxyz"), "functions": ["(a+b+c+d+x+y+z)^3*sin(a*b*c*x*y*z)/(a^2+z)"]}
        self.assertEqual(len({str(self.output(WORKER, value)) for _ in range(4)}), 1)

    def test_refusals(self):
        for text in (
            "", " ", "x x", "2x", "x2", "1.5", ".5", "1e3", "x(", "x)", "()", "sin", "sin x", "sin()", "sin(x,x)", "x*/x",
            "x***x", "__import__('os')", "x.__class__", "x;x", "x=1", "lambda: x", "[x]", "'x'", "x\n", "π", "pi", "E",
            "zoo", "1/0", "0^(-1)", "log(0)", "x/(1-1)", "(" * 60 + "x" + ")" * 60, "-" * 60 + "x", "x^" * 60 + "x", "1" * 65,
        ):  # fmt: skip
            with self.subTest(text=text):
                self.refused(WORKER, {"variables": ["x"], "functions": [text]}, "/input/functions/0")
        for names, where in ((["pi"], "/0"), (["sin"], "/0"), (["x", "x"], "/1"), (["_x"], "/0"), (["x y"], "/0"), (["1"], "/0"), ([], ""), (["x"] * 17, "")):
            with self.subTest(names=names):
                self.refused(WORKER, {"variables": names, "functions": ["1"]}, "/input/variables" + where)

    def test_numbers_that_would_explode(self):
        for text in ("9^9^9", "2^64^64", "(2*x)^5000", "(1/3)^100000", "-(2^4000)*2^4000", "2^(10^30)", "(2^(1/2))^9999"):
            with self.subTest(text=text):
                self.refused(WORKER, {"variables": ["x"], "functions": [text]}, "/input/functions/0", code="LIMIT_EXCEEDED")


if __name__ == "__main__":
    unittest.main()
