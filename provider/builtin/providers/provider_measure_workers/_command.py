"""The three commands that a worker is started with."""

import importlib
import sys

from . import _protocol

# A worker is chosen from this table, never by importing the name that was given.
WORKERS = (
    "cadical_solve",
    "cvc5_unsat_proof",
    "flint_rref",
    "go_build_version",
    "graph_critical_group",
    "graph_properties",
    "smith_normal_form",
    "sympy_jacobian",
    "z3_satisfiability",
)

USAGE = "usage: __main__.py serve|start|ready WORKER [ARGUMENT...]\n"


def run(arguments):
    if len(arguments) < 2 or arguments[0] not in ("serve", "start", "ready") or arguments[1] not in WORKERS:
        sys.stderr.write(USAGE)
        return 2
    command, worker, rest = arguments[0], arguments[1], arguments[2:]
    if command == "serve":
        return _protocol.serve(lambda: importlib.import_module("." + worker, __package__), rest)
    with _protocol.quiet() as channel:
        try:
            module = importlib.import_module("." + worker, __package__)
            backend = module.load()
            answer = {"version": module.version(backend), "worker": worker}
            missing = [name for name in rest if not hasattr(backend, name)]
        except Exception:
            # The text of the exception may hold paths of the host.
            channel.write(_protocol.encode({"error": "the provider could not be loaded", "worker": worker}))
            return 1
        if command == "start":
            return 0
        answer["missing"] = missing
        channel.write(_protocol.encode(answer))
        return 1 if missing else 0
