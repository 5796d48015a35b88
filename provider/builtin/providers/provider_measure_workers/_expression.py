"""A small language of expressions, read by hand.

sympy's own readers evaluate Python, so no text of a request ever reaches them. The
grammar, loosest first; a power groups to the right and binds tighter than a sign:

    sum     = product, {("+" | "-"), product}
    product = signed, {("*" | "/"), signed}
    signed  = ["+" | "-"], signed | power
    power   = atom, [("**" | "^"), signed]
    atom    = whole number | variable | function, "(", sum, ")" | "(", sum, ")"

parse returns nested tuples: ("number", n), ("variable", name), ("call", name, x),
("negate", x), and ("+" | "-" | "*" | "/" | "^", x, y).
"""

import re

from . import _protocol

FUNCTIONS = ("acos", "asin", "atan", "cos", "cosh", "exp", "log", "sin", "sinh", "sqrt", "tan", "tanh")
# sympy prints these for its constants, so a variable of that name would be ambiguous.
RESERVED = (*FUNCTIONS, "E", "I", "nan", "oo", "pi", "zoo")
NAME = r"[A-Za-z][A-Za-z0-9_]{0,31}"
MAX_LENGTH = 1024
MAX_DEPTH = 48
MAX_DIGITS = 64

_TOKEN = re.compile(r"\s*(?:([0-9]+(?![0-9.A-Za-z_]))|([A-Za-z][A-Za-z0-9_]*)|(\*\*|[-+*/^()]))", re.ASCII)


def parse(text, path, variables):
    _protocol.string(text, path, 1, MAX_LENGTH, r"[ -~]*", "printable ASCII")
    reader = _Reader(_tokens(text, path), path, frozenset(variables))
    tree = reader.sum(0)
    if reader.peek() is not None:
        raise _protocol.invalid(path, "the expression has something after its end")
    return tree


def _tokens(text, path):
    tokens, position, text = [], 0, text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _protocol.invalid(path, "the expression has a token that is not a number, name or operator")
        tokens.append(match.group().strip())
        position = match.end()
    return tokens


class _Reader:
    def __init__(self, tokens, path, variables):
        self._tokens = tokens
        self._next = 0
        self._path = path
        self._variables = variables

    def peek(self):
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self):
        token = self.peek()
        self._next += 1
        return token

    def _fail(self, message):
        return _protocol.invalid(self._path, message)

    def sum(self, depth):
        tree = self._product(depth)
        while self.peek() in ("+", "-"):
            tree = (self._take(), tree, self._product(depth))
        return tree

    def _product(self, depth):
        tree = self._signed(depth)
        while self.peek() in ("*", "/"):
            tree = (self._take(), tree, self._signed(depth))
        return tree

    def _signed(self, depth):
        if depth > MAX_DEPTH:
            raise self._fail("the expression is nested more than %d deep" % MAX_DEPTH)
        if self.peek() in ("+", "-"):
            sign, tree = self._take(), self._signed(depth + 1)
            return tree if sign == "+" else ("negate", tree)
        base = self._atom(depth)
        if self.peek() in ("**", "^"):
            self._take()
            return ("^", base, self._signed(depth + 1))
        return base

    def _atom(self, depth):
        token = self._take()
        if token is None:
            raise self._fail("the expression ends too early")
        if token.isdigit():
            if len(token) > MAX_DIGITS:
                raise self._fail("a number has more than %d digits" % MAX_DIGITS)
            return ("number", int(token))
        if token == "(":
            return self._closed(depth)
        if token in FUNCTIONS:
            if self._take() != "(":
                raise self._fail("a function needs its argument in parentheses")
            return ("call", token, self._closed(depth))
        if token not in self._variables:
            raise self._fail("the expression has a name that is not among the variables, or an operator out of place")
        return ("variable", token)

    def _closed(self, depth):
        tree = self.sum(depth + 1)
        if self._take() != ")":
            raise self._fail("a parenthesis is not closed")
        return tree
