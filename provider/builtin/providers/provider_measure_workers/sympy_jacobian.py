"""``symbolic.jacobian``: partial derivatives of expressions, by SymPy."""

from . import _expression, _protocol

CAPABILITY = "symbolic.jacobian"
MAX_VARIABLES = 16
MAX_FUNCTIONS = 16
# A number that SymPy would evaluate at once may not get longer than this.
MAX_NUMBER_BITS = 4096
MAX_ENTRY = 65_536


def load():
    import sympy

    return sympy


def version(backend):
    return backend.__version__


def parse(value, path):
    _protocol.fields(value, path, ("variables", "functions"))
    variables = _protocol.array(value["variables"], path + "/variables", 1, MAX_VARIABLES)
    for i, name in enumerate(variables):
        here = "%s/variables/%d" % (path, i)
        _protocol.string(name, here, 1, 32, _expression.NAME, "a letter, then letters, digits and underscores")
        if name in _expression.RESERVED:
            raise _protocol.invalid(here, "this name stands for a function or a constant")
        if name in variables[:i]:
            raise _protocol.invalid(here, "this variable was named before")
    functions = _protocol.array(value["functions"], path + "/functions", 1, MAX_FUNCTIONS)
    trees = [_expression.parse(f, "%s/functions/%d" % (path, i), variables) for i, f in enumerate(functions)]
    return variables, trees, path + "/functions"


def solve(sympy, problem):
    names, trees, path = problem
    symbols = {name: sympy.Symbol(name) for name in names}
    rows = []
    for i, tree in enumerate(trees):
        builder = _Builder(sympy, symbols, "%s/%d" % (path, i))
        function = builder.defined(builder.build(tree))
        rows.append([_print(sympy, sympy.diff(function, symbols[name])) for name in names])
    return {"jacobian": rows, "shape": [len(trees), len(names)]}


def _print(sympy, entry):
    text = sympy.sstr(entry)
    if len(text) > MAX_ENTRY:
        raise _protocol.Refusal(_protocol.LIMIT_EXCEEDED, "a derivative is longer than %d characters" % MAX_ENTRY)
    return text


class _Builder:
    """Makes SymPy objects from a tree, with a bound on every number on the way."""

    def __init__(self, sympy, symbols, path):
        self._sympy = sympy
        self._symbols = symbols
        self._path = path

    def build(self, tree):
        kind, rest = tree[0], tree[1:]
        if kind == "number":
            return self._sympy.Integer(rest[0])
        if kind == "variable":
            return self._symbols[rest[0]]
        if kind == "call":
            return self.defined(getattr(self._sympy, rest[0])(self.build(rest[1])))
        if kind == "negate":
            return -self.build(rest[0])
        left, right = self.build(rest[0]), self.build(rest[1])
        if kind == "^":
            self._bound_power(left, right)
            return self.defined(left**right)
        value = {"+": self._add, "-": self._subtract, "*": self._multiply, "/": self._divide}[kind](left, right)
        return self.defined(value)

    def _add(self, left, right):
        return left + right

    def _subtract(self, left, right):
        return left - right

    def _multiply(self, left, right):
        return left * right

    def _divide(self, left, right):
        return left / right

    def _bound_power(self, base, exponent):
        """SymPy raises numbers, and distributes over products, without asking."""
        if not exponent.is_Rational:
            return
        size = abs(exponent.p) // exponent.q + 1
        bits = max([_bits(number) for number in base.atoms(self._sympy.Rational)], default=0)
        if size * bits > MAX_NUMBER_BITS:
            raise _protocol.Refusal(_protocol.LIMIT_EXCEEDED, "a power of a number grew too long", self._path)

    def defined(self, value):
        sympy = self._sympy
        if value.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
            raise _protocol.invalid(self._path, "the expression is not defined: it divides by zero or is infinite")
        if any(_bits(number) > MAX_NUMBER_BITS for number in value.atoms(sympy.Rational)):
            raise _protocol.Refusal(_protocol.LIMIT_EXCEEDED, "a number grew too long", self._path)
        return value


def _bits(number):
    return max(int(number.p).bit_length(), int(number.q).bit_length())
