from __future__ import annotations

from pathlib import Path

from pyrua_ros.executor.landlock import FileRules, _split, features
from pyrua_ros.executor.policy import Limits, Policy


def names(paths: list[str], root: Path) -> list[str]:
    return sorted(str(Path(p).relative_to(root)) for p in paths)


def make(root: Path, *files: str) -> None:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()


def test_a_folder_without_secrets_stays_whole(tmp_path: Path) -> None:
    make(tmp_path, "a/b")
    assert list(_split([str(tmp_path)], ["/elsewhere"])) == [str(tmp_path)]


def test_a_folder_is_taken_apart_around_what_is_hidden(tmp_path: Path) -> None:
    make(tmp_path, "lib/one.py", "lib/pkg/open/x.py", "lib/pkg/secret/y.py", "lib/pkg/secrets.py")
    parts = list(_split([str(tmp_path / "lib")], [str(tmp_path / "lib/pkg/secret")]))
    assert names(parts, tmp_path) == ["lib/one.py", "lib/pkg/open", "lib/pkg/secrets.py"]


def test_what_is_hidden_is_not_allowed_by_its_own_name_either(tmp_path: Path) -> None:
    make(tmp_path, "secret/y.py")
    assert (
        list(_split([str(tmp_path / "secret"), str(tmp_path / "secret/y.py")], [str(tmp_path / "secret")]))
        == []
    )


def test_a_link_beside_the_hidden_part_opens_nothing(tmp_path: Path) -> None:
    make(tmp_path, "lib/secret/y.py", "lib/open.py", "home/key")
    (tmp_path / "lib/back").symlink_to(tmp_path / "lib/secret")
    (tmp_path / "lib/out").symlink_to(tmp_path / "home")
    parts = list(_split([str(tmp_path / "lib")], [str(tmp_path / "lib/secret")]))
    assert names(parts, tmp_path) == ["lib/open.py"]


def test_older_kernels_hold_back_less() -> None:
    assert features(0) == []
    assert features(1) == ["files"]
    assert features(4) == ["files", "truncate", "no TCP"]
    assert features(7)[-1] == "signals"


def test_a_policy_survives_its_way_to_the_launcher() -> None:
    policy = Policy(
        FileRules(("/usr",), ("/w",), ("/n",), ("/h",)), Limits(file_size=7), 42, "/r.json", ("seccomp",)
    )
    assert Policy.from_json(policy.to_json()) == policy
