"""The functions that the first cell of an episode defines; the later cells are a few lines each because of them.

Written as a careful model writes them: every result is measured, printed, and looked at before the next step.
"""

from __future__ import annotations

TOOLBOX = '''\
import json, time

PASSING = ("NoStateError", "NoFrameError", "StaleFrameError", "GateError")
if "known" not in globals():
    known, held, spots, vessels = set(), {}, {}, {}

def again(call, *args, **more):
    """A busy machine may miss joint states or a frame; the same call once more does no harm."""
    for rest in (0.3, 1.0, 2.0, 4.0, None):
        try:
            result = call(*args, **more)
            if rest is None or "joint_states" not in getattr(result, "reason", ""):
                return result
            print("once more:", result)
        except Exception as error:
            if rest is None or type(error).__name__ not in PASSING:
                raise
            print("once more:", error)
        time.sleep(rest)

def report(stage, **facts):
    print(json.dumps({"stage": stage, **facts}))

def go(x, y, z, yaw=0.0, **more):
    return again(robo.move_to, [float(x), float(y), float(z)], yaw=float(yaw), **more)

# Seeing

def seen_by(camera, what):
    """The full words; colour alone only for what was recognised before and may be half hidden now."""
    seen = again(robo.segment, what, camera=camera)
    if not seen.found and what in known and " " in what:
        seen = again(robo.segment, what.rsplit(" ", 1)[0] + " object", camera=camera)
    print(camera, "sees", what, seen)
    return seen

def find(what):
    """From the front; when in doubt, from above with the wrist camera; by other words when these say nothing."""
    for words in (what, *other_words(what)):
        seen = seen_by("front", words)
        if seen.found and seen.score >= 0.4:
            break
    else:
        for x, y in [(0.45, 0.0), (0.45, 0.2), (0.45, -0.2)]:
            if go(x - 0.07, y, 0.45).reached:
                near = seen_by("wrist", what)
                if near.found and near.score > seen.score:
                    seen = near
                    break
        again(robo.home)
    if not seen.found and what.split()[-1] in ("zone", "area", "square", "field", "spot"):
        seen = painted(what)
    elif not seen.found and what.split()[-1] in ("plate", "dish", "tray"):
        seen = flat_thing(seen)
    if seen.found:
        known.add(what)
    return seen

def other_words(what):
    thing = what.split()[-1]
    return {"handle": ["black object"], "button": ["white box"]}.get(thing, []) if " " not in what else []

HUES = {"red": 0, "orange": 25, "yellow": 52, "green": 130, "blue": 230, "purple": 280, "pink": 330}

def painted(what):
    """A patch of colour flat on the table: its middle, from the front."""
    from types import SimpleNamespace
    rgb = again(robo.image, "front").astype(float) / 255
    xyz = again(robo.world_map, "front")
    high, low = rgb.max(axis=2), rgb.min(axis=2)
    r, g, b = np.moveaxis(rgb, 2, 0)
    hue = np.degrees(np.arctan2(np.sqrt(3) * (g - b), 2 * r - g - b)) % 360
    color = next((word for word in what.split() if word in HUES), None)
    flat = (np.abs(xyz[..., 2]) < 0.005) & (xyz[..., 0] > 0.25) & (xyz[..., 0] < 0.8) & (high - low > 0.3 * high)
    if color:
        flat &= np.abs((hue - HUES[color] + 180) % 360 - 180) < 25
    points = xyz[flat]
    middle = np.median(points, axis=0) if len(points) else np.zeros(3)
    points = points[np.hypot(*(points - middle)[:, :2].T) < 0.12]
    if len(points) < 150:
        return SimpleNamespace(found=False, reason=f"no {what} painted on the table", score=0.0)
    ends = np.percentile(points, [2, 98], axis=0)
    print("painted on the table:", what, ends.mean(axis=0))
    return SimpleNamespace(found=True, reason="", score=0.5, world_xyz=ends.mean(axis=0), top_z=0.0,
                           size=ends[1] - ends[0], yaw=0.0, grasp_width=0.08)

def flat_thing(otherwise):
    """What lies low and wide on the table."""
    xyz = again(robo.world_map, "front")
    low = (xyz[..., 2] > 0.003) & (xyz[..., 2] < 0.022) & (xyz[..., 0] > 0.25) & (xyz[..., 0] < 0.8)
    rows, cols = np.nonzero(low)
    if len(rows) < 200:
        return otherwise
    points = xyz[rows, cols, :2]
    dense = [np.sum(np.hypot(*(points - p).T) < 0.06) for p in points[::20]]
    middle = points[::20][int(np.argmax(dense))]
    k = int(np.argmin(np.hypot(*(points - middle).T)))
    seen = again(robo.segment, point=(int(rows[k]), int(cols[k])), camera="front")
    print("low and wide:", seen)
    return seen if seen.found and max(seen.size[:2]) > 0.1 else otherwise

def above(x, y, top_z):
    """Look straight down at (x, y): the wrist camera sits 7 cm ahead of the fingers."""
    return go(max(x - 0.07, 0.25), y, min(top_z + 0.28, 0.5)).reached

def closer(what, seen):
    """One look from above at what was found."""
    x, y = seen.world_xyz[:2]
    if seen.top_z > 0.002 and above(x, y, seen.top_z):
        near = next((near for near in (seen_by("wrist", words) for words in (what, *other_words(what))) if near.found), seen)
        if near.score >= 0.4 and np.hypot(near.world_xyz[0] - x, near.world_xyz[1] - y) < 0.06:
            return near
    return seen

def look_for(*things):
    """Find them all, then look at each from above, the first one last. None and a reason when one is missing."""
    found = {what: find(what) for what in things}
    missing = [what + ": " + seen.reason for what, seen in found.items() if not seen.found]
    if missing:
        return None, "; ".join(missing)
    for what in reversed(things):
        found[what] = closer(what, found[what])
    return [found[what] for what in things], ""

# Grasping and letting go

def still_held():
    return bool(held) and again(robo.state).gripper_width > 0.5 * held["width"]

def empty_hand():
    """Before a new attempt: what is still held goes back to where it was; then out of the view."""
    if still_held():
        x, y, low, yaw = (held[key] for key in ("x", "y", "low", "yaw"))
        print("still holding it: putting it back", go(x, y, low + 0.12, yaw))
        print(go(x, y, low + 0.005, yaw, speed=0.25, straight=True))
    held.clear()
    again(robo.open)
    if again(robo.state).eef_pos[2] < 0.2:
        again(robo.move_by, [0, 0, 0.12])
    again(robo.home)

def grasp(seen):
    """Straight down, fingers over the short side, close, lift; (holding, width, reason)."""
    x, y = seen.world_xyz[:2]
    tall = min(float(seen.size[2]), 0.06)
    low = max(seen.top_z - max(0.5 * tall, 0.015), 0.012)
    yaw = seen.yaw
    over = go(x, y, low + 0.12, yaw)
    if not over.reached and over.status == "no_plan":
        yaw += np.pi if yaw < 0 else -np.pi
        over = go(x, y, low + 0.12, yaw)
    down = go(x, y, low, yaw, speed=0.25, straight=True) if over.reached else over
    print(down)
    grip = again(robo.grasp, width=min(seen.grasp_width, 0.08), force=30) if down.reached else None
    print(grip)
    up = go(x, y, low + 0.15, yaw, straight=True) if down.reached else down
    width = again(robo.state).gripper_width
    holding = bool(grip and grip.holding) and width > 0.5 * seen.grasp_width
    if holding:
        below = low - (seen.top_z - tall)  # from the eef to its underside
        held.update(x=x, y=y, low=low, yaw=yaw, width=width, below=below)
    return holding, round(width, 4), down.reason or (grip.reason if grip else "") or up.reason

def put_down(x, y, surface_z, gap):
    """What is held, its underside `gap` above the surface, let go, up again; (placed, still held, reason)."""
    z = surface_z + held["below"] + gap
    for yaw in (held["yaw"], held["yaw"] + np.pi / 2, held["yaw"] - np.pi / 2):
        over = go(x, y, z + 0.10, yaw, speed=0.4)
        if over.reached or over.status != "no_plan":
            break
    down, kept = over, still_held()
    if kept and over.reached:
        down = go(x, y, z, yaw, speed=0.25, straight=True)
    print(over, down)
    if kept and down.reached:
        print(again(robo.open))
        go(x, y, z + 0.12, yaw, straight=True)
        held.clear()
    return kept and down.reached, kept, down.reason

def found_again(what, x, y, top_z):
    """Look for it where it should be now, then from the front."""
    above(x, y, top_z)
    now = seen_by("wrist", what)
    again(robo.home)
    if not (now.found and now.score >= 0.4):
        now = seen_by("front", what)
    away = float(np.hypot(now.world_xyz[0] - x, now.world_xyz[1] - y)) if now.found else None
    return now, away

def free_spot(room=0.06):
    """A place on the table with nothing near it, as close to the middle as can be."""
    points = again(robo.world_map, "front").reshape(-1, 3)
    points = points[np.isfinite(points).all(axis=1)]
    cells = np.round(points[:, :2] / 0.01).astype(int)
    heights = {}
    for cell, z in zip(map(tuple, cells), points[:, 2]):
        heights[cell] = max(heights.get(cell, -1.0), z)
    taken = np.array([cell for cell, z in heights.items() if z > 0.008], float) * 0.01
    free = np.array([cell for cell, z in heights.items() if z <= 0.008], float) * 0.01
    free = free[(free[:, 0] > 0.36) & (free[:, 0] < 0.62) & (np.abs(free[:, 1]) < 0.28)]
    if len(taken):
        clear = np.array([np.min(np.hypot(*(taken - spot).T)) for spot in free])
        free, clear = free[clear > room], clear[clear > room]
    return None if not len(free) else free[np.argmin(np.hypot(free[:, 0] - 0.5, free[:, 1]))]

def next_to_sort(kind, vessel, colors):
    """The next thing outside of the vessel of its colour; (thing, vessel, reason)."""
    for color in colors:
        if color not in vessels:
            vessels[color] = again(robo.segment, f"{color} {vessel}", camera="front")
            print(color, vessel, vessels[color])
    for color in [color for color in colors if vessels[color].found]:
        thing = outside(f"{color} {kind}")
        if thing is not None:
            return thing, closer(f"{color} {vessel}", vessels[color]), ""
    return None, None, "" if any(seen.found for seen in vessels.values()) else f"no {vessel} of any colour is seen"

def outside(what):
    """The thing where no vessel is, seen from above; None when there is none left."""
    def is_out(seen):
        return seen.found and seen.score >= 0.4 and not any(
            v.found and np.hypot(*(seen.world_xyz - v.world_xyz)[:2]) < 0.5 * v.size[0] + 0.01 for v in vessels.values()
        )
    seen = seen_by("front", what)
    if not is_out(seen):
        for x, y in [(0.42, 0.2), (0.42, 0.0), (0.42, -0.2), (0.56, -0.2), (0.56, 0.0), (0.56, 0.2)]:
            if go(x - 0.07, y, 0.36).reached:
                seen = seen_by("wrist", what)
                if is_out(seen):
                    break
        else:
            return None
    near = closer(what, seen)
    return near if is_out(near) else None

# Pushing, pulling, pressing

def push(thing, goal, speed=0.2):
    """Along the table with two fingers side by side, until the thing's middle is at the goal; (done, reason)."""
    start = thing.world_xyz[:2]
    way = np.asarray(goal) - start
    ahead = way / np.linalg.norm(way)
    half = 0.5 * float(max(thing.size[:2]))
    yaw = float(np.arctan2(ahead[1], ahead[0]))
    yaw = (yaw + np.pi / 2) % np.pi - np.pi / 2
    z = max(0.5 * thing.top_z, 0.015)
    again(robo.open, width=0.02)
    behind, end = start - ahead * (half + 0.05), goal - ahead * (half + 0.008)
    for turn in (yaw, yaw + np.pi, yaw - np.pi):
        over = go(*behind, z + 0.12, turn)
        if over.reached or over.status != "no_plan":
            break
    down = go(*behind, z, turn, speed=0.3, straight=True) if over.reached else over
    moved = go(*end, z, turn, speed=speed, straight=True) if down.reached else down
    print(over, down, moved, sep="\\n")
    if down.reached:
        go(*(moved.final_pos[:2] - 0.02 * ahead), z, turn, speed=0.3, straight=True)
    go(*again(robo.state).eef_pos[:2], z + 0.15, turn, straight=True)
    return moved.reached, moved.reason

def find_handle():
    """The handle, and the yaw of the hand that pulls along x of the hand: away from the drawer's body."""
    handle = find("handle")
    if not handle.found:
        return None, 0.0, "the handle: " + handle.reason
    near = closer("handle", handle)
    handle = near if abs(near.top_z - handle.top_z) < 0.01 else handle  # else it is another part of it
    x, y = handle.world_xyz[:2]
    points = again(robo.world_map, "front").reshape(-1, 3)
    points = points[np.isfinite(points).all(axis=1)]
    near = (np.hypot(points[:, 0] - x, points[:, 1] - y) < 0.22) & (points[:, 2] > 0.084) & (points[:, 2] < 0.1)
    if near.sum() < 50:
        return None, 0.0, "the body that the handle belongs to"
    body = np.median(points[near, :2], axis=0)
    out = np.array([x, y]) - body
    return handle, float(np.arctan2(out[1], out[0])), ""

def pull(handle, yaw, length=0.09):
    """Grip the handle from above and draw it out; (how far it came with the fingers on it, reason)."""
    x, y = handle.world_xyz[:2]
    z = max(handle.top_z - 0.02, 0.03)
    turn = (yaw + np.pi / 2) % np.pi - np.pi / 2
    again(robo.open)
    over = go(x, y, z + 0.12, turn)
    down = go(x, y, z, turn, speed=0.25, straight=True) if over.reached else over
    if not down.reached:
        return 0.0, down.reason
    grip = again(robo.close, force=60)
    start = again(robo.state).eef_pos
    moved = go(x + length * np.cos(yaw), y + length * np.sin(yaw), z, turn, speed=0.15, straight=True)
    end = again(robo.state)
    print(grip, moved)
    came = float(np.hypot(*(end.eef_pos - start)[:2])) if end.gripper_width > 0.004 else 0.0
    again(robo.open)
    go(*end.eef_pos[:2], z + 0.15, turn, straight=True)
    again(robo.home)
    return came, moved.reason if grip.holding else "the handle slipped out of the fingers"

def press(button, depth=0.0085):
    """Closed fingers straight down on the middle of it; (how far it gave way, reason)."""
    x, y = button.world_xyz[:2]
    tips = 0.0088  # they reach this far past the eef
    points = again(robo.world_map, "front").reshape(-1, 3)
    points = points[np.hypot(points[:, 0] - x, points[:, 1] - y) < 0.015]
    top = max(button.top_z, float(np.percentile(points[:, 2], 90)) if len(points) > 10 else 0.0)
    again(robo.close)
    over = go(x, y, top + 0.08)
    down = go(x, y, top + tips - depth, speed=0.1, straight=True) if over.reached else over
    print(over, down)
    came = top + tips - float(again(robo.state).eef_pos[2])
    go(x, y, top + 0.12, straight=True)
    again(robo.home)
    return came, down.reason
'''
