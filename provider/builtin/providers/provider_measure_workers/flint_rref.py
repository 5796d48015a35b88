"""``matrix.reduced_row_echelon_form``: exact over the rationals, by python-flint."""

import re
from fractions import Fraction

from . import _protocol

CAPABILITY = "matrix.reduced_row_echelon_form"
MAX_SIDE = 24
# A square of numbers with 24 digits is checked in seconds and answered in a megabyte.
MAX_DIGITS = 24
RATIONAL = r"(0|-?[1-9][0-9]*)(?:/([1-9][0-9]*))?"
FORM = "a whole number or a fraction p/q in decimal, without a plus sign, spaces or leading zeros"


def load():
    import flint

    return flint


def version(backend):
    return "%s with FLINT %s" % (backend.__version__, backend.__FLINT_VERSION__)


def parse(value, path):
    _protocol.fields(value, path, ("matrix",))
    rows, _ = _protocol.matrix(value["matrix"], path + "/matrix", MAX_SIDE, MAX_SIDE)
    return [
        [_rational(cell, "%s/matrix/%d/%d" % (path, i, j)) for j, cell in enumerate(row)]
        for i, row in enumerate(rows)
    ]


def _rational(cell, path):
    _protocol.string(cell, path, 1, 2 * MAX_DIGITS + 2, RATIONAL, FORM)
    numerator, denominator = re.fullmatch(RATIONAL, cell).groups()
    if max(len(numerator.lstrip("-")), len(denominator or "")) > MAX_DIGITS:
        raise _protocol.invalid(path, "a numerator or denominator has more than %d digits" % MAX_DIGITS)
    return int(numerator), int(denominator or 1)


def solve(flint, matrix):
    rows, columns = len(matrix), len(matrix[0])
    reduced, rank = flint.fmpq_mat(rows, columns, [flint.fmpq(*cell) for row in matrix for cell in row]).rref()
    table = [
        [Fraction(int(reduced[i, j].p), int(reduced[i, j].q)) for j in range(columns)] for i in range(rows)
    ]
    pivots = [next(j for j in range(columns) if table[i][j]) for i in range(rank)]
    _check(matrix, table, pivots)
    return {
        "pivot_columns": pivots,
        "rank": rank,
        "rref": [[str(cell) for cell in row] for row in table],
    }


def _check(matrix, table, pivots):
    """Check with Python's own fractions that this is the echelon form of that matrix.

    A row of the matrix lies in the row space of the form exactly when its entries in
    the pivot columns, used as coefficients, give the row back. With equal rank the two
    row spaces are equal; the rank cannot be lower, since FLINT only combines rows.
    """
    good = pivots == sorted(set(pivots)) and all(not any(row) for row in table[len(pivots):])
    for i, pivot in enumerate(pivots):
        good = good and [row[pivot] for row in table] == [int(k == i) for k in range(len(table))]
    for row in matrix:
        values = [Fraction(*cell) for cell in row]
        back = [sum(values[p] * table[i][j] for i, p in enumerate(pivots)) for j in range(len(values))]
        good = good and back == values
    if not good:
        raise _protocol.Refusal(_protocol.EXECUTION_FAILED, "the echelon form failed its check")
