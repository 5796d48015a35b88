"""Workers of provider-measure: one small program for each built-in capability.

A worker reads one JSON request on standard input and writes one JSON line on
standard output. It needs Python 3.11 or later, the standard library, and the one
package or executable that it serves. See ``_protocol`` for the wire format.
"""

__version__ = "1.0.0"
