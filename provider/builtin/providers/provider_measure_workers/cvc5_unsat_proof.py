"""``smt.unsat_proof.find``: a proof in Alethe that assertions are unsatisfiable, by cvc5."""

from . import _protocol, _smtlib

CAPABILITY = "smt.unsat_proof.find"
FORMAT = "cvc5.alethe/1.3.4"
LOGICS = ("QF_IDL", "QF_LIA", "QF_LRA", "QF_RDL", "QF_UF", "QF_UFLIA", "QF_UFLRA", "UF")
MILLISECONDS = 20_000
RESOURCES = 2_000_000
MAX_PROOF = 1 << 20


def load():
    import cvc5

    return cvc5


def version(backend):
    return backend.__version__


def parse(value, path):
    return (*_smtlib.schema_parse(value, path, LOGICS), path + "/script")


def solve(cvc5, problem):
    logic, commands, path = problem
    text = "(set-logic %s)\n%s\n" % (logic, "\n".join(map(_smtlib.write, commands)))
    solver = _solver(cvc5)
    _assert(cvc5, solver, text, path)
    try:
        answer = solver.checkSat()
    except RuntimeError:
        # The logic is checked against the assertions only here.
        raise _protocol.invalid(path, "the solver refuses the assertions in this logic") from None
    output = {"holes": None, "logic": logic, "problem": text, "proof": None, "proof_format": None, "proof_steps": None}
    if answer.isSat():
        return {**output, "status": "SATISFIABLE"}
    if not answer.isUnsat():
        return {**output, "status": "UNKNOWN"}
    return {**output, **_proof(cvc5, solver), "status": "UNSATISFIABLE"}


def _solver(cvc5):
    solver = cvc5.Solver(cvc5.TermManager())
    for option, value in (
        ("produce-proofs", "true"),
        ("proof-format-mode", "alethe"),
        ("proof-granularity", "dsl-rewrite"),
        ("seed", "0"),
        ("sat-random-seed", "0"),
        ("rlimit", str(RESOURCES)),
        ("tlimit-per", str(MILLISECONDS)),
    ):
        solver.setOption(option, value)
    return solver


def _assert(cvc5, solver, text, path):
    parser = cvc5.InputParser(solver)
    try:
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "request")
        symbols = parser.getSymbolManager()
        while True:
            command = parser.nextCommand()
            if command.isNull():
                return
            # A command that cvc5 refuses answers in text rather than by raising.
            if "error" in command.invoke(solver, symbols):
                raise _protocol.invalid(path, "the solver refuses a command of the script")
    except RuntimeError:
        raise _protocol.invalid(path, "the solver refuses the script: a name, sort or operator is wrong") from None


def _proof(cvc5, solver):
    proof = solver.getProof(cvc5.ProofComponent.FULL)[0]
    text = solver.proofToString(proof, cvc5.ProofFormat.ALETHE)
    if isinstance(text, bytes):
        text = text.decode("ascii")
    if len(text) > MAX_PROOF:
        raise _protocol.Refusal(_protocol.LIMIT_EXCEEDED, "the proof is longer than 1 MiB")
    steps = [item for item in _smtlib.read(text) if isinstance(item, list)]
    steps = [item for item in steps[0]] if len(steps) == 1 and isinstance(steps[0][0], list) else steps
    holes = sum(1 for step in steps if step[0] == "step" and "hole" in step)
    return {"holes": holes, "proof": text, "proof_format": FORMAT, "proof_steps": len(steps)}
