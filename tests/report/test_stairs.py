"""The solid below a skyline: closed, as large as it should be, its points at its corners."""

import random
from itertools import product

import pytest

from foreknow.report.pages.skyline import corners_of, solid

FLOOR = (-1.0, -1.0, -1.0)


def drawn(seed, most=6):
    """Random points, none of which is at most another one."""
    chance = random.Random(seed)
    points = {
        tuple(chance.randrange(most) for _ in range(3)) for _ in range(chance.randrange(1, 9))
    }
    return sorted(
        point
        for point in points
        if not any(other != point and below(point, other) for other in points)
    )


def below(point, other):
    return all(a <= b for a, b in zip(point, other, strict=True))


def area(face):
    return (face.high[0] - face.low[0]) * (face.high[1] - face.low[1])


@pytest.mark.parametrize("seed", range(100))
def test_the_faces_across_each_axis_enclose_the_cells_below_the_points(seed):
    points = drawn(seed)
    cells = sum(any(below(cell, p) for p in points) for cell in product(range(6), repeat=3))
    faces = solid(points, FLOOR).faces
    for axis in range(3):
        across = [face for face in faces if face.axis == axis]
        # By the divergence theorem: what the faces have in front of them, less what is behind.
        volume = sum(area(f) * f.at * (-1 if f.at == FLOOR[axis] else 1) for f in across)
        assert volume == cells
        flux = sum(area(f) * (-1 if f.at == FLOOR[axis] else 1) for f in across)
        assert flux == 0  # closed


@pytest.mark.parametrize("seed", range(100))
def test_each_point_is_where_three_edges_meet(seed):
    points = drawn(seed)
    edges = solid(points, FLOOR).edges
    for point in points:
        ends = [edge for edge in edges if point in edge]
        directions = {
            next(axis for axis in range(3) if one[axis] != other[axis]) for one, other in ends
        }
        assert directions == {0, 1, 2}


@pytest.mark.parametrize("seed", range(30))
def test_no_edge_runs_across_a_flat_place(seed):
    points = drawn(seed)
    inside = {
        cell for cell in product(range(-1, 6), repeat=3) if any(below(cell, p) for p in points)
    }
    for one, other in solid(points, FLOOR).edges:
        along = next(axis for axis in range(3) if one[axis] != other[axis])
        across = [axis for axis in range(3) if axis != along]
        at = [int(a) for a in one]
        at[along] = int(max(one[along], other[along]))
        around = []
        for a, b in product((0, 1), repeat=2):
            cell = list(at)
            cell[across[0]] += a
            cell[across[1]] += b
            around.append(all(c >= 0 for c in cell) and tuple(cell) in inside)
        # Around a line within a face, two cells side by side are inside and two are not.
        assert around not in ([True, True, False, False], [True, False, True, False])


def test_one_point_is_a_box():
    box = solid([(0, 0, 0)], FLOOR)
    assert len(box.faces) == 6
    assert len(box.edges) == 9  # those at the far corner of the floor are not drawn
    assert {area(face) for face in box.faces} == {1}


def test_no_point_is_nothing():
    assert solid([], FLOOR).faces == solid([], FLOOR).edges == ()


def test_stairs_of_a_plane():
    assert corners_of([]) == []
    assert corners_of([(1, 1), (0, 2), (1, 1), (2, 0)]) == [(0, 2), (1, 1), (2, 0)]
