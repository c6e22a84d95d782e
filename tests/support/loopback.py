"""A process that may speak to this machine alone: what it tries beyond is refused and written down."""

import os
from collections.abc import Mapping
from pathlib import Path

_HOOK = """
import ipaddress, os, sys

def _is_here(host):
    if host in (None, "", "localhost", b"localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified

def _hook(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = arguments[0]
    elif event == "urllib.Request":
        host = arguments[0].split("/")[2].rpartition(":")[0] or arguments[0].split("/")[2]
    else:
        return
    if not _is_here(host):
        with open(os.environ["NEUROTHEK_TEST_OUTSIDE"], "a") as log:
            log.write(f"{event} {host!r}\\n")
        raise PermissionError(f"{event} {host!r}: this process may speak to this machine alone")

sys.addaudithook(_hook)
"""


# What keeps other tests from asking the hub would keep these processes from it too.
_OF_TESTS = {"HF_ENDPOINT", "HF_HUB_OFFLINE"}


class Confined:
    """The environment of processes that are confined, they and what they start, and what they tried beyond."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        # Python imports a module of this name before anything else.
        (folder / "sitecustomize.py").write_text(_HOOK, "utf-8")
        self._log = folder / "outside.log"
        path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.environment: Mapping[str, str] = {
            **{name: value for name, value in os.environ.items() if name not in _OF_TESTS},
            "PYTHONPATH": path,
            "NEUROTHEK_TEST_OUTSIDE": str(self._log),
        }

    def tried(self) -> list[str]:
        """Every attempt to reach another machine, by name or address."""
        return self._log.read_text("utf-8").splitlines() if self._log.exists() else []

    def forget(self) -> None:
        """Begin anew."""
        self._log.unlink(missing_ok=True)
