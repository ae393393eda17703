"""Builds and installs the package for colcon and pip; dependencies are in pyproject.toml."""

import os
from xml.etree import ElementTree

from setuptools import find_packages, setup

# colcon on older distributions runs a setuptools that does not read pyproject.toml.
MANIFEST = ElementTree.parse("package.xml").getroot()
NAME = MANIFEST.findtext("name")


def data(folder):
    """Every file below `folder`, to be installed under share/ in the same place."""
    return [
        (os.path.join("share", NAME, parent), [os.path.join(parent, file) for file in sorted(files)])
        for parent, _, files in os.walk(folder)
        if files and "__pycache__" not in parent
    ]


setup(
    name=NAME,
    version=MANIFEST.findtext("version"),
    description=MANIFEST.findtext("description"),
    license=MANIFEST.findtext("license"),
    python_requires=">=3.10,<3.14",
    packages=find_packages(include=["pyrua_ros", "pyrua_ros.*"]),
    package_data={"": ["*.j2"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *data("launch"),
        *data("config"),
        *data("urdf"),
    ],
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "pyrua = pyrua_ros.cli:main",
            "mujoco = pyrua_ros.backends.mujoco.node:main",
            "gate = pyrua_ros.gate.node:main",
            "planner = pyrua_ros.planner.node:main",
        ],
    },
)
