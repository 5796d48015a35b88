"""Reading SMT-LIB 2.6 scripts, so that a solver only gets commands that we chose.

A script may declare sorts, constants and functions, define functions, and assert. The
commands that set options, read or print something, or start another query are ours to
send and are refused; so are annotations, which carry options too.
"""

import re

from . import _protocol

COMMANDS = ("assert", "declare-const", "declare-fun", "declare-sort", "define-fun", "define-sort")
MAX_SCRIPT = 262_144
MAX_DEPTH = 200
MAX_COMMANDS = 10_000

_TOKEN = re.compile(
    r"""[ \t\r\n]+ | ;[^\n]*                       # blanks and comments
      | (?P<paren>[()])
      | (?P<quoted>\|[^|\\]*\|)                    # a quoted symbol
      | (?P<string>"(?:[^"]|"")*")
      | (?P<word>[0-9A-Za-z~!@$%^&*_+=<>.?/\-:\#]+)""",
    re.VERBOSE | re.ASCII,
)


def schema_parse(value, path, logics):
    """Check {"logic", "script"} and return (logic, the script's commands)."""
    _protocol.fields(value, path, ("logic", "script"))
    logic = _protocol.string(value["logic"], path + "/logic", 1, 16)
    if logic not in logics:
        raise _protocol.invalid(path + "/logic", "this must be one of: " + ", ".join(logics))
    script = path + "/script"
    _protocol.string(value["script"], script, 1, MAX_SCRIPT, r"[\t\n\r -~]*", "printable ASCII and line breaks")
    try:
        commands = read(value["script"])
    except ValueError:
        raise _protocol.invalid(script, "the script is not a sequence of balanced commands") from None
    if len(commands) > MAX_COMMANDS:
        raise _protocol.invalid(script, "the script has more than %d commands" % MAX_COMMANDS)
    for command in commands:
        if not isinstance(command, list) or not command or command[0] not in COMMANDS:
            raise _protocol.invalid(script, "a script may hold only: " + ", ".join(COMMANDS))
        if _annotated(command):
            raise _protocol.invalid(script, "annotations and keywords are not accepted")
    return logic, commands


def read(text):
    """Return the top-level expressions of text: strings and lists of expressions."""
    stack, position = [[]], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError("token")
        position = match.end()
        if match.group("paren") == "(":
            stack.append([])
            if len(stack) > MAX_DEPTH:
                raise ValueError("depth")
        elif match.group("paren") == ")":
            if len(stack) == 1:
                raise ValueError("balance")
            done = stack.pop()
            stack[-1].append(done)
        elif match.lastgroup:
            stack[-1].append(match.group())
    if len(stack) != 1:
        raise ValueError("balance")
    return stack[0]


def write(expression):
    """Print an expression in one spelling: one space between parts, no comments."""
    if isinstance(expression, str):
        return expression
    return "(" + " ".join(map(write, expression)) + ")"


def _annotated(expression):
    if isinstance(expression, str):
        return expression == "!" or expression.startswith(":")
    return any(map(_annotated, expression))


def unquote(symbol):
    """|x| and x are the same symbol; print it without bars where that is possible."""
    if symbol.startswith("|") and re.fullmatch(r"[A-Za-z~!@$%^&*_+=<>.?/\-][0-9A-Za-z~!@$%^&*_+=<>.?/\-]*", symbol[1:-1]):
        return symbol[1:-1]
    return symbol
