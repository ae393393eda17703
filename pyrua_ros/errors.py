"""What can go wrong, as types: misuse is `ValueError`, a service that failed is a `RobotError`."""

from __future__ import annotations


class RobotError(Exception):
    """The robot, or a service it needs, failed; the message says what and what to do."""


class NoFrameError(RobotError):
    """A camera publishes nothing; the message names the topic and what else there is."""


class StaleFrameError(RobotError):
    """A camera has no frame newer than the last motion; the message gives the newest frame's age."""


class NoStateError(RobotError):
    """No fresh joint state: nobody publishes it, a joint is missing, or it stands still."""


class GateError(RobotError):
    """The gate is not there or its state is unknown, so nothing may move."""


class ClockError(RobotError):
    """ROS time stands still or is not the time that the robot lives in."""


class Preempted(BaseException):
    """The arm is no longer yours: a person took over, stop was pressed, or the task ended.

    Derives from `BaseException` so that a cell's `except Exception` does not swallow it.
    """
