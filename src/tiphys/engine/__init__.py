"""The engine: what a workflow does next, as a pure function of what happened.

Events go in, changed nodes and commands come out (``run.step``). No clock, disk, network, thread
or database: time arrives inside events, effects leave as commands. One ``Run`` holds one workflow;
it is changed in place for speed, by one caller at a time.
"""
