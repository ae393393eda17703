"""Thinning of visual meshes."""

from __future__ import annotations

import numpy as np
import pytest

from pyrua_ros.backends.mujoco.meshes import read_obj, thin, thin_to_detail


def grid(n):
    """A unit square of n x n cells, two triangles each."""
    u = np.linspace(0.0, 1.0, n + 1)
    x, y = np.meshgrid(u, u)
    vertices = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1)
    corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    lower = np.stack([corner, corner + 1, corner + n + 2], axis=1)
    upper = np.stack([corner, corner + n + 2, corner + n + 1], axis=1)
    return vertices, np.vstack([lower, upper])


def area(vertices, faces):
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2


def test_a_finely_divided_square_keeps_its_shape_with_fewer_triangles():
    vertices, faces = grid(40)
    thinner, fewer = thin(vertices, faces, 0.1)
    assert len(fewer) < len(faces) / 10
    assert area(thinner, fewer) == pytest.approx(1.0, abs=0.15)
    np.testing.assert_array_equal(thinner[:, 2], 0.0)
    assert fewer.max() == len(thinner) - 1


def test_a_small_mesh_is_left_as_it_is():
    vertices, faces = grid(4)
    same_vertices, same_faces = thin_to_detail(vertices, faces)
    np.testing.assert_array_equal(same_vertices, vertices)
    np.testing.assert_array_equal(same_faces, faces)


def test_an_obj_file_is_read(tmp_path):
    path = tmp_path / "m.obj"
    path.write_text("# c\no m\nv 0 0 0\nv 1 0 0\nv 0 1 0.5\nvn 0 0 1\nusemtl a\nf 1//1 2//1 3//1\n")
    vertices, faces = read_obj(path)
    np.testing.assert_array_equal(vertices, [[0, 0, 0], [1, 0, 0], [0, 1, 0.5]])
    np.testing.assert_array_equal(faces, [[0, 1, 2]])


def test_faces_of_another_form_are_refused_with_the_file(tmp_path):
    path = tmp_path / "quads.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1//1 2//1 3//1 4//1\n")
    with pytest.raises(ValueError, match=r"quads\.obj: expected triangles"):
        read_obj(path)
