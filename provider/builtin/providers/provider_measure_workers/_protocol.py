"""The wire protocol of the workers, and strict reading of what a request holds.

Request, one JSON object on standard input, at most 4 MiB:

    {"protocol": "provider-measure.worker/1", "capability_id": "…", "mode": "EXPLORE", "input": {…}}

Answer, exactly one JSON line on standard output, keys sorted, nothing on standard
error. Exit status 0:

    {"output": {…}, "protocol": "provider-measure.worker/1"}

Exit status 1:

    {"error": {"code": "…", "message": "…", "path": "/input/…" or null}, "protocol": …}

code is INVALID_REQUEST (the request breaks the schema or a rule that its description
gives), UNSUPPORTED (another capability or mode), LIMIT_EXCEEDED (a documented bound)
or EXECUTION_FAILED (the provider failed). A message is one of our own sentences: it
never holds the text of an exception, a value of the request, or a path of the host.

Numbers with a fraction or an exponent are refused and never written: a capability
that needs them takes decimal strings, so nothing is rounded on the way.
"""

import contextlib
import json
import os
import re
import sys
import warnings

PROTOCOL = "provider-measure.worker/1"
MAX_REQUEST_BYTES = 4 << 20
MAX_DEPTH = 64
# An integer outside this range is not the same number in every JSON reader.
MAX_SAFE_INTEGER = 2**53 - 1
# Exact answers may be long; this bounds one number, the request bounds the rest.
MAX_INTEGER_DIGITS = 100_000

INVALID_REQUEST = "INVALID_REQUEST"
UNSUPPORTED = "UNSUPPORTED"
EXECUTION_FAILED = "EXECUTION_FAILED"
LIMIT_EXCEEDED = "LIMIT_EXCEEDED"


class Refusal(Exception):
    """A coded answer that is not a result."""

    def __init__(self, code, message, path=None):
        super().__init__(code)
        self.code = code
        self.message = message
        self.path = path


def invalid(path, message):
    return Refusal(INVALID_REQUEST, message, path)


# --- reading -----------------------------------------------------------------


def decode(data):
    """Return the JSON value of data, or raise a Refusal that has no path."""
    if len(data) > MAX_REQUEST_BYTES:
        raise Refusal(LIMIT_EXCEEDED, "the request is larger than 4 MiB")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise invalid(None, "the request is not UTF-8") from None
    # Depth is bounded before parsing: the parser would recurse instead.
    depth = 0
    for mark in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text):
        if mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise invalid(None, "the request is nested more than 64 deep")
        elif mark in "]}":
            depth -= 1
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_no_float,
            parse_constant=_no_float,
        )
    except ValueError:
        raise invalid(None, "the request is not one JSON value") from None


def _object(pairs):
    result = {}
    for key, value in pairs:
        if key in result:
            raise invalid(None, "an object has the same key twice")
        result[key] = value
    return result


def _integer(text):
    # Checked as text first: reading a very long integer takes quadratic time.
    if len(text) > 17 or abs(int(text)) > MAX_SAFE_INTEGER:
        raise invalid(None, "an integer is outside ±(2^53−1)")
    return int(text)


def _no_float(_):
    raise invalid(None, "a number has a fraction or an exponent, or is not finite")


def fields(value, path, required, optional=()):
    """Check that value is an object with exactly these keys."""
    if not isinstance(value, dict):
        raise invalid(path, "this must be an object")
    for name in required:
        if name not in value:
            raise invalid(path, "the key %s is missing" % name)
    if len(value) > len(required) and any(k not in required and k not in optional for k in value):
        raise invalid(path, "an unknown key is present")
    return value


def integer(value, path, low, high):
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid(path, "this must be an integer")
    if not low <= value <= high:
        raise invalid(path, "this integer must be from %d to %d" % (low, high))
    return value


def array(value, path, low, high):
    if not isinstance(value, list):
        raise invalid(path, "this must be an array")
    if not low <= len(value) <= high:
        raise invalid(path, "this array must have from %d to %d items" % (low, high))
    return value


