"""Spin in rounds: everything that is ready, then a rest. A wait of rclpy costs a millisecond, a message almost nothing."""

from __future__ import annotations

import time

from rclpy.executors import ShutdownException, SingleThreadedExecutor, TimeoutException

#: A flood of messages must not keep a round from ending.
_MOST_PER_ROUND = 500


class RoundExecutor(SingleThreadedExecutor):
    """A single-threaded executor for nodes that need not react faster than one round."""

    def spin_round(self, rest_s: float) -> None:
        """Run all ready callbacks, then sleep; a callback's exception is raised after its own round."""
        failure: BaseException | None = None
        timeout_s = rest_s
        for _ in range(_MOST_PER_ROUND):
            try:
                handler, _, _ = self.wait_for_ready_callbacks(timeout_sec=timeout_s)
            except (TimeoutException, ShutdownException):
                break
            handler()
            failure = failure or handler.exception()
            timeout_s = 0.0
        if failure is not None:
            raise failure
        time.sleep(rest_s)
