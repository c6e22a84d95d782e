"""The command that opens the dashboard: what it hands to the server."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from streamlit.web import cli

import neurothek
from neurothek.dashboards.colours import ACCENT, FILLED
from neurothek.dashboards.session import backend

Asked = dict[str, list[str]]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[Result, list[str], dict[str, str]]:
    """The result, what Streamlit is told and its environment."""
    started: list[tuple[list[str], dict[str, str]]] = []

    def instead(told: Sequence[str], *, prog_name: str) -> None:
        assert prog_name == "streamlit"
        started.append((list(told), dict(os.environ)))

    monkeypatch.setattr(cli, "main", instead)
    # What the command sets is taken back; how memory is kept could not be.
    monkeypatch.setattr("neurothek.cli.dashboard.give_back_at_once", lambda: None)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    result = CliRunner().invoke(neurothek.main, ["dashboard", *arguments])
    assert len(started) == (result.exit_code == 0)
    return (result, *started[0]) if started else (result, [], {})


def settings(command: Sequence[str]) -> Asked:
    found: Asked = {}
    for flag in command:
        if flag.startswith("--"):
            name, _, value = flag[2:].partition("=")
            found.setdefault(name, []).append(value)
    return found


def test_it_serves_this_machine_only(monkeypatch: pytest.MonkeyPatch, full_path: Path) -> None:
    result, command, environment = run(monkeypatch, "--warehouse", str(full_path))
    assert command[0] == "run"
    assert Path(command[1]).name == "server.py"
    flags = settings(command)
    assert flags["server.address"] == ["127.0.0.1"]
    assert flags["server.allowedHosts"] == ["localhost", "127.0.0.1"]
    assert flags["browser.gatherUsageStats"] == ["false"]
    assert flags["server.fileWatcherType"] == ["none"]
    # A file in the current folder cannot let other sites in.
    assert flags["server.enableCORS"] == flags["server.enableXsrfProtection"] == ["true"]
    assert flags["server.baseUrlPath"] == [""]
    assert "server.port" not in flags
    # Streamlit decides whether there is a browser to open.
    assert "server.headless" not in flags
    assert backend().path == full_path
    assert "warning" not in result.stderr
    # Weights that a page needs are not fetched.
    assert environment["HF_HUB_OFFLINE"] == "1"


def test_port_and_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    _, command, _ = run(monkeypatch, "--port", "8700", "--no-browser")
    assert settings(command)["server.port"] == ["8700"]
    assert settings(command)["server.headless"] == ["true"]


@pytest.mark.parametrize("port", ["0", "70000", "many"])
def test_a_port_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    result, _, _ = run(monkeypatch, "--port", port)
    assert result.exit_code == 2


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_a_name_of_this_machine_for_itself_opens_nothing(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    result, command, _ = run(monkeypatch, "--host", host)
    assert settings(command)["server.address"] == [host]
    assert "warning" not in result.stderr


def test_opened_wider_it_warns_and_takes_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    result, command, _ = run(monkeypatch, "--host", "lab.example.org")
    assert settings(command)["server.address"] == ["lab.example.org"]
    assert settings(command)["server.allowedHosts"] == ["localhost", "127.0.0.1", "lab.example.org"]
    assert "warning: anyone who can reach this machine as lab.example.org can read" in result.stderr


def test_several_names_are_served_together(monkeypatch: pytest.MonkeyPatch) -> None:
    _, command, _ = run(monkeypatch, "--host", "lab.example.org", "--host", "192.0.2.7")
    assert settings(command)["server.address"] == ["0.0.0.0"]
    assert settings(command)["server.allowedHosts"][2:] == ["lab.example.org", "192.0.2.7"]
    # Else a server elsewhere would be asked what this machine is called.
    assert settings(command)["browser.serverAddress"] == ["localhost"]


def test_links_have_the_one_colour_of_each_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    _, command, _ = run(monkeypatch)
    for kind, colour in ACCENT.items():
        assert settings(command)[f"theme.{kind}.linkColor"] == [colour]
        assert settings(command)[f"theme.{kind}.primaryColor"] == [FILLED[kind]]


def test_every_flag_is_one_that_streamlit_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    _, command, _ = run(monkeypatch, "--host", "0.0.0.0", "--port", "8700", "--no-browser")
    streamlit = [sys.executable, "-m", "streamlit"]
    known = subprocess.run([*streamlit, "run", "--help"], capture_output=True, text=True, check=True).stdout
    assert all(f"--{name} " in known for name in settings(command))


def test_the_command_line_does_not_wait_for_streamlit() -> None:
    code = "import sys, neurothek; sys.exit('streamlit' in sys.modules or 'altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
