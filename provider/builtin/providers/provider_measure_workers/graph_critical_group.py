"""``graph.compute.critical_group``: NetworkX reads the graph, the worker reduces it.

The cokernel of the Laplacian of a graph with c components is the sum of c copies of
the integers and a finite group, the critical (or sandpile) group. The order of that
group is the number of spanning forests with c trees, which Kirchhoff's theorem gives
a second way: as a determinant.
"""

from . import __version__, _graph, _protocol, _smith

CAPABILITY = "graph.compute.critical_group"
MAX_ORDER = 48
MAX_SIZE = MAX_ORDER * (MAX_ORDER - 1) // 2


def load():
    import networkx

    return networkx


def version(backend):
    return "%s with networkx %s" % (__version__, backend.__version__)


def parse(value, path):
    return _graph.parse(value, path, MAX_ORDER, MAX_SIZE)


def solve(networkx, problem):
    graph = _graph.build(networkx, *problem)
    parts = [sorted(part) for part in networkx.connected_components(graph)]
    forests = 1
    for part in parts:
        forests *= _smith.determinant(_laplacian(graph, part[1:])) if len(part) > 1 else 1
    diagonal, _, _ = _smith.smith(_laplacian(graph, sorted(graph)), transforms=False)
    group = [factor for factor in diagonal if factor != 1]
    order = 1
    for factor in group:
        order *= factor
    if order != forests or len(diagonal) != graph.number_of_nodes() - len(parts):
        raise _protocol.Refusal(_protocol.EXECUTION_FAILED, "the two counts of spanning forests differ")
    return {
        "component_count": len(parts),
        "invariant_factors": [str(factor) for factor in group],
        "spanning_forests": str(forests),
    }


def _laplacian(graph, vertices):
    return [[graph.degree(u) if u == v else -int(graph.has_edge(u, v)) for v in vertices] for u in vertices]
