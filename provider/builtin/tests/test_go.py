"""The Go worker; the real toolchain is the one that PROVIDER_EXECUTABLE names."""

import os
import unittest

from support import Answers, request, start

WORKER = "go_build_version"
REAL = os.environ.get("PROVIDER_EXECUTABLE")
EMPTY = "package main\n\nfunc main() {}\n"


def program(content=EMPTY, name="main.go", **changes):
    value = {"module": "example.test/a", "target": "linux/amd64", "files": [{"name": name, "content": content}]}
    return {**value, **changes}


class Requests(Answers, unittest.TestCase):
    def test_refusals(self):
        for value, where in (
            (program(name="../main.go"), "/files/0/name"),
            (program(name="go.mod"), "/files/0/name"),
            (program(name="_a.go"), "/files/0/name"),
            (program(name="a.go\n"), "/files/0/name"),
            (program(content=""), "/files/0/content"),
            (program(content="x" * 65537), "/files/0/content"),
            (program(content="\ud800"), "/files/0/content"),
            (program(files=[]), "/files"),
            (program(files=program()["files"] * 2), "/files/1/name"),
            (program(target="linux/386"), "/target"),
            (program(target={}), "/target"),
            (program(module="plain"), "/module"),
            (program(module="example.test/../a"), "/module"),
            (program(module="example.test/a\n\nreplace b => /"), "/module"),
            (program(flags="-toolexec=x"), ""),
        ):
            with self.subTest(where=where):
                self.refused(WORKER, value, "/input" + where, "/bin/true")

    def test_stand_in(self):
        done = start(WORKER, request(WORKER, program()), "/bin/true")
        self.error(done, "EXECUTION_FAILED", "/input/files")


@unittest.skipUnless(REAL, "PROVIDER_EXECUTABLE does not name a toolchain")
class Builds(Answers, unittest.TestCase):
    def test_does_not_build(self):
        for content in (
            "package main\n",
            "package other\n",
            'package main\n\nimport "rsc.io/quote"\n\nfunc main() { println(quote.Go()) }\n',
            'package main\n\nimport "C"\n\nfunc main() {}\n',
            'package main\n\nimport _ "embed"\n\n//go:embed /etc/passwd\nvar s string\n\nfunc main() {}\n',
        ):
            with self.subTest(content=content):
                self.refused(WORKER, program(content), "/input/files", REAL, code="EXECUTION_FAILED")


if __name__ == "__main__":
    unittest.main()
