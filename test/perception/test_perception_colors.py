from __future__ import annotations

import numpy as np
import pytest

from pyrua_ros.perception import colors

SHADES = {
    "red": [(220, 30, 30), (130, 15, 15)],
    "orange": [(255, 140, 0)],
    "yellow": [(240, 220, 30), (150, 135, 15)],
    "green": [(20, 160, 40), (10, 80, 20)],
    "blue": [(20, 50, 220), (10, 25, 110)],
    "purple": [(120, 30, 160)],
    "pink": [(255, 105, 180)],
    "brown": [(120, 70, 25)],
    "white": [(245, 245, 245)],
    "gray": [(120, 120, 120)],
    "black": [(15, 15, 15)],
}


@pytest.mark.parametrize(("name", "rgb"), [(name, rgb) for name, all_ in SHADES.items() for rgb in all_])
def test_a_colour_is_named_as_a_person_would_in_light_and_shade(name, rgb):
    lab = colors.to_lab(np.full((4, 4, 3), rgb, np.uint8))
    assert colors.name_of(colors.classify(lab).ravel(), lab.reshape(-1, 3)) == name
