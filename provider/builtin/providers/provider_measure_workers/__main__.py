"""Start one worker: ``python -I -B …/__main__.py COMMAND WORKER [ARGUMENT…]``.

COMMAND is ``serve`` (answer one request), ``start`` (load the worker and what it
serves, then stop: the cold start) or ``ready`` (load, check that the named
attributes are there, and print what was loaded).

Isolated mode puts neither this folder nor the current one on the module path, so
the package is loaded from the folder that this file lies in and from nowhere else.
"""

import importlib
import importlib.util
import os
import sys

PACKAGE = "provider_measure_workers"
MINIMUM = (3, 11)


def load_package():
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)


def main():
    if sys.version_info < MINIMUM:
        # Without this an old interpreter would fail somewhere inside a worker.
        sys.stderr.write("the workers need Python %d.%d or later\n" % MINIMUM)
        return 2
    sys.dont_write_bytecode = True
    load_package()
    command_line = importlib.import_module(PACKAGE + "._command")
    return command_line.run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
