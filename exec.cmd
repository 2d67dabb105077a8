@rem For the npm scripts on Windows. Elsewhere `exec` is of the shell: its program gets the signals of npm.
@%*
