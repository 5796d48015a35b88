"""The Smith normal form, checked here with arithmetic of its own."""

import itertools
import math
import random
import unittest

from support import Answers

WORKER = "smith_normal_form"


def determinant(matrix):
    """By the definition, so for small matrices only."""
    total = 0
    for order in itertools.permutations(range(len(matrix))):
        swaps = sum(a > b for a, b in itertools.combinations(order, 2))
        total += (-1) ** swaps * math.prod(row[j] for row, j in zip(matrix, order))
    return total


def divisors(matrix):
    """Invariant factors as quotients of the gcds of minors, again by definition."""
    gcds = [1]
    for size in range(1, min(len(matrix), len(matrix[0])) + 1):
        value = 0
        for rows in itertools.combinations(matrix, size):
            for columns in itertools.combinations(range(len(matrix[0])), size):
                value = math.gcd(value, determinant([[row[j] for j in columns] for row in rows]))
        if value == 0:
            break
        gcds.append(value)
    return [str(b // a) for a, b in zip(gcds, gcds[1:])]


class Smith(Answers, unittest.TestCase):
    def test_against_minors(self):
        source = random.Random(20)
        for rows, columns, size in ((1, 1, 9), (2, 3, 5), (3, 2, 12), (3, 3, 4), (4, 4, 6), (4, 3, 2), (1, 5, 30)):
            for _ in range(3):
                matrix = [[source.randint(-size, size) for _ in range(columns)] for _ in range(rows)]
                with self.subTest(matrix=matrix):
                    output = self.output(WORKER, {"matrix": [[str(x) for x in row] for row in matrix]})
                    self.assertEqual(output["invariant_factors"], divisors(matrix))
                    self.assertEqual(output["rank"], len(divisors(matrix)))

    def test_zero_and_large(self):
        output = self.output(WORKER, {"matrix": [["0", "0"], ["0", "0"]]})
        self.assertEqual((output["rank"], output["invariant_factors"]), (0, []))
        source = random.Random(21)
        matrix = [[str(source.randint(-(10**12) + 1, 10**12 - 1)) for _ in range(16)] for _ in range(16)]
        self.assertEqual(self.output(WORKER, {"matrix": matrix})["rank"], 16)

    def test_refusals(self):
        row = ["1"] * 17
        for matrix, where in (
            ([], "/matrix"),
            ([[]], "/matrix/0"),
            ([["1"], ["1", "2"]], "/matrix/1"),
            ([row], "/matrix/0"),
            ([["1"]] * 17, "/matrix"),
            ([[1]], "/matrix/0/0"),
            ([["01"]], "/matrix/0/0"),
            ([["-0"]], "/matrix/0/0"),
            ([["+1"]], "/matrix/0/0"),
            ([[" 1"]], "/matrix/0/0"),
            ([["1\n"]], "/matrix/0/0"),
            ([["1/2"]], "/matrix/0/0"),
            ([["٣"]], "/matrix/0/0"),
            ([["1" * 14]], "/matrix/0/0"),
            ([["1" * 13]], "/matrix/0/0"),
            ([[None]], "/matrix/0/0"),
            ("1", "/matrix"),
        ):
            with self.subTest(matrix=matrix):
                self.refused(WORKER, {"matrix": matrix}, "/input" + where)


if __name__ == "__main__":
    unittest.main()
