"""Joint positions and gripper opening of an episode, thinned out, as a CSV that survives a crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

#: A joint that has moved this far since the first sample counts as motion, rad.
MOTION_RAD = 0.002


class JointLog:
    """Appends to `joint_states.csv`: ``t`` s, one column per joint in rad, ``gripper_width`` m."""

    def __init__(self, path: Path, joints: Sequence[str], fingers: Sequence[str], rate_hz: float) -> None:
        self._joints, self._fingers = tuple(joints), tuple(fingers)
        self._period_s = 1.0 / rate_hz
        self._next_s = 0.0
        self._first: tuple[float, ...] | None = None
        self.first_motion_s: float | None = None
        self._file = open(path, "w", encoding="utf-8", buffering=1)  # noqa: SIM115
        self._file.write(",".join(("t", *self._joints, "gripper_width")) + "\n")

    def add(self, t: float, positions: Mapping[str, float]) -> None:
        """Take one message's positions by joint name; incomplete ones are skipped."""
        if self._file.closed or any(name not in positions for name in self._joints):
            return
        arm = tuple(positions[name] for name in self._joints)
        if self._first is None:
            self._first = arm
        if self.first_motion_s is None and max(abs(a - b) for a, b in zip(arm, self._first)) > MOTION_RAD:
            self.first_motion_s = t
        if t < self._next_s:
            return
        self._next_s = t + self._period_s
        width = (
            sum(positions[name] for name in self._fingers) if self._has_fingers(positions) else float("nan")
        )
        self._file.write(",".join(f"{value:.5f}" for value in (t, *arm, width)) + "\n")

    def _has_fingers(self, positions: Mapping[str, float]) -> bool:
        return bool(self._fingers) and all(name in positions for name in self._fingers)

    def close(self) -> None:
        """No more samples."""
        self._file.close()
