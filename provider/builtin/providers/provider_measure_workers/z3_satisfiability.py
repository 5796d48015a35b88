"""``smt.satisfiability``: satisfiability of SMT-LIB assertions with a model, by Z3."""

from . import _protocol, _smtlib

CAPABILITY = "smt.satisfiability"
LOGICS = (
    "ALL", "LIA", "LRA", "QF_AUFLIA", "QF_AX", "QF_BV", "QF_IDL", "QF_LIA", "QF_LRA", "QF_NIA", "QF_NRA",
    "QF_RDL", "QF_UF", "QF_UFBV", "QF_UFLIA", "QF_UFLRA", "UF", "UFLIA", "UFLRA",
)  # fmt: skip
# Counted by Z3 in steps, so the same request stops at the same place on any host; the
# time limit beside it only guards against steps that are slow.
RESOURCES = 10_000_000
MILLISECONDS = 20_000


def load():
    import z3

    return z3


def version(backend):
    return backend.get_full_version()


def parse(value, path):
    return (*_smtlib.schema_parse(value, path, LOGICS), path + "/script")


def solve(z3, problem):
    logic, commands, path = problem
    text = "\n".join(map(_smtlib.write, commands))
    try:
        assertions = list(z3.parse_smt2_string(text))
    except z3.Z3Exception:
        raise _protocol.invalid(path, "the solver refuses the script: a name, sort or operator is wrong") from None
    solver = z3.Solver() if logic == "ALL" else z3.SolverFor(logic)
    solver.set("rlimit", RESOURCES)
    solver.set("timeout", MILLISECONDS)
    solver.add(assertions)
    answer = solver.check()
    output = {"assertions": len(assertions), "logic": logic, "model": None, "model_checked": None, "reason": None}
    if answer == z3.unsat:
        return {**output, "status": "UNSATISFIABLE"}
    if answer == z3.unknown:
        return {**output, "reason": _reason(solver.reason_unknown()), "status": "UNKNOWN"}
    model = solver.model()
    return {**output, **_checked(z3, model, assertions), "model": _definitions(model), "status": "SATISFIABLE"}


def _reason(text):
    """Z3 says "canceled", or names resources, at the step limit. What is unknown for
    lack of time may be known on a faster host; the other two are the same on any."""
    if "timeout" in text:
        return "TIME_LIMIT"
    return "STEP_LIMIT" if "canceled" in text or "resource" in text else "INCOMPLETE"


def _checked(z3, model, assertions):
    """Evaluate each assertion in the model. One that is false is a defect of the solver;
    one that does not evaluate, as a quantified one may not, leaves the model unchecked."""
    values = [model.eval(assertion, model_completion=True) for assertion in assertions]
    if any(z3.is_false(value) for value in values):
        raise _protocol.Refusal(_protocol.EXECUTION_FAILED, "the model failed its check")
    return {"model_checked": all(z3.is_true(value) for value in values)}


def _definitions(model):
    definitions = []
    for expression in _smtlib.read(model.sexpr()):
        if isinstance(expression, list) and len(expression) == 5 and expression[0] == "define-fun":
            _, name, parameters, sort, value = expression
            definitions.append(
                {
                    "name": _smtlib.unquote(name),
                    "parameters": [[p, _smtlib.write(s)] for p, s in parameters],
                    "sort": _smtlib.write(sort),
                    "value": _smtlib.write(value),
                }
            )
    return sorted(definitions, key=lambda definition: definition["name"])
