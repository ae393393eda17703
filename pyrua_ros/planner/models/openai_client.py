"""What both OpenAI APIs share: the client, one call with a hard deadline, and what each failure means."""

from __future__ import annotations

import base64
import email.utils
import hashlib
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import openai

from pyrua_ros.planner.budget import Usage
from pyrua_ros.planner.conversation import Conversation, Picture
from pyrua_ros.planner.models.base import Cancelled, Model, ModelError, TransientError
from pyrua_ros.planner.models.openai_stream import Attempt
from pyrua_ros.planner.models.quirks import Quirks, is_reasoning
from pyrua_ros.planner.settings import PlannerSettings

KEY_VARIABLE = "OPENAI_API_KEY"
OPENAI_HOST = "api.openai.com"
_LASTING = ("insufficient_quota", "invalid_prompt", "model_not_found", "context_length_exceeded")
_THIS_HOST = ("localhost", "127.0.0.1", "::1")

PYTHON_DESCRIPTION = (
    "Run one cell of Python in the live interpreter of the robot. The input is the code, nothing else."
)
FINISH_DESCRIPTION = "End the task: it is done and you have seen it, or it cannot be done."
FINISH_SCHEMA = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["done", "failed"]},
        "summary": {"type": "string", "description": "one or two sentences: what you saw, or why it failed"},
    },
    "required": ["status", "summary"],
    "additionalProperties": False,
}

T = TypeVar("T")


class Connection:
    """One server, one model; knows the key and never says it.

    Parameters
    ----------
    base_url
        Empty: OPENAI_BASE_URL, or OpenAI's own address.
    """

    def __init__(self, model: str, base_url: str, settings: PlannerSettings) -> None:
        self.model, self.settings = model, settings
        self.base_url = base_url or os.environ.get("OPENAI_BASE_URL") or f"https://{OPENAI_HOST}/v1"
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ModelError(
                f"base_url '{self.base_url}' is no address; expected something like http://host:8000/v1"
            )
        self.is_openai = parts.hostname == OPENAI_HOST
        self.reasons = is_reasoning(model)
        self._quirks = Quirks()
        self._key = os.environ.get(KEY_VARIABLE, "").strip()
        if not self._key and self.is_openai:
            raise ModelError(
                f"{KEY_VARIABLE} is not set: export it, or give base_url:=http://… of a server that needs no key, "
                "or use planner:=builtin, which needs neither"
            )
        self.client = openai.OpenAI(
            api_key=self._key or "none",
            base_url=self.base_url,
            max_retries=0,
            timeout=settings.model.timeout_s,
            # No proxy, no redirect and no certificates on the way to this host itself.
            http_client=openai.DefaultHttpxClient(trust_env=False, verify=False, follow_redirects=False)
            if parts.hostname in _THIS_HOST and parts.scheme == "http"
            else None,
        )

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def ask(
        self,
        request: Mapping[str, Any],
        send: Callable[[dict[str, Any], Attempt], T],
        *,
        timeout_s: float,
        cancelled: Callable[[], bool],
        estimate: Callable[[int], Usage],
    ) -> T:
        """Send `request` as this server takes it; raises what `Model.next` raises.

        Parameters
        ----------
        timeout_s
            For the whole answer, also when the server trickles.
        estimate
            What an answer of so many characters cost, for one that broke off.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            fitted, attempt = self._quirks.applied(request), Attempt()
            fitted["timeout"] = max(deadline - time.monotonic(), 0.1)
            try:
                return _await(lambda: send(fitted, attempt), attempt, deadline, cancelled)  # noqa: B023
            except _Late:
                error: BaseException = TransientError(
                    f"no answer from {self.base_url} within {timeout_s:.3g} s"
                )
            except openai.APIStatusError as refusal:
                if self._quirks.learn(refusal, fitted) is not None:
                    continue
                error = self._meaning(refusal)
            except Exception as failure:  # noqa: BLE001  its meaning is raised
                error = self._meaning(failure)
            if isinstance(error, TransientError) and attempt.characters is not None:
                error.spent = estimate(attempt.characters)
            raise error from None

    def _meaning(self, error: BaseException) -> BaseException:
        """ModelError for what a retry cannot mend, TransientError for what it may."""
        where = self.base_url
        if isinstance(error, openai.APIStatusError):
            return self._status_meaning(error)
        if isinstance(error, openai.APITimeoutError):
            return TransientError(f"no answer from {where} in time")
        if isinstance(error, openai.APIConnectionError):
            cause = f" ({self.scrub(str(error.__cause__))})" if error.__cause__ else ""
            return TransientError(f"the connection to {where} failed{cause}")
        if isinstance(error, openai.APIError) and type(error) is openai.APIError:
            return self.failed_answer(error.code, error.message)
        if isinstance(error, (openai.OpenAIError, ValueError)):
            return TransientError(f"{where} sent something unreadable: {self.scrub(str(error))[:200]}")
        return error

    def _status_meaning(self, error: openai.APIStatusError) -> ModelError | TransientError:
        status, said = error.status_code, self.scrub(_server_words(error))[:300]
        if status in (401, 403):
            return ModelError(
                f"{self.base_url} refuses the API key ({status}): check {KEY_VARIABLE}; it said: {said}"
            )
        if error.code == "insufficient_quota":
            return ModelError(
                f"the account at {self.base_url} has no quota left: check its billing; it said: {said}"
            )
        if status == 404 or error.code == "model_not_found":
            return ModelError(
                f"{self.base_url} does not know the model '{self.model}', or the address is wrong ({status}): check "
                f"model:= and base_url:=, or try api:=chat; it said: {said}"
            )
        if status in (408, 409, 425, 429) or status >= 500:
            return TransientError(f"{self.base_url} answered {status}: {said}", _retry_after(error))
        return ModelError(f"{self.base_url} refuses the request ({status}): {said}")

    def failed_answer(
        self, code: str | None, said: str, spent: Usage | None = None
    ) -> ModelError | TransientError:
        """What an error inside of an answer means: there is no status then."""
        words = f"{self.base_url} ended its answer with an error: {self.scrub(said)[:300]}"
        return ModelError(words) if code in _LASTING else TransientError(words, spent=spent)

    def scrub(self, text: str) -> str:
        """`text` without the API key and on one line."""
        text = " ".join(text.split())
        return text.replace(self._key, "***") if self._key else text


class _Late(Exception):
    """The deadline has passed."""


def _await(ask: Callable[[], T], attempt: Attempt, deadline: float, cancelled: Callable[[], bool]) -> T:
    """Run `ask` in a thread; raises what it raises, Cancelled, or _Late."""
    answers: queue.SimpleQueue[T | BaseException] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put(ask())
        except BaseException as error:  # noqa: BLE001  handed to the caller
            answers.put(error)

    threading.Thread(target=run, daemon=True, name="model call").start()
    while True:
        try:
            answer = answers.get(timeout=0.05)
            break
        except queue.Empty:
            if cancelled():
                attempt.abandon()
                raise Cancelled from None
            if time.monotonic() >= deadline:
                attempt.abandon()
                raise _Late from None
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _server_words(error: openai.APIStatusError) -> str:
    """The server's own message, without what the SDK puts before it."""
    if isinstance(error.body, dict) and isinstance(error.body.get("message"), str):
        return str(error.body["message"])
    return error.message


