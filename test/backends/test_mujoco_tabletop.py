"""Scene `tabletop`: what seeds draw, when a task is done, how drawer and button move."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from builtin_interfaces.msg import Time

from pyrua_ros.backends.mujoco import placement, predicates, scenes
from pyrua_ros.backends.mujoco.camera_publisher import info_message
from pyrua_ros.backends.mujoco.world import World
from pyrua_ros.robot_model import profile
from pyrua_ros.robot_model.profile import ConfigError
from pyrua_ros.robot_model.rotations import pose_matrix, quat_to_matrix
from pyrua_ros.wire import config

FR3 = profile.load("fr3")
TABLETOP = scenes.task_set("tabletop")
TASKS = tuple(TABLETOP.tasks)
FRONT = next(camera for camera in config.cameras().cameras if camera.name == "front")
SEEDS = range(50)


@functools.cache
def layouts(task):
    drawn = [TABLETOP.draw(task, seed, "dev") for seed in SEEDS]
    return [(scene, placement.draw(scene, seed)) for seed, scene in zip(SEEDS, drawn, strict=True)]


@functools.cache
def compiled_task(task):
    return World(FR3, TABLETOP.draw(task, 1, "dev"), 1)


@pytest.fixture
def cell(request, drive):
    """The task of this test, fresh, seed 1."""
    world = compiled_task(request.param)
    world.reset(1)
    return drive(world)


def of_task(*tasks):
    return pytest.mark.parametrize("cell", tasks, indirect=True)


def names(world, kind):
    return [name for name, item in world.scene.objects.items() if item.kind == kind]


def put(world, name, xyz):
    """Set an object down upright."""
    joint = world.model.joint(world.model.body(f"scene/{name}").jntadr[0])
    world.data.qpos[joint.qposadr[0] : joint.qposadr[0] + 7] = [*xyz, 1, 0, 0, 0]
    world.data.qvel[joint.dofadr[0] : joint.dofadr[0] + 6] = 0


def at(world, name):
    return world.body_pose(name)[0]


def slide(world, name):
    return world.data.joint(f"scene/{name}/slide")


def done(driver, seconds=1.0):
    driver.run(seconds)
    return predicates.score(driver.world)


# What is drawn


def test_there_are_the_ten_tasks():
    assert TASKS == (
        "pick",
        "place_in",
        "place_on",
        "stack_two",
        "stack_three",
        "sort",
        "swap",
        "push",
        "open_drawer",
        "press_button",
    )


def test_the_same_seed_draws_the_same_and_seeds_differ_in_colours_words_and_places():
    assert TABLETOP.draw("swap", 7, "dev") == TABLETOP.draw("swap", 7, "dev")
    for task in TASKS:
        scenes_drawn = [scene for scene, _ in layouts(task)]
        assert len({scene.task for scene in scenes_drawn}) > 3
        assert len({tuple(scene.objects) for scene in scenes_drawn}) > 5
        assert len({tuple(places.values()) for _, places in layouts(task)}) == len(SEEDS)


def test_tasks_of_one_seed_differ_in_their_layout():
    first = {task: next(iter(layouts(task)[0][1].values())) for task in TASKS}
    assert len({(place.x, place.y) for place in first.values()}) == len(TASKS)


def test_the_wording_changes_nothing_but_the_words():
    for task in TASKS:
        dev, accept = (TABLETOP.draw(task, 3, wording) for wording in ("dev", "accept"))
        assert accept.task != dev.task
        assert accept.model_copy(update={"task": dev.task}) == dev


def test_wordings_for_building_and_for_acceptance_have_nothing_in_common():
    assert TABLETOP.wording_sets == ("dev", "accept")
    for task in TASKS:
        dev, accept = (set(TABLETOP.templates(task, wording)) for wording in ("dev", "accept"))
        assert len(dev) >= 4
        assert len(accept) >= 4
        assert not dev & accept


def test_every_wording_names_what_stands_on_the_table():
    for task, wording in itertools.product(TASKS, TABLETOP.wording_sets):
        for seed in range(20):
            scene = TABLETOP.draw(task, seed, wording)
            assert "{" not in scene.task
            for color in TABLETOP.colors:
                if color in scene.task.split():
                    assert any(item.rgb == TABLETOP.colors[color] for item in scene.objects.values())


def test_nothing_overlaps_and_lanes_are_free():
    for task in TASKS:
        for scene, places in layouts(task):
            for a, b in itertools.combinations(places, 2):
                distance = np.hypot(places[a].x - places[b].x, places[a].y - places[b].y)
                assert distance >= scene.objects[a].radius + scene.objects[b].radius + scene.gap
            for lane in scene.lanes:
                start, end = (np.array([places[n].x, places[n].y]) for n in (lane.start, lane.end))
                assert lane.length[0] <= np.linalg.norm(end - start) <= lane.length[1]
                for u, other in itertools.product(np.linspace(0, 1, 9), set(places) - {lane.start, lane.end}):
                    point = start + u * (end - start) - [places[other].x, places[other].y]
                    assert np.hypot(*point) > lane.width / 2


def test_the_way_of_the_drawer_is_free():
    for scene, places in layouts("open_drawer"):
        cabinet = places["cabinet"]
        out = np.array([np.cos(cabinet.yaw), np.sin(cabinet.yaw)])
        handle = np.array([cabinet.x, cabinet.y]) + 0.115 * out
        for u, (name, place) in itertools.product(np.linspace(0, 0.1, 5), places.items()):
            if name != "cabinet":
                gap = np.hypot(*(handle + u * out - [place.x, place.y])) - scene.objects[name].radius
                assert gap > 0.04


def test_the_front_camera_sees_everything_and_the_hand_reaches_it():
    k = np.array(info_message(FRONT, Time(), "").k).reshape(3, 3)
    from_base = np.linalg.inv(pose_matrix(FRONT.xyz, FRONT.quat))
    for task in TASKS:
        for scene, places in layouts(task):
            for name, place in places.items():
                assert 0.3 <= place.x <= 0.7
                assert abs(place.y) <= 0.35
                for dx, dy in itertools.product((-1, 1), (-1, 1)):
                    radius = scene.objects[name].radius
                    local = from_base @ [place.x + dx * radius, place.y + dy * radius, 0.0, 1.0]
                    column, row, _ = k @ local[:3] / local[2]
                    assert 0 <= column < FRONT.width
                    assert 0 <= row < FRONT.height


def test_an_unknown_task_or_wording_lists_what_exists():
    with pytest.raises(ConfigError, match="no task 'dance'; there are: pick, place_in"):
        scenes.load("tabletop", "dance")
    with pytest.raises(ConfigError, match="no wordings 'secret'; there are: dev, accept"):
        scenes.load("tabletop", "pick", 1, "secret")
    with pytest.raises(ConfigError, match="single task"):
        scenes.load("cube_bowl", "pick")
    assert scenes.load("tabletop").task == scenes.load("tabletop", "place_in").task


# When a task is done


@of_task(*TASKS)
def test_no_task_is_done_at_the_start(cell):
    success, _ = predicates.score(cell.world)
    assert not success


@of_task("pick")
def test_an_object_is_picked_when_the_fingers_hold_it_up(cell):
    name = cell.world.scene.success[0].object
    start = cell.grasp(name)
    cell.reach(start + [0, 0, 0.05])
    assert not predicates.score(cell.world)[0]
    cell.reach(start + [0, 0, 0.12])
    assert predicates.score(cell.world)[0]
    cell.world.gripper.command(0.08, None)
    assert not done(cell)[0]


@of_task("place_in")
def test_an_object_is_in_the_bowl_when_it_lies_there(cell):
    name = cell.world.scene.success[0].object
    put(cell.world, name, at(cell.world, "bowl") + [0.01, 0, 0.06])
    assert done(cell)[0]


@of_task("place_on")
def test_an_object_is_on_the_plate_when_it_lies_there_not_when_it_lies_beside(cell):
    name = cell.world.scene.success[0].object
    height = cell.world.scene.objects[name].height
    put(cell.world, name, at(cell.world, "plate") + [0.02, 0.02, height + 0.01])
    assert done(cell)[0]
    put(cell.world, name, at(cell.world, "plate") + [0.13, 0.0, height])
    assert not done(cell)[0]


@of_task("stack_two", "stack_three")
def test_cubes_are_stacked_when_each_stands_on_its_base(cell):
    world = cell.world
    pairs = [(p.object, p.base) for p in world.scene.success if p.predicate == "stacked"]
    for upper, base in pairs:
        put(world, upper, at(world, base) + [0.012, 0.0, 0.041])
    assert done(cell)[0]
    upper, base = pairs[-1]
    put(world, upper, at(world, base) + [0.05, 0.0, 0.0])
    success, detail = done(cell)
    assert not success
    assert not detail[f"stacked({upper}, {base})"]


@of_task("sort")
def test_cubes_are_sorted_when_each_is_in_the_bowl_of_its_colour_and_not_in_the_other(cell):
    world = cell.world
    bowls = names(world, "bowl")
    cubes = names(world, "cube")
    for i, cube in enumerate(cubes):
        bowl = f"{cube.split('_')[0]}_bowl"
        put(world, cube, at(world, bowl) + [0.0, 0.024 * (-1) ** i, 0.03 + 0.05 * (i % 2)])
    assert done(cell)[0]
    wrong = next(bowl for bowl in bowls if bowl.split("_")[0] != cubes[0].split("_")[0])
    put(world, cubes[0], at(world, wrong) + [0, 0, 0.1])
    assert not done(cell)[0]


@of_task("swap")
def test_two_objects_are_swapped_when_each_stands_where_the_other_stood(cell):
    world = cell.world
    first, second = (p.object for p in world.scene.success[:2])
    places = {name: at(world, name)[:2] for name in (first, second)}
    for name, other in ((first, second), (second, first)):
        put(world, name, [*(places[other] + [0.015, 0.0]), world.scene.objects[name].height])
    assert done(cell)[0]
    put(world, first, [*(places[second] + [0.04, 0.0]), world.scene.objects[first].height])
    assert not done(cell)[0]


@of_task("push")
def test_a_cube_is_pushed_when_it_slid_into_the_zone_and_was_never_lifted(cell):
    world = cell.world
    cube, zone = world.scene.success[0].object, world.scene.success[0].zone
    target = at(world, zone) * [1, 1, 0] + [0.0, 0.0, 0.02]
    put(world, cube, target)
    assert done(cell)[0]
    put(world, cube, target + [0, 0, 0.05])
    success, detail = done(cell)
    assert not success
    assert detail == {**dict.fromkeys(detail, True), f"not_lifted({cube})": False}


# What moves


@of_task("open_drawer")
def test_a_drawer_stays_where_it_was_left_and_is_open_from_six_tenths_on(cell):
    for share, opened in ((0.5, False), (0.7, True)):
        slide(cell.world, "cabinet").qpos[0] = share * 0.1
        assert done(cell)[0] is opened
        assert slide(cell.world, "cabinet").qpos[0] == pytest.approx(share * 0.1, abs=1e-4)


@of_task("open_drawer")
def test_the_hand_pulls_the_drawer_open_by_its_handle(cell):
    xyz, quat = cell.world.body_pose("cabinet")
    turn = quat_to_matrix(quat)
    handle = xyz + turn @ [0.115, 0, 0.055]
    yaw = np.arctan2(turn[1, 0], turn[0, 0])
    cell.reach(handle + [0, 0, 0.12], yaw)
    cell.reach(handle, yaw)
    cell.world.gripper.command(0.0, 30.0)
    cell.run(0.8)
    assert cell.width == pytest.approx(0.02, abs=2e-3)
    for step in np.linspace(0.01, 0.09, 9):
        cell.reach(handle + turn @ [step, 0, 0], yaw)
    cell.world.gripper.command(0.08, None)
    cell.run(0.5)
    cell.reach(handle + turn @ [0.09, 0, 0.12], yaw)
    assert slide(cell.world, "cabinet").qpos[0] == pytest.approx(0.09, abs=0.01)
    assert done(cell)[0]


@of_task("press_button")
def test_closed_fingers_press_the_button_it_springs_back_and_the_press_is_remembered(cell):
    cap = at(cell.world, "button") + [0, 0, 0.0453]
    cell.world.gripper.command(0.0, None)
    cell.reach(cap + [0, 0, 0.1])
    assert slide(cell.world, "button").qpos[0] == pytest.approx(0.0, abs=5e-4)
    cell.reach(cap + [0, 0, 0.015])
    assert not predicates.score(cell.world)[0]
    cell.reach(cap - [0, 0, 0.008])
    assert predicates.score(cell.world)[0]
    cell.reach(cap + [0, 0, 0.1])
    assert slide(cell.world, "button").qpos[0] == pytest.approx(0.0, abs=5e-4)
    assert predicates.score(cell.world)[0]
    cell.world.reset(1)
    assert not predicates.score(cell.world)[0]
