"""The process that starts tasks on this machine, and the client that talks to it.

The executor outlives the server: it owns the tasks, their log files and the journal of what was
started and how it ended. It imports the standard library and msgspec only, so that it starts in
some tens of milliseconds and stays small. ``runtimes`` is the only user of ``executor.client``.
"""
