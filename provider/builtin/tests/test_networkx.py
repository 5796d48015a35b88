"""The graph workers against graphs whose invariants are known."""

import itertools
import unittest

from support import Answers

PROPERTIES = "graph_properties"
CRITICAL = "graph_critical_group"


def complete(n):
    return [list(pair) for pair in itertools.combinations(range(n), 2)]


def path(n):
    return [[i, i + 1] for i in range(n - 1)]


def cycle(n):
    return [*path(n), [0, n - 1]]


class Properties(Answers, unittest.TestCase):
    def has(self, order, edges, **expected):
        output = self.output(PROPERTIES, {"order": order, "edges": edges})
        self.assertEqual({key: output[key] for key in expected}, expected)

    def test_known_graphs(self):
        one = {"num": "1", "den": "1"}
        self.has(1, [], connected=True, tree=True, diameter=0, radius=0, center=[0], girth=None, density=None)
        self.has(2, [], connected=False, forest=True, tree=False, diameter=None, center=None, eulerian=False)
        self.has(5, complete(5), planar=False, triangles=10, girth=3, density=one, transitivity=one, degeneracy=4)
        self.has(4, complete(4), planar=True, triangles=4, regular=True, bipartite=False, eulerian=False)
        self.has(32, path(32), tree=True, diameter=31, radius=16, center=[15, 16], cut_vertices=list(range(1, 31)))
        self.has(7, cycle(7), girth=7, eulerian=True, bipartite=False, diameter=3, bridges=[], transitivity={"num": "0", "den": "1"})
        self.has(6, [[i, j] for i in range(3) for j in range(3, 6)], bipartite=True, planar=False, girth=4)
        self.has(5, [[0, 1], [0, 2], [1, 2], [3, 4]], component_sizes=[3, 2], bridges=[[3, 4]], forest=False)

    def test_order_of_edges_is_not_seen(self):
        forward = self.output(PROPERTIES, {"order": 9, "edges": cycle(9)})
        self.assertEqual(forward, self.output(PROPERTIES, {"order": 9, "edges": cycle(9)[::-1]}))

    def test_limits(self):
        self.has(512, cycle(512), girth=512, diameter=256)
        self.has(128, complete(128), size=8128, triangles=341376)
        self.refused(PROPERTIES, {"order": 513, "edges": []}, "/input/order")
        self.refused(PROPERTIES, {"order": 200, "edges": complete(130)}, "/input/edges")

    def test_refusals(self):
        for worker in (PROPERTIES, CRITICAL):
            for value, where in (
                ({"order": 0, "edges": []}, "/order"),
                ({"order": True, "edges": []}, "/order"),
                ({"order": "3", "edges": []}, "/order"),
                ({"order": 3, "edges": {}}, "/edges"),
                ({"order": 3, "edges": [[0, 3]]}, "/edges/0/1"),
                ({"order": 3, "edges": [[-1, 2]]}, "/edges/0/0"),
                ({"order": 3, "edges": [[0, 1, 2]]}, "/edges/0"),
                ({"order": 3, "edges": [[0]]}, "/edges/0"),
                ({"order": 3, "edges": [[1, 1]]}, "/edges/0"),
                ({"order": 3, "edges": [[1, 0]]}, "/edges/0"),
                ({"order": 3, "edges": [[0, 1], [0, 1]]}, "/edges/1"),
                ({"order": 3, "edges": [["0", 1]]}, "/edges/0/0"),
                ({"order": 3}, ""),
                ({"order": 3, "edges": [], "directed": False}, ""),
            ):
                with self.subTest(worker=worker, value=value):
                    self.refused(worker, value, "/input" + where)


class CriticalGroup(Answers, unittest.TestCase):
    def is_group(self, order, edges, factors, forests, components=1):
        output = self.output(CRITICAL, {"order": order, "edges": edges})
        self.assertEqual(
            output,
            {"component_count": components, "invariant_factors": factors, "spanning_forests": forests},
        )

    def test_known_groups(self):
        self.is_group(1, [], [], "1")
        self.is_group(3, [], [], "1", components=3)
        self.is_group(20, path(20), [], "1")
        self.is_group(12, cycle(12), ["12"], "12")
        self.is_group(6, complete(6), ["6"] * 4, str(6**4))
        self.is_group(48, complete(48), ["48"] * 46, str(48**46))
        # Two triangles: each gives a factor 3.
        self.is_group(6, [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]], ["3", "3"], "9", components=2)


if __name__ == "__main__":
    unittest.main()
