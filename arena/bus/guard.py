"""The guard: a small process that runs one server and ends it when its owner is gone. Run by path.

Its stdin is a pipe that only the owner holds. The pipe closes when the owner lets go or dies in any way,
SIGKILL included, and then the guard kills the server and removes its folder. It ends with the server's
exit code. (PR_SET_PDEATHSIG alone would fire when the *thread* that started the server ends, and exists
only on Linux; the guard uses it for one thing, its own death, since it has one thread that lasts.)
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading

_PR_SET_PDEATHSIG = 1


def main(folder: str, *command: str) -> int:
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=folder, preexec_fn=_die_with_guard)
    threading.Thread(target=_end_when_owner_is_gone, args=(server,), daemon=True).start()
    code = server.wait()
    shutil.rmtree(folder, ignore_errors=True)
    return code


def _die_with_guard() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_when_owner_is_gone(server: "subprocess.Popen[bytes]") -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    server.kill()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
