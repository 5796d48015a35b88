"""The echelon form against an elimination with Python's fractions."""

import random
import unittest
from fractions import Fraction

from support import Answers

WORKER = "flint_rref"


def eliminate(matrix):
    table, pivots = [list(map(Fraction, row)) for row in matrix], []
    for column in range(len(table[0])):
        rank = len(pivots)
        found = next((i for i in range(rank, len(table)) if table[i][column]), None)
        if found is None:
            continue
        table[rank], table[found] = table[found], table[rank]
        table[rank] = [x / table[rank][column] for x in table[rank]]
        for i, row in enumerate(table):
            if i != rank:
                table[i] = [x - row[column] * y for x, y in zip(row, table[rank])]
        pivots.append(column)
    return [[str(x) for x in row] for row in table], pivots


class Echelon(Answers, unittest.TestCase):
    def test_against_elimination(self):
        source = random.Random(30)
        for rows, columns in ((1, 1), (2, 5), (5, 2), (4, 4), (6, 6), (24, 24)):
            matrix = [
                ["%d/%d" % (source.randint(-3, 3), source.randint(1, 4)) for _ in range(columns)] for _ in range(rows)
            ]
            with self.subTest(matrix=matrix):
                table, pivots = eliminate(matrix)
                output = self.output(WORKER, {"matrix": matrix})
                self.assertEqual(output, {"rref": table, "pivot_columns": pivots, "rank": len(pivots)})

    def test_zero(self):
        output = self.output(WORKER, {"matrix": [["0", "0/7"]]})
        self.assertEqual(output, {"rref": [["0", "0"]], "pivot_columns": [], "rank": 0})

    def test_limits(self):
        source = random.Random(31)
        number = lambda: str(source.randint(10**23, 10**24 - 1))  # noqa: E731
        matrix = [["-%s/%s" % (number(), number()) for _ in range(24)] for _ in range(16)]
        self.assertEqual(self.output(WORKER, {"matrix": matrix})["rank"], 16)

    def test_refusals(self):
        for cell in ("1/0", "1/-2", "1 /2", "1.5", "", "1/", "/2", "1/2/3", "0x1", "1e3", "1/02", "1" * 25, "1/" + "1" * 25, 1, None):
            with self.subTest(cell=cell):
                self.refused(WORKER, {"matrix": [[cell]]}, "/input/matrix/0/0")
        self.refused(WORKER, {"matrix": [["1"] * 25]}, "/input/matrix/0")


if __name__ == "__main__":
    unittest.main()
