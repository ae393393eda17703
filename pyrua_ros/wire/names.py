"""Topic and service names; all relative, so that a launch namespace works."""

JOINT_STATES = "joint_states"

AGENT_TRAJECTORY = "gate/agent/joint_trajectory"
AGENT_GRIPPER = "gate/agent/gripper"
OPERATOR_TRAJECTORY = "gate/operator/joint_trajectory"
OPERATOR_GRIPPER = "gate/operator/gripper"
GATE_EVENTS = "gate/events"
GATE_STATE = "gate/state"
GATE_HOLD = "gate/hold"
GATE_STOP = "gate/stop"
GATE_RESUME = "gate/resume"
GATE_TAKE_OVER = "gate/take_over"
GATE_HAND_BACK = "gate/hand_back"

AGENT_TASK = "agent/task"
AGENT_CANCEL = "agent/cancel"
AGENT_APPROVE = "agent/approve"
AGENT_STATUS = "agent/status"
AGENT_CELL = "agent/cell"
AGENT_OUTPUT = "agent/output"
AGENT_FRAMES = "agent/frames/compressed"
AGENT_ASK = "agent/ask"
AGENT_ANSWER = "agent/answer"
AGENT_SAY = "agent/say"
AGENT_MARKERS = "agent/markers"

CLICKED_POINT = "clicked_point"


def color(camera: str) -> str:
    """Colour image topic of `camera`."""
    return f"{camera}/color/image_raw"


def color_info(camera: str) -> str:
    """Intrinsics topic of `camera`."""
    return f"{camera}/color/camera_info"


def depth(camera: str) -> str:
    """Depth image topic of `camera`, aligned to its colour image."""
    return f"{camera}/aligned_depth_to_color/image_raw"
