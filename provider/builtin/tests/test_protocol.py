"""Hostile requests, put to every worker: each gets its code, exit 1, and no stderr."""

import json
import unittest

from support import CAPABILITIES, PROTOCOL, Answers, request, start

GOOD = '{"protocol":"%s","capability_id":"%s","mode":"EXPLORE","input":%s}'


class Protocol(Answers, unittest.TestCase):
    def every(self, data, code, path):
        for worker, capability in CAPABILITIES.items():
            with self.subTest(worker=worker):
                self.error(start(worker, data(worker, capability)), code, path)

    def test_not_json(self):
        for text in (b"", b" ", b"nope", b"{", b"[1,2", b"{}{}", b"{} x", b"'a'", b"\x00", b'{"a":}', b"{'a':1}", b"\x0c{}"):
            with self.subTest(text=text):
                self.error(start("smith_normal_form", text), "INVALID_REQUEST", None)

    def test_not_an_object(self):
        for text in (b"[]", b"null", b"1", b'"x"', b"true"):
            with self.subTest(text=text):
                self.error(start("smith_normal_form", text), "INVALID_REQUEST", None)

    def test_bytes(self):
        for text in (b"\xff\xfe", b'{"a":"\xc3"}', b"\xef\xbb\xbf{}", b'{"a":"\xed\xa0\x80"}'):
            with self.subTest(text=text):
                self.error(start("smith_normal_form", text), "INVALID_REQUEST", None)

    def test_numbers(self):
        for number in ("NaN", "Infinity", "-Infinity", "1.0", "1e5", "-0.0", "1" * 5000, "9007199254740992", "01", "+1"):
            with self.subTest(number=number[:20]):
                self.every(lambda _, c: (GOOD % (PROTOCOL, c, '{"x":%s}' % number)).encode(), "INVALID_REQUEST", None)

    def test_repeated_keys(self):
        self.every(lambda _, c: (GOOD % (PROTOCOL, c, '{"x":1,"x":1}')).encode(), "INVALID_REQUEST", None)
        self.every(lambda _, c: (GOOD % (PROTOCOL, c, '{"x":1,"\\u0078":1}')).encode(), "INVALID_REQUEST", None)
        twice = b'{"protocol":"p","protocol":"p"}'
        self.every(lambda *_: twice, "INVALID_REQUEST", None)

    def test_depth(self):
        for depth in (100, 100_000):
            deep = b"[" * depth + b"]" * depth
            self.every(lambda *_: deep, "INVALID_REQUEST", None)
        # Brackets inside a string are not depth: what is wrong here is the value.
        flat = GOOD % (PROTOCOL, CAPABILITIES["smith_normal_form"], json.dumps("[" * 1000 + '"'))
        self.error(start("smith_normal_form", flat.encode()), "INVALID_REQUEST", "/input")

    def test_size(self):
        limit = 4 << 20
        for worker in ("smith_normal_form", "graph_properties"):
            self.error(start(worker, b" " * (limit + 1)), "LIMIT_EXCEEDED", None)
            self.error(start(worker, b" " * limit), "INVALID_REQUEST", None)

    def test_envelope(self):
        worker = "smith_normal_form"
        cases = (
            ({"protocol": "other/1"}, "UNSUPPORTED", "/protocol"),
            ({"protocol": None}, "UNSUPPORTED", "/protocol"),
            ({"capability_id": "other.thing"}, "UNSUPPORTED", "/capability_id"),
            ({"capability_id": {}}, "UNSUPPORTED", "/capability_id"),
            ({"mode": "VERIFY"}, "UNSUPPORTED", "/mode"),
            ({"mode": ["EXPLORE"]}, "UNSUPPORTED", "/mode"),
            ({"extra": 1}, "INVALID_REQUEST", None),
            ({"Mode": "EXPLORE"}, "INVALID_REQUEST", None),
        )
        for changes, code, path in cases:
            with self.subTest(changes=changes):
                self.error(start(worker, request(worker, {"matrix": [["1"]]}, **changes)), code, path)
        for missing in ("protocol", "capability_id", "mode", "input"):
            body = json.loads(request(worker, {"matrix": [["1"]]}))
            del body[missing]
            self.error(start(worker, json.dumps(body).encode()), "INVALID_REQUEST", None)

    def test_input_of_a_wrong_type(self):
        for value in ("null", "[]", '"x"', "1", "true"):
            self.every(lambda _, c: (GOOD % (PROTOCOL, c, value)).encode(), "INVALID_REQUEST", "/input")
        self.every(lambda _, c: (GOOD % (PROTOCOL, c, '{"unknown":1}')).encode(), "INVALID_REQUEST", "/input")

    def test_wrong_start(self):
        for arguments in (("serve",), ("serve", "os"), ("serve", "_protocol"), ("eval", "smith_normal_form")):
            done = start(arguments[-1], b"", command=arguments[0]) if len(arguments) > 1 else start("", b"")
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertTrue(done.stderr.startswith(b"usage: "))

    def test_ready(self):
        done = start("smith_normal_form", b"", "smith", "no_such_name", command="ready")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["missing"], ["no_such_name"])
        self.assertEqual(done.stderr, b"")


if __name__ == "__main__":
    unittest.main()
