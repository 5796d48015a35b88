"""``go.build.version``: build a main package offline and read its build information.

The package is compiled and never run. cgo, workspaces, module downloads and version
control are off, so that nothing but the given files and the toolchain goes in, and
the same toolchain gives the same bytes on any host.
"""

import hashlib
import os
import re
import tempfile

from . import _child, _protocol

CAPABILITY = "go.build.version"
MAX_FILES = 8
MAX_FILE = 65_536
FILE_NAME = r"[a-z][a-z0-9_]{0,59}\.go"
MODULE = r"[a-z][a-z0-9-]{0,30}(?:\.[a-z][a-z0-9-]{0,30})+(?:/[a-z][a-z0-9-]{0,30}){1,3}"
TARGETS = ("darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64")
SECONDS = 100
LANGUAGE = "1.26"


def load(executable):
    return _child.check(executable)


def parse(value, path):
    _protocol.fields(value, path, ("module", "files", "target"))
    module = _protocol.string(value["module"], path + "/module", 5, 128, MODULE, "a module path with a domain")
    if value["target"] not in TARGETS:
        raise _protocol.invalid(path + "/target", "this must be one of: " + ", ".join(TARGETS))
    files = {}
    for i, file in enumerate(_protocol.array(value["files"], path + "/files", 1, MAX_FILES)):
        here = "%s/files/%d" % (path, i)
        _protocol.fields(file, here, ("name", "content"))
        name = _protocol.string(file["name"], here + "/name", 4, 63, FILE_NAME, "a lower-case name that ends in .go")
        if name in files:
            raise _protocol.invalid(here + "/name", "this file was given before")
        files[name] = _protocol.string(file["content"], here + "/content", 1, MAX_FILE)
    return module, files, value["target"]


def solve(executable, problem):
    module, files, target = problem
    with tempfile.TemporaryDirectory() as folder:
        source, binary = os.path.join(folder, "source"), os.path.join(folder, "binary")
        os.mkdir(source)
        for name, content in {**files, "go.mod": "module %s\n\ngo %s\n" % (module, LANGUAGE)}.items():
            with open(os.path.join(source, name), "w", encoding="utf-8", newline="") as handle:
                handle.write(content)
        environment = _environment(folder, target)
        build = [executable, "build", "-buildmode=exe", "-trimpath", "-buildvcs=false", "-o", binary, "."]
        status, _, _ = _child.run(build, b"", SECONDS, source, environment)
        if status != 0 or not os.path.isfile(binary):
            # The compiler's messages are not passed on: they may hold paths of the host.
            raise _protocol.Refusal(_protocol.EXECUTION_FAILED, "the package does not build", "/input/files")
        status, report, _ = _child.run([executable, "version", "-m", binary], b"", SECONDS, source, environment)
        if status != 0:
            raise _protocol.Refusal(_protocol.EXECUTION_FAILED, "the build information could not be read")
        with open(binary, "rb") as handle:
            digest = "sha256:" + hashlib.file_digest(handle, "sha256").hexdigest()
        return {**_report(report, binary), "digest": digest, "size": os.path.getsize(binary), "target": target}


def _environment(folder, target):
    system, machine = target.split("/")
    return {
        "CGO_ENABLED": "0",
        "GO111MODULE": "on",
        "GOAMD64": "v1",
        "GOARCH": machine,
        "GOARM64": "v8.0",
        "GOCACHE": os.path.join(folder, "cache"),
        "GOENV": "off",
        "GOFLAGS": "",
        "GOMODCACHE": os.path.join(folder, "modules"),
        "GOOS": system,
        "GOPATH": os.path.join(folder, "path"),
        "GOPROXY": "off",
        "GOSUMDB": "off",
        "GOTMPDIR": folder,
        "GOTOOLCHAIN": "local",
        "GOVCS": "*:off",
        "GOWORK": "off",
        "HOME": folder,
        "LC_ALL": "C",
        "TMPDIR": folder,
    }


def _report(report, binary):
    """Read what ``go version -m`` prints: a heading, then tab-separated lines."""
    lines = report.decode("utf-8").splitlines()
    heading = re.fullmatch(r".*: (go[0-9][0-9A-Za-z.:-]*)", lines[0]) if lines[0].startswith(binary) else None
    if heading is None:
        raise _protocol.Refusal(_protocol.EXECUTION_FAILED, "the build information has an unknown form")
    settings, module = {}, None
    for parts in (line.strip("\t").split("\t") for line in lines[1:]):
        if parts[0] == "build" and len(parts) == 2:
            key, _, text = parts[1].partition("=")
            settings[key] = text
        elif parts[0] == "mod":
            module = parts[1]
    return {"go_version": heading.group(1), "module": module, "settings": settings}