def _retry_after(error: openai.APIStatusError) -> float | None:
    headers = error.response.headers
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            return float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, TypeError):
        return None
    return max(0.0, date.timestamp() - time.time())


def openai_model(model: str, base_url: str, api: str, settings: PlannerSettings) -> Model:
    """The model behind the API that the server speaks; `auto`: Responses at OpenAI, Chat Completions elsewhere."""
    from pyrua_ros.planner.models.openai_chat import ChatModel
    from pyrua_ros.planner.models.openai_responses import ResponsesModel

    connection = Connection(model, base_url, settings)
    if api == "auto":
        api = "responses" if connection.is_openai else "chat"
    return ResponsesModel(connection) if api == "responses" else ChatModel(connection)


def image_url(picture: Picture) -> str:
    """Data URL of a picture that is still there."""
    assert picture.jpeg is not None
    return f"data:image/jpeg;base64,{base64.b64encode(picture.jpeg).decode()}"


def limits_name(connection: Connection) -> str:
    """What Chat Completions calls the cap of an answer: models that reason have another name for it."""
    return "max_completion_tokens" if connection.is_openai or connection.reasons else "max_tokens"


def cache_key(conversation: Conversation) -> str:
    """The same for all runs with the same prefix, so that they share the server's prompt cache."""
    return "pyrua-" + hashlib.sha256(conversation.instructions.encode()).hexdigest()[:16]


def estimated_usage(conversation: Conversation, characters: int, image_tokens: int) -> Usage:
    """For servers that do not count: four characters per token."""
    text = len(conversation.instructions) + len(conversation.task) + conversation.characters()
    frames = sum(1 for _ in conversation.pictures())
    return Usage(input=text // 4 + frames * image_tokens, output=characters // 4 + 1, estimated=True)
