"""The command line: words to calls, results to text.

Each command is a module that is loaded only when it is used (``app.COMMANDS``), so that ``tiphys
list`` does not pay for the engine. Data goes to stdout and notes to stderr; what a person sees is
made here and nowhere below, and nothing below imports from here.
"""
