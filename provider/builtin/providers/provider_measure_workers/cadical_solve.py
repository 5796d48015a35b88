"""``sat.solve``: satisfiability of a formula in conjunctive normal form, by CaDiCaL.

A model is checked against every clause before it is reported. A proof that there is
none is reported as CaDiCaL wrote it, in textual DRAT, and is not checked here.
"""

import os
import re
import tempfile

from . import _child, _protocol

CAPABILITY = "sat.solve"
MAX_VARIABLES = 10_000
MAX_CLAUSES = 50_000
MAX_LITERALS = 200_000
MAX_PROOF = 1 << 20
SECONDS = 20
SATISFIABLE, UNSATISFIABLE = 10, 20


def load(executable):
    return _child.check(executable)


def parse(value, path):
    _protocol.fields(value, path, ("variables", "clauses"), ("proof",))
    variables = _protocol.integer(value["variables"], path + "/variables", 1, MAX_VARIABLES)
    clauses = _protocol.array(value["clauses"], path + "/clauses", 0, MAX_CLAUSES)
    literals = 0
    for i, clause in enumerate(clauses):
        here = "%s/clauses/%d" % (path, i)
        literals += len(_protocol.array(clause, here, 0, MAX_VARIABLES))
        if literals > MAX_LITERALS:
            raise _protocol.invalid(here, "the clauses have more than %d literals in all" % MAX_LITERALS)
        for j, literal in enumerate(clause):
            if _protocol.integer(literal, "%s/%d" % (here, j), -variables, variables) == 0:
                raise _protocol.invalid("%s/%d" % (here, j), "a literal is a variable's number or its negative, not 0")
    proof = value.get("proof", False)
    if not isinstance(proof, bool):
        raise _protocol.invalid(path + "/proof", "this must be true or false")
    return variables, clauses, proof


def solve(executable, problem):
    variables, clauses, want_proof = problem
    lines = ["p cnf %d %d" % (variables, len(clauses))]
    lines += [" ".join(map(str, [*clause, 0])) for clause in clauses]
    with tempfile.TemporaryDirectory() as folder:
        proof = os.path.join(folder, "proof")
        arguments = [executable, "-q", "--seed=0"] + (["--no-binary", "-", proof] if want_proof else [])
        data = ("\n".join(lines) + "\n").encode("ascii")
        environment = {"LC_ALL": "C", "HOME": folder, "TMPDIR": folder}
        status, answer, _ = _child.run(arguments, data, SECONDS, folder, environment)
        literals = _read(status, answer, variables)
        if literals is not None:
            _check(literals, clauses)
            return {"model": literals, "proof": None, "proof_format": None, "status": "SATISFIABLE"}
        text = _proof(proof) if want_proof else None
    return {"model": None, "proof": text, "proof_format": None if text is None else "drat-text/v1", "status": "UNSATISFIABLE"}


def _read(status, answer, variables):
    """Return the literals of the model, or None for unsatisfiable.

    The format is the competition's: comment lines, one status line, and value lines
    that end with one 0. Status line and exit status must agree, and the model must
    give each variable one value: anything else is not an answer.
    """
    bad = _protocol.Refusal(_protocol.EXECUTION_FAILED, "the solver's answer is not in the competition's format")
    try:
        lines = answer.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise bad from None
    if lines.pop() != "":
        raise bad
    lines = [line for line in lines if line != "c" and not line.startswith("c ")]
    if (status, lines) == (UNSATISFIABLE, ["s UNSATISFIABLE"]):
        return None
    if status != SATISFIABLE or lines[:1] != ["s SATISFIABLE"]:
        raise bad
    values = []
    for line in lines[1:]:
        if not re.fullmatch(r"v(?: (?:0|-?[1-9][0-9]{0,8}))+", line):
            raise bad
        values += map(int, line[2:].split(" "))
    if values[-1:] != [0] or [abs(value) for value in values[:-1]] != list(range(1, variables + 1)):
        raise bad
    return values[:-1]


def _check(model, clauses):
    true = set(model)
    if not all(any(literal in true for literal in clause) for clause in clauses):
        raise _protocol.Refusal(_protocol.EXECUTION_FAILED, "the solver's model does not satisfy the clauses")


def _proof(path):
    with open(path, "rb") as handle:
        data = handle.read(MAX_PROOF + 1)
    if len(data) > MAX_PROOF:
        raise _protocol.Refusal(_protocol.LIMIT_EXCEEDED, "the proof is longer than 1 MiB")
    if not re.fullmatch(rb"(?:(?:d )?(?:-?[1-9][0-9]* )*0\n)*", data):
        raise _protocol.Refusal(_protocol.EXECUTION_FAILED, "the solver's proof is not textual DRAT")
    return data.decode("ascii")
