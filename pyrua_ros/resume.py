"""Lets a stopped robot move again: calls its gate's service, on its run's own domain."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyrua_ros.domain import LiveRun


class ResumeError(Exception):
    """The gate did not resume; the message says why."""


def resume(run: LiveRun, timeout_s: float = 10.0) -> str:
    """Call `gate/resume` of `run`, which moves nothing; returns the gate's answer.

    Raises
    ------
    ResumeError
        There is no gate, or it refuses.
    """
    os.environ.setdefault("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    import rclpy
    from rclpy.client import Client
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions
    from std_srvs.srv import Trigger

    from pyrua_ros.wire import names

    deadline = time.monotonic() + timeout_s
    context = Context()
    rclpy.init(context=context, domain_id=run.domain, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node("pyrua_resume", context=context, start_parameter_services=False)
        client: Client[Any, Any] = node.create_client(Trigger, names.GATE_RESUME)
        if not client.wait_for_service(timeout_s):
            raise ResumeError(f"no service {names.GATE_RESUME} on domain {run.domain} within {timeout_s:g} s")
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        answer = client.call_async(Trigger.Request())
        executor.spin_until_future_complete(answer, timeout_sec=max(deadline - time.monotonic(), 0.5))
        reply = answer.result() if answer.done() else None
    finally:
        rclpy.try_shutdown(context=context)
    if reply is None:
        raise ResumeError(f"{names.GATE_RESUME} on domain {run.domain} did not answer within {timeout_s:g} s")
    if not reply.success:
        raise ResumeError(reply.message)
    return str(reply.message)
