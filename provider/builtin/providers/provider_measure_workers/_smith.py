"""Smith normal form over the integers, exact, standard library only."""

from . import _protocol

# Elimination over the integers can make entries grow; past this many bits the answer
# would be refused as too long anyway, so the work stops here.
MAX_BITS = 16_384


def smith(matrix, transforms=True):
    """Return (diagonal, left, right) with left · matrix · right = the diagonal form.

    diagonal holds the non-zero invariant factors, positive, each dividing the next.
    left and right are unimodular; with transforms false they are None, which is
    several times faster.
    """
    work = [list(row) for row in matrix]
    rows, columns = len(work), len(work[0])
    left = _identity(rows) if transforms else None
    right = _identity(columns) if transforms else None
    diagonal = []
    for k in range(min(rows, columns)):
        if not _clear(work, left, right, k, rows, columns):
            break
        if work[k][k] < 0:
            work[k] = [-x for x in work[k]]
            if left:
                left[k] = [-x for x in left[k]]
        diagonal.append(work[k][k])
    return diagonal, left, right


def _identity(size):
    return [[int(i == j) for j in range(size)] for i in range(size)]


def _clear(work, left, right, k, rows, columns):
    """Make row k and column k zero but for a pivot that divides all that remains."""
    while True:
        pivot = _smallest(work, k, rows, columns)
        if pivot is None:
            return False
        _move(work, left, right, k, pivot)
        if _reduce(work, left, right, k, rows, columns):
            continue
        odd = _indivisible(work, k, rows, columns)
        if odd is None:
            return True
        # Adding that row brings a smaller remainder into row k: the loop ends, since
        # the pivot shrinks each time.
        _add_row(work, left, k, odd, 1)
        _reduce(work, left, right, k, rows, columns)


def _smallest(work, k, rows, columns):
    best = None
    for i in range(k, rows):
        for j in range(k, columns):
            size = abs(work[i][j])
            if size and (best is None or size < best[0]):
                if size.bit_length() > MAX_BITS:
                    raise _protocol.Refusal(_protocol.LIMIT_EXCEEDED, "an intermediate integer grew too long")
                best = (size, i, j)
    return best and best[1:]


def _move(work, left, right, k, pivot):
    i, j = pivot
    work[k], work[i] = work[i], work[k]
    if left:
        left[k], left[i] = left[i], left[k]
    if j != k:
        for row in work:
            row[k], row[j] = row[j], row[k]
        if right:
            for row in right:
                row[k], row[j] = row[j], row[k]


def _reduce(work, left, right, k, rows, columns):
    """Subtract multiples of row and column k; report whether a remainder is left."""
    remainder = False
    for i in range(k + 1, rows):
        if work[i][k]:
            _add_row(work, left, i, k, -(work[i][k] // work[k][k]))
            remainder = remainder or work[i][k] != 0
    for j in range(k + 1, columns):
        if work[k][j]:
            _add_column(work, right, j, k, -(work[k][j] // work[k][k]))
            remainder = remainder or work[k][j] != 0
    return remainder


def _indivisible(work, k, rows, columns):
    pivot = work[k][k]
    if abs(pivot) == 1:
        return None
    for i in range(k + 1, rows):
        if any(work[i][j] % pivot for j in range(k + 1, columns)):
            return i
    return None


def _add_row(work, left, target, source, factor):
    for table in (work, left) if left else (work,):
        table[target] = [x + factor * y for x, y in zip(table[target], table[source])]


def _add_column(work, right, target, source, factor):
    for table in (work, right) if right else (work,):
        for row in table:
            if row[source]:
                row[target] += factor * row[source]


def product(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def determinant(matrix):
    """Exact determinant by Bareiss's elimination, in which every division is exact."""
    work = [list(row) for row in matrix]
    size, sign, previous = len(work), 1, 1
    for k in range(size - 1):
        pivot = next((i for i in range(k, size) if work[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            work[k], work[pivot] = work[pivot], work[k]
            sign = -sign
        for i in range(k + 1, size):
            for j in range(k + 1, size):
                work[i][j] = (work[i][j] * work[k][k] - work[i][k] * work[k][j]) // previous
        previous = work[k][k]
    return sign * work[-1][-1]
