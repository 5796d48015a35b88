"""``graph.compute.properties``: exact invariants of a finite simple graph, by NetworkX."""

from fractions import Fraction

from . import _graph

CAPABILITY = "graph.compute.properties"
MAX_ORDER = 512
# Distances and girth take a breadth-first search from each vertex: this bound keeps
# the slowest graph that is accepted within the time limit of the manifest.
MAX_SIZE = 8192


def load():
    import networkx

    return networkx


def version(backend):
    return backend.__version__


def parse(value, path):
    return _graph.parse(value, path, MAX_ORDER, MAX_SIZE)


def solve(networkx, problem):
    graph = _graph.build(networkx, *problem)
    degrees = sorted((degree for _, degree in graph.degree()), reverse=True)
    components = sorted((len(part) for part in networkx.connected_components(graph)), reverse=True)
    output = {
        "bipartite": networkx.is_bipartite(graph),
        "bridges": sorted(sorted(edge) for edge in networkx.bridges(graph)),
        "component_sizes": components,
        "connected": len(components) == 1,
        "cut_vertices": sorted(networkx.articulation_points(graph)),
        "degeneracy": max(networkx.core_number(graph).values()),
        "degree_sequence": degrees,
        "eulerian": networkx.is_eulerian(graph) if len(components) == 1 else False,
        "forest": networkx.is_forest(graph),
        "order": graph.number_of_nodes(),
        "planar": networkx.check_planarity(graph)[0],
        "regular": degrees[0] == degrees[-1],
        "size": graph.number_of_edges(),
        "tree": networkx.is_tree(graph),
        "triangles": sum(networkx.triangles(graph).values()) // 3,
    }
    output["density"] = _ratio(2 * output["size"], output["order"] * (output["order"] - 1))
    paths = sum(degree * (degree - 1) // 2 for degree in degrees)
    output["transitivity"] = _ratio(3 * output["triangles"], paths)
    output["girth"] = None if output["forest"] else networkx.girth(graph)
    output.update(_distances(networkx, graph, output["connected"]))
    return output


def _ratio(numerator, denominator):
    """An exact fraction in lowest terms; null where the definition divides by zero."""
    if denominator == 0:
        return None
    value = Fraction(numerator, denominator)
    return {"num": str(value.numerator), "den": str(value.denominator)}


def _distances(networkx, graph, connected):
    """Diameter, radius and centre are null for a graph that is not connected."""
    if not connected:
        return {"center": None, "diameter": None, "radius": None}
    eccentricity = networkx.eccentricity(graph)
    radius = min(eccentricity.values())
    return {
        "center": sorted(vertex for vertex, value in eccentricity.items() if value == radius),
        "diameter": max(eccentricity.values()),
        "radius": radius,
    }
