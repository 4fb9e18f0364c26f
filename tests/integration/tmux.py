"""A terminal for tests of what is drawn: tmux, without a person before it."""
import os
import re
import subprocess

import targets
from targets import until


class Tmux:
    """A terminal that draws: what a person would see of a program, and keys for it."""

    def __init__(self, folder, command, columns=110, lines=30, **changes):
        self.base = ["tmux", "-S", os.path.join(folder, "tmux"), "-f", "/dev/null"]
        env = targets.environment(TMUX=None, TERM="xterm-256color", LC_ALL="C.UTF-8")
        with_changes = ["env", *[f"{name}={value}" for name, value in changes.items()]]
        # A shell below it, so that the terminal outlives the program and shows how it was left.
        self._do("new-session", "-d", "-s", "t", "-x", str(columns), "-y", str(lines), "sh", env=env)
        self.press("PS1='$ '; clear; " + " ".join([*with_changes, *command]) + "; echo ended $?", "Enter")

    def _do(self, *words, **how):
        done = subprocess.run([*self.base, *words], capture_output=True, text=True, timeout=30, **how)
        if done.returncode:
            raise AssertionError(f"tmux {words}: {done.stderr}")
        return done.stdout

    def press(self, *keys):
        self._do("send-keys", "-t", "t", *keys)

    def resize(self, columns, lines):
        self._do("resize-window", "-t", "t", "-x", str(columns), "-y", str(lines))

    @property
    def shown(self):
        return self._do("capture-pane", "-p", "-t", "t")

    def sees(self, pattern):
        last = ""

        def look():
            nonlocal last
            last = self.shown
            return re.search(pattern, last)
        try:
            return until(pattern, look)
        except AssertionError:
            raise AssertionError(f"no {pattern} in:\n{last}") from None

    def end(self):
        subprocess.run([*self.base, "kill-server"], capture_output=True, timeout=30)
