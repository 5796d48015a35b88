"""Running the executable that a worker serves."""

import os
import subprocess

from . import _protocol


def check(path):
    """Return path if it is an absolute path of a file that may be executed."""
    if not os.path.isabs(path) or not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise OSError("not an executable")
    return path


def run(arguments, data, seconds, folder, environment):
    """Run a child to its end and return its exit status, standard output and error.

    The caller of the worker bounds memory and output of this whole tree of processes;
    the time limit here only lets the worker answer before that one ends it.
    """
    try:
        done = subprocess.run(
            arguments, input=data, capture_output=True, timeout=seconds, cwd=folder, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise _protocol.Refusal(_protocol.LIMIT_EXCEEDED, "the executable took more than %d seconds" % seconds) from None
    return done.returncode, done.stdout, done.stderr
