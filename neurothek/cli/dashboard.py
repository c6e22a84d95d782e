"""The command that opens the dashboard."""

import ipaddress
import os
import socket
from collections.abc import Sequence
from pathlib import Path

import click

from neurothek import dashboards
from neurothek.api.warehouse import Neurothek
from neurothek.catalog.malloc import give_back_at_once
from neurothek.catalog.terminal.console import note
from neurothek.cli.options import common_options, pass_warehouse
from neurothek.dashboards.colours import ACCENT, FILLED

LOCAL_HOSTS = ("localhost", "127.0.0.1")
"""Names under which this machine's own browser may ask."""


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on.  [default: the first free from 8501]")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Also accept other machines on this name or address of this machine; 0.0.0.0 for all (repeatable).",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@common_options
@pass_warehouse
def dashboard(warehouse: Neurothek, port: int | None, hosts: tuple[str, ...], no_browser: bool) -> None:
    """Open the warehouse in a browser: compare sizes, search, single neurons, layers, SQL.

    The dashboard listens on this machine only, unless --host opens it to others. Then anybody who can reach the port
    can read the whole warehouse and annotate. Pages never write; a separate process saves annotations. The dashboard
    contacts no other server, so it does not download weights that are still on the hub.
    """
    # Each visit to a page runs in a new thread: what such threads freed would stay with them, hundreds of megabytes.
    give_back_at_once()
    # Pages only read: views of an earlier release are brought up to date before the first page opens.
    if warehouse.address is not None or warehouse.warehouse.exists():
        with warehouse.reader():
            pass
    else:
        from neurothek.catalog.store.damage import missing_warehouse

        note(str(missing_warehouse(warehouse.path)))
    if is_wide(hosts):
        reached = f"anyone who can reach this machine as {', '.join(hosts)}"
        note(f"warning: {reached} can read all of {warehouse.address or warehouse.path} and annotate")
    from neurothek.dashboards.session import set_backend

    set_backend(warehouse.at((warehouse.address or warehouse.path).absolute()))
    # A page that needs weights reads what lies on this machine.
    os.environ["HF_HUB_OFFLINE"] = "1"
    # Here, because no other command waits for it. The server runs in this process, which has loaded half of what the
    # pages need: a process of its own would start half a second later.
    from streamlit.web import cli

    cli.main(server_arguments(port=port, hosts=hosts, browser=not no_browser), prog_name="streamlit")


def is_wide(hosts: Sequence[str]) -> bool:
    """Whether one of the hosts can be reached from other machines."""
    return not all(_is_loopback(host) for host in hosts)


def server_arguments(*, port: int | None, hosts: Sequence[str], browser: bool) -> list[str]:
    """What Streamlit is told; settings are flags, so that no file in the current folder can change them."""
    flags = {
        "server.address": _address(hosts),
        # Else Streamlit would ask a server of Amazon's what this machine is called on the internet, to print it.
        **({"browser.serverAddress": LOCAL_HOSTS[0]} if _is_everywhere(_address(hosts)) else {}),
        **({} if port is None else {"server.port": str(port)}),
        "server.fileWatcherType": "none",
        "server.runOnSave": "false",
        # Streamlit opens a browser where there is one, and would ask for an e-mail address first.
        **({} if browser else {"server.headless": "true"}),
        "server.showEmailPrompt": "false",
        "server.enableStaticServing": "false",
        # Pages of other sites must not open a session here, and the front page says where the server is.
        "server.enableCORS": "true",
        "server.enableXsrfProtection": "true",
        "server.baseUrlPath": "",
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "viewer",
        # A page is drawn by its calls, not by the values that stand in it.
        "runner.magicEnabled": "false",
        # A person sees that something broke, the terminal says what: a trace would show the paths of this machine.
        "client.showErrorDetails": "type",
        "client.showErrorLinks": "false",
        "theme.baseFontSize": "14",
        **{f"theme.{kind}.linkColor": colour for kind, colour in ACCENT.items()},
        **{f"theme.{kind}.primaryColor": colour for kind, colour in FILLED.items()},
    }
    allowed = [f"--server.allowedHosts={host}" for host in _allowed_hosts(hosts)]
    app = Path(dashboards.__file__).with_name("server.py")
    settings = [f"--{name}={value}" for name, value in flags.items()]
    return ["run", str(app), *settings, *allowed]


def _address(hosts: Sequence[str]) -> str:
    outer = [host for host in hosts if not _is_loopback(host)]
    if not outer:
        return hosts[0] if hosts else LOCAL_HOSTS[1]
    # Several names of this machine can only be served together.
    return outer[0] if len(outer) == 1 else "0.0.0.0"  # noqa: S104 - asked for, and warned about


def _allowed_hosts(hosts: Sequence[str]) -> list[str]:
    this_machine = [socket.gethostname()] if any(_is_everywhere(host) for host in hosts) else []
    return list(dict.fromkeys([*LOCAL_HOSTS, *hosts, *this_machine]))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_everywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
