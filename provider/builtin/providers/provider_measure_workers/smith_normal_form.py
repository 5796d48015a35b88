"""``matrix.smith_normal_form``: exact, by the worker itself; no other package."""

import sys

from . import __version__, _protocol, _smith

CAPABILITY = "matrix.smith_normal_form"
MAX_SIDE = 16
MAX_DIGITS = 12
INTEGER = r"0|-?[1-9][0-9]{0,11}"


def load():
    return _smith


def version(_):
    return __version__


def main():
    """The entry point that the manifest names."""
    return _protocol.serve(lambda: sys.modules[__name__], [])


def parse(value, path):
    _protocol.fields(value, path, ("matrix",))
    rows, _ = _protocol.matrix(value["matrix"], path + "/matrix", MAX_SIDE, MAX_SIDE)
    form = "a whole number of at most %d digits, without a plus sign or leading zeros" % MAX_DIGITS
    return [
        [
            int(_protocol.string(cell, "%s/matrix/%d/%d" % (path, i, j), 1, MAX_DIGITS + 1, INTEGER, form))
            for j, cell in enumerate(row)
        ]
        for i, row in enumerate(rows)
    ]


def solve(smith, matrix):
    diagonal, left, right = smith.smith(matrix)
    _check(smith, matrix, diagonal, left, right)
    return {
        "invariant_factors": [str(x) for x in diagonal],
        "left": _text(left),
        "rank": len(diagonal),
        "right": _text(right),
    }


def _check(smith, matrix, diagonal, left, right):
    """The answer is a certificate, so it is checked before it leaves."""
    expected = [[0] * len(matrix[0]) for _ in matrix]
    for i, value in enumerate(diagonal):
        expected[i][i] = value
    good = smith.product(smith.product(left, matrix), right) == expected
    good = good and all(b % a == 0 for a, b in zip(diagonal, diagonal[1:]))
    good = good and abs(smith.determinant(left)) == 1 and abs(smith.determinant(right)) == 1
    if not good:
        raise _protocol.Refusal(_protocol.EXECUTION_FAILED, "the normal form failed its own check")


def _text(matrix):
    return [[str(x) for x in row] for row in matrix]
