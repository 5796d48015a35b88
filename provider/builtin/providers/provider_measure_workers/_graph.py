"""The graph that the graph capabilities take: ``{"order": n, "edges": [[u, v], …]}``.

Vertices are 0 to n−1. Each edge is given once, with u < v; loops and repeated edges
are refused rather than dropped, since a caller who sends one means another graph.
"""

from . import _protocol


def parse(value, path, max_order, max_size):
    _protocol.fields(value, path, ("order", "edges"))
    order = _protocol.integer(value["order"], path + "/order", 1, max_order)
    edges = []
    seen = set()
    for i, edge in enumerate(_protocol.array(value["edges"], path + "/edges", 0, max_size)):
        here = "%s/edges/%d" % (path, i)
        _protocol.array(edge, here, 2, 2)
        u = _protocol.integer(edge[0], here + "/0", 0, order - 1)
        v = _protocol.integer(edge[1], here + "/1", 0, order - 1)
        if u >= v:
            raise _protocol.invalid(here, "the first vertex of an edge must be less than the second")
        if (u, v) in seen:
            raise _protocol.invalid(here, "this edge was given before")
        seen.add((u, v))
        edges.append((u, v))
    # The order in which edges were sent must not reach the answer.
    return order, sorted(edges)


def build(networkx, order, edges):
    graph = networkx.Graph()
    graph.add_nodes_from(range(order))
    graph.add_edges_from(edges)
    return graph
