from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from pyrua_ros.evaluation.endpoint import Answer, Endpoint, cell, finish

TOOLS = {
    "responses": [{"type": "custom", "name": "python"}, {"type": "function", "name": "finish"}],
    "chat": [{"type": "function", "function": {"name": name}} for name in ("python", "finish")],
}


def post(server: Endpoint, path: str, body: dict) -> tuple[int, dict]:
    request = urllib.request.Request(
        f"{server.base_url}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def responses(*items: dict, **more) -> dict:
    return {
        "model": "scripted",
        "instructions": "i",
        "input": list(items),
        "tools": TOOLS["responses"],
        **more,
    }


def chat(*messages: dict) -> dict:
    return {
        "model": "scripted",
        "messages": [{"role": "system", "content": "i"}, *messages],
        "tools": TOOLS["chat"],
    }


USER = {"role": "user", "content": "Task: put the red cube in the bowl"}
CALL = {"type": "custom_tool_call", "call_id": "c1", "name": "python", "input": "x"}
CHAT_CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "python", "arguments": "{}"}}],
}


def test_both_apis_answer_the_same_script_in_their_own_form():
    with Endpoint([cell("print(1)"), finish("failed", "no")]) as server:
        status, body = post(server, "responses", responses(USER))
        assert status == 200
        assert (body["output"][0]["type"], body["output"][0]["input"]) == ("custom_tool_call", "print(1)")
        status, body = post(server, "chat/completions", chat(USER))
        assert status == 200
        call = body["choices"][0]["message"]["tool_calls"][0]["function"]
        assert (call["name"], json.loads(call["arguments"])) == (
            "finish",
            {"status": "failed", "summary": "no"},
        )
        assert [request.api for request in server.requests] == ["responses", "chat"]


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("responses", responses(USER, CALL), "no tool output found"),
        (
            "responses",
            responses(USER, {"type": "custom_tool_call_output", "call_id": "c9", "output": "x"}),
            "no tool call",
        ),
        ("responses", responses(USER, {"type": "reasoning", "id": "r"}), "encrypted_content"),
        ("responses", {**responses(USER), "tools": []}, "expected python and finish"),
        ("chat/completions", chat(USER, CHAT_CALL, USER), "has no tool message"),
        (
            "chat/completions",
            chat(USER, {"role": "tool", "tool_call_id": "c7", "content": "x"}),
            "must answer a call",
        ),
        ("chat/completions", chat(USER, {"role": "assistant", "content": ""}), "needs content or tool calls"),
    ],
)
def test_a_conversation_that_the_real_servers_refuse_is_refused(path, body, words):
    with Endpoint([finish()]) as server:
        status, answer = post(server, path, body)
    assert status == 400
    assert words in answer["error"]["message"]


def test_an_unknown_model_and_an_unknown_path_are_404():
    with Endpoint([finish()]) as server:
        assert (
            post(server, "responses", {**responses(USER), "model": "x"})[1]["error"]["code"]
            == "model_not_found"
        )
        assert post(server, "completions", responses(USER))[0] == 404


def test_cached_tokens_are_what_the_last_prompt_began_with():
    long = {"role": "user", "content": "a b c d " * 3000}
    with Endpoint([Answer("x")]) as server:
        post(server, "responses", responses(long))
        usage = post(server, "responses", responses(long, USER))[1]["usage"]
    assert usage["input_tokens_details"]["cached_tokens"] == pytest.approx(6000, abs=200)
    assert usage["input_tokens_details"]["cached_tokens"] % 128 == 0
    assert usage["input_tokens"] == pytest.approx(6030, abs=50)


def test_the_program_says_where_it_listens_and_ends_on_sigterm():
    process = subprocess.Popen(
        [sys.executable, "-m", "pyrua_ros.evaluation.endpoint"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(f"{url}/models", timeout=10) as response:
            assert json.load(response)["data"][0]["id"] == "scripted"
    finally:
        process.terminate()
    assert process.wait(10) == 0
