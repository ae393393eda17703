"""What goes out when a trajectory takes over from a motion under way: one curve without a jump.

**Timing, for whoever streams trajectories** (servoing, chunks of a policy). Every trajectory of a stream is
complete in itself: it ends at rest, so that the arm brakes by itself when nothing follows.

- Keep the last trajectory that you sent, and the ROS time at which it began: that is the commanded motion.
- Choose a moment t a little ahead, 50 ms say: more than your own computing and the way to the gate, less than
  `start.max_lead_s`. Plan from the state of your last trajectory *at t*, not from the measured state.
- Send it with ``header.stamp = t``. The gate follows the old trajectory up to t and yours from there. It may
  arrive after t by up to `start.max_late_s`; the part before its arrival is then cut off. Later is refused.
- The first one of a stream starts from rest where the arm is measured, with a stamp, too.
- With ``header.stamp = 0`` an arm at rest begins at once; one in motion is taken to be meant at the moment, up
  to `start.align_s` from now, at which the command passes the first point.
- Use one goal ID for the whole stream: one ``accepted``, one end. ``refused`` then concerns one trajectory; the
  one before it goes on to its end.
- Stay a few per cent below the limits. A first point off the command (tolerances in `start`) is blended in within
  `start.blend_s`, which costs acceleration and jerk; what goes out is held against the limits as a whole.
- After a hold, a stop or a take-over the commanded motion is the gate's own brake: wait until `gate/state` says
  that nothing moves, and start from rest.
"""

from __future__ import annotations

import numpy as np

from pyrua_ros.gate.outlet import Command
from pyrua_ros.robot_model.trajectory import JointSample, Trajectory

#: Points closer together than this are numerically unpleasant: times travel in nanoseconds.
_MIN_STEP_S = 0.002


def align(command: Command, first: JointSample, now: float, within_s: float) -> float:
    """ROS time within `within_s` of `now` at which `command` passes closest to `first`, by Newton's method."""
    t = now
    for _ in range(4):
        there = command.at(t)
        speed = float(there.velocity @ there.velocity)
        if speed < 1e-6:
            break
        step = float(there.velocity @ (first.position - there.position)) / speed
        t = min(max(t + step, now - within_s), now + within_s)
    return t


def splice(
    command: Command | None,
    here: JointSample,
    trajectory: Trajectory,
    begin: float,
    now: float,
    blend_s: float,
) -> Trajectory:
    """Trajectory from `now` on: `command` until `begin`, if that is still to come, then `trajectory`.

    Parameters
    ----------
    command : the motion under way; None or ended at rest.
    here : state at `now`, the first point of the result.
    trajectory : its first point belongs to ROS time `begin`.
    blend_s : points this soon after the seam are left out, so that the curve can absorb a difference.
    """
    seam = max(begin, now)
    times, states = [now], [here]
    if begin > now + _MIN_STEP_S:
        inner = []
        if command is not None:
            inner = [
                t
                for t in command.trajectory.times + command.start
                if now + _MIN_STEP_S < t < begin - _MIN_STEP_S
            ]
        for t in [*inner, begin]:
            times.append(t)
            states.append(here if command is None else command.at(t))
    rows = trajectory.times + begin
    after = np.flatnonzero(rows > seam + max(blend_s, _MIN_STEP_S))
    chosen = after if len(after) else np.array([len(rows) - 1])
    # A trajectory that is over before the blend is: its end comes a blend later.
    ends = np.maximum(rows[chosen], seam + max(blend_s, _MIN_STEP_S))
    return Trajectory(
        trajectory.names,
        np.concatenate([times, ends]) - now,
        np.vstack([[s.position for s in states], trajectory.positions[chosen]]),
        np.vstack([[s.velocity for s in states], trajectory.velocities[chosen]]),
        np.vstack([[s.acceleration for s in states], trajectory.accelerations[chosen]]),
    )
