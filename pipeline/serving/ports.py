"""Whether a port is free, and who has it."""

from __future__ import annotations

import os
import socket

from pipeline.errors import HeadraceError

LISTENING = "0A"  # Source: Linux include/net/tcp_states.h, TCP_LISTEN


def port_in_use(host: str, port: int, flag: str) -> HeadraceError:
    """Return the error of a port that cannot be bound, naming the process that has it where that is known."""
    owner = port_owner(port)
    seen = [f"process {owner[0]} ({owner[1]}) listens on it" if owner else "another process listens on it"]
    fix = [f"{flag} {free_port(host)} (free now)"]
    if owner:
        fix.append(f"kill {owner[0]}, if that process is no longer needed")
    return HeadraceError("HR-SERVE-001", f"port {port} of {host} is in use", seen, "a free port", fix)


def check_free(host: str, port: int, flag: str) -> None:
    """Check that a port can be bound; 0 always can.

    Raises: HR-SERVE-001.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen()
        except OSError as error:
            raise port_in_use(host, port, flag) from error


def free_port(host: str) -> int:
    """Return a port that is free at this moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def port_owner(port: int) -> tuple[int, str] | None:
    """Return pid and program name of the process that listens on a TCP port, or None where /proc does not tell."""
    inodes = {inode for table in ("tcp", "tcp6") for inode in _listening(f"/proc/net/{table}", port)}
    for pid in filter(str.isdigit, os.listdir("/proc") if inodes else []):
        try:
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{descriptor}") in inodes:
                    with open(f"/proc/{pid}/comm") as file:
                        return int(pid), file.read().strip()
        except OSError:
            continue  # ended meanwhile, or another user's
    return None


def _listening(table: str, port: int) -> list[str]:
    try:
        with open(table) as file:
            rows = [line.split() for line in file.readlines()[1:]]
    except OSError:
        return []
    return [f"socket:[{row[9]}]" for row in rows if row[3] == LISTENING and int(row[1].rpartition(":")[2], 16) == port]
