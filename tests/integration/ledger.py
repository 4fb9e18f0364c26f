"""The sessions that a runtime has open, and what the ledger of sessions says of them."""
import os

import targets

# Where sondes of this user note their sessions; the second where nobody is logged in.
FOLDERS = (f"/run/user/{os.geteuid()}/sonde", f"/tmp/sonde-{os.geteuid()}")


def name_of(target):
    return f"session-{target.net_pid}@{targets.stat_of(target.net_pid)[19]}-"


def notes(target, folders=FOLDERS):
    """The files of the ledger that are about this target."""
    found = []
    for folder in filter(os.path.isdir, folders):
        found += [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(name_of(target))]
    return found


def streams(target):
    """How many sessions are open: the sockets of the target that have the name of its port, without the one that listens."""
    own = set()
    port = os.path.basename(target.socket())
    for number in os.listdir(f"/proc/{target.net_pid}/fd"):
        try:
            own.add(os.readlink(f"/proc/{target.net_pid}/fd/{number}"))
        except FileNotFoundError:
            pass
    with open("/proc/net/unix") as sockets:
        rows = [line.split() for line in sockets]
    return sum(len(row) == 8 and row[7].endswith(port) and f"socket:[{row[6]}]" in own for row in rows) - 1
