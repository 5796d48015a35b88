"""What the tests of the workers share: starting one and reading its one line."""

import json
import pathlib
import subprocess
import sys

PROVIDERS = pathlib.Path(__file__).resolve().parent.parent / "providers"
MAIN = PROVIDERS / "provider_measure_workers" / "__main__.py"
PROTOCOL = "provider-measure.worker/1"

CAPABILITIES = {
    "cadical_solve": "sat.solve",
    "cvc5_unsat_proof": "smt.unsat_proof.find",
    "flint_rref": "matrix.reduced_row_echelon_form",
    "go_build_version": "go.build.version",
    "graph_critical_group": "graph.compute.critical_group",
    "graph_properties": "graph.compute.properties",
    "smith_normal_form": "matrix.smith_normal_form",
    "sympy_jacobian": "symbolic.jacobian",
    "z3_satisfiability": "smt.satisfiability",
}


def start(worker, data, *arguments, command="serve"):
    """Run a worker in an empty environment."""
    return subprocess.run(
        [sys.executable, "-I", "-B", str(MAIN), command, worker, *arguments],
        input=data,
        capture_output=True,
        env={},
        timeout=120,
        check=False,
    )


def request(worker, value, **changes):
    body = {"protocol": PROTOCOL, "capability_id": CAPABILITIES[worker], "mode": "EXPLORE", "input": value, **changes}
    return json.dumps(body).encode()


class Answers:
    """Assertions on answers, for a unittest.TestCase."""

    def answer(self, done, status):
        self.assertEqual(done.stderr, b"")
        self.assertEqual(done.stdout.count(b"\n"), 1, done.stdout[:200])
        self.assertTrue(done.stdout.endswith(b"\n"))
        value = json.loads(done.stdout, parse_float=self.fail)
        canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
        self.assertEqual(done.stdout.decode(), canonical)
        self.assertEqual(value.pop("protocol"), PROTOCOL)
        self.assertEqual(done.returncode, status, value)
        return value

    def output(self, worker, value, *arguments):
        done = start(worker, request(worker, value), *arguments)
        return self.answer(done, 0)["output"]

    def error(self, done, code, path):
        value = self.answer(done, 1)
        self.assertEqual(sorted(value), ["error"])
        error = value["error"]
        self.assertEqual(sorted(error), ["code", "message", "path"])
        self.assertEqual((error["code"], error["path"]), (code, path), error["message"])
        self.assertNotIn("Traceback", error["message"])
        self.assertNotIn(str(PROVIDERS), error["message"])

    def refused(self, worker, value, path, *arguments, code="INVALID_REQUEST"):
        self.error(start(worker, request(worker, value), *arguments), code, path)
