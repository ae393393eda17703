from __future__ import annotations

import json

import pytest

from pyrua_ros.planner.parse import Call, Cell, Finish, Problem, check_cell, parse


def correction(action) -> str:
    assert isinstance(action, Problem)
    return action.correction


def python(code: str) -> Call:
    return Call("python", code, free_form=True)


def function(name: str, **arguments) -> Call:
    return Call(name, json.dumps(arguments))


def test_a_free_form_call_is_a_cell():
    assert parse("", [python("robo.home()\nprint(1)")]) == Cell("robo.home()\nprint(1)")


def test_a_function_call_is_a_cell():
    assert parse("looking first", [function("python", code="x = 1")]) == Cell("x = 1")


def test_words_beside_a_call_do_not_matter():
    assert parse("I will look.\n```python\nrobo.open()\n```", [python("robo.home()")]) == Cell("robo.home()")


@pytest.mark.parametrize("fence", ["```python\n{}\n```", "```py\n{}\n```", "\n\n```Python  \n{}\n```  \n"])
def test_a_reply_that_is_one_python_block_is_a_cell(fence):
    assert parse(fence.format("x = 1\nprint(x)")) == Cell("x = 1\nprint(x)")


def test_carriage_returns_do_not_reach_the_cell():
    assert parse("```py\r\nx = 1\r\nprint(x)\r\n```\r\n") == Cell("x = 1\nprint(x)")
    assert parse("", [python("x = 1\r\ny = 2\r\n")]) == Cell("x = 1\ny = 2")


def test_prose_around_a_block_runs_nothing():
    said = correction(parse("Let me look:\n```python\nrobo.home()\n```\nThen I will grasp."))
    assert "Nothing was run" in said
    assert "words around" in said


def test_two_blocks_run_nothing():
    said = correction(parse("```python\na = 1\n```\n```python\nb = 2\n```"))
    assert "2 code blocks" in said
    assert "none was run" in said


def test_prose_alone_runs_nothing():
    assert "words but no call" in correction(parse("I would first open the gripper."))


def test_an_empty_reply_runs_nothing():
    assert "empty" in correction(parse("  \n"))


def test_a_block_that_is_not_closed_runs_nothing():
    assert "not closed" in correction(parse("```python\nrobo.home()"))


@pytest.mark.parametrize(
    ("fence", "named"), [("```bash\nls\n```", "'bash'"), ("```\nx = 1\n```", "without a language")]
)
def test_a_block_of_another_language_runs_nothing(fence, named):
    assert named in correction(parse(fence))


def test_a_truncated_reply_runs_nothing_even_when_it_compiles():
    action = parse("", [python("x = 1")], truncated=True)
    assert "cut off at the token limit" in correction(action)
    assert action.resend is False


def test_two_calls_run_nothing():
    said = correction(parse("", [python("a = 1"), python("b = 2")]))
    assert "2 tool calls" in said


def test_an_unknown_tool_is_named():
    said = correction(parse("", [function("robot_move", x=1)]))
    assert "'robot_move'" in said
    assert "python and finish" in said


def test_a_refusal_is_answered_with_the_way_out():
    assert "You declined (not safe)" in correction(parse("", refusal="not safe"))


@pytest.mark.parametrize("arguments", ['{"code": "x = 1"', "[1]", "null"])
def test_broken_arguments_run_nothing_and_are_not_sent_back(arguments):
    action = parse("", [Call("python", arguments)])
    assert "Nothing was run" in correction(action)
    assert action.resend is False


def test_a_python_call_without_code_is_told_its_form():
    assert '{"code":' in correction(parse("", [function("python", source="x")]))


def test_raw_newlines_in_json_arguments_are_accepted():
    assert parse("", [Call("python", '{"code": "x = 1\ny = 2"}')]) == Cell("x = 1\ny = 2")


def test_code_that_does_not_compile_is_corrected_with_its_line():
    said = correction(parse("", [python("x = 1\nif x\n    y")]))
    assert "line 2" in said
    assert "if x" in said


@pytest.mark.parametrize("code", ["%matplotlib inline", "!ls", "await x", "x = '\0'", "return 1"])
def test_what_is_not_python_runs_nothing(code):
    assert "does not compile" in correction(check_cell(code))


def test_fences_inside_the_tool_input_are_corrected():
    assert "without ``` fences" in correction(parse("", [python("```python\nx = 1\n```")]))


def test_finish_ends_with_status_and_summary():
    assert parse("", [function("finish", status="failed", summary=" no cube ")]) == Finish(
        "failed", "no cube"
    )


def test_finish_with_an_unknown_status_does_not_end():
    said = correction(parse("", [function("finish", status="success", summary="x")]))
    assert '"done" or "failed"' in said


def test_a_cell_may_hold_backticks_in_a_string():
    assert parse("", [python('print("""\n```\n""")')]) == Cell('print("""\n```\n""")')