def string(value, path, low, high, pattern=None, form=None):
    """Check a string's length in characters and, whole, its pattern."""
    if not isinstance(value, str):
        raise invalid(path, "this must be a string")
    if not low <= len(value) <= high:
        raise invalid(path, "this string must have from %d to %d characters" % (low, high))
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise invalid(path, "this string has an unpaired surrogate")
    if pattern is not None and re.fullmatch(pattern, value) is None:
        raise invalid(path, "this string must be " + form)
    return value


def matrix(value, path, max_rows, max_columns):
    """Check a rectangular array of arrays and return it with its column count."""
    rows = array(value, path, 1, max_rows)
    for i, row in enumerate(rows):
        array(row, "%s/%d" % (path, i), 1, max_columns)
        if len(row) != len(rows[0]):
            raise invalid("%s/%d" % (path, i), "every row must have as many items as the first")
    return rows, len(rows[0])


# --- answering ---------------------------------------------------------------


def encode(value):
    """One line: sorted keys, no spaces, UTF-8; a float anywhere is a defect."""
    _refuse_floats(value)
    return (json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n").encode("utf-8")


def _refuse_floats(value):
    if isinstance(value, float):
        raise TypeError("an answer holds a float")
    if isinstance(value, dict):
        for item in value.values():
            _refuse_floats(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _refuse_floats(item)


class Channel:
    """The real standard output, out of reach of what a backend prints."""

    def __init__(self, descriptor):
        self._descriptor = descriptor

    def write(self, data):
        while data:
            data = data[os.write(self._descriptor, data):]


@contextlib.contextmanager
def quiet():
    """Keep standard output for the answer and standard error empty.

    Descriptors 1 and 2 are pointed at the null device, since native code of a
    backend writes to them without asking Python. Where the null device may not be
    opened for writing, only Python's own streams are silenced.
    """
    channel = Channel(os.dup(1))
    warnings.simplefilter("ignore")
    try:
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        null = None
    if null is None:
        sys.stdout = sys.stderr = None
    else:
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.close(null)
    yield channel


def serve(import_worker, arguments):
    """Answer one request with the worker that import_worker returns."""
    sys.set_int_max_str_digits(MAX_INTEGER_DIGITS)
    with quiet() as channel:
        try:
            answer, status = {"output": _answer(import_worker, arguments)}, 0
        except Refusal as refusal:
            answer, status = _error(refusal.code, refusal.message, refusal.path), 1
        except (MemoryError, RecursionError):
            answer, status = _error(LIMIT_EXCEEDED, "the computation needed more memory than it may have"), 1
        except Exception:
            answer, status = _error(EXECUTION_FAILED, "the provider failed on this request"), 1
        try:
            line = encode({"protocol": PROTOCOL, **answer})
        except Exception:
            line = encode({"protocol": PROTOCOL, **_error(EXECUTION_FAILED, "the answer could not be written")})
            status = 1
        channel.write(line)
        return status


def _error(code, message, path=None):
    # The whole request has the empty pointer, which says no more than null.
    return {"error": {"code": code, "message": message, "path": path or None}}


def _answer(import_worker, arguments):
    request = decode(sys.stdin.buffer.read(MAX_REQUEST_BYTES + 1))
    fields(request, "", ("protocol", "capability_id", "mode", "input"))
    if request["protocol"] != PROTOCOL:
        raise Refusal(UNSUPPORTED, "the protocol must be " + PROTOCOL, "/protocol")
    try:
        worker = import_worker()
    except ImportError:
        raise Refusal(EXECUTION_FAILED, "the worker could not be loaded") from None
    if request["capability_id"] != worker.CAPABILITY:
        raise Refusal(UNSUPPORTED, "this worker serves " + worker.CAPABILITY, "/capability_id")
    if request["mode"] != "EXPLORE":
        raise Refusal(UNSUPPORTED, "this worker serves the mode EXPLORE", "/mode")
    # The request is judged before the provider is loaded: a bad request must get
    # the same answer whether or not the provider is in order.
    problem = worker.parse(request["input"], "/input")
    try:
        backend = worker.load(*arguments)
    except (ImportError, OSError):
        raise Refusal(EXECUTION_FAILED, "the provider could not be loaded") from None
    return worker.solve(backend, problem)
