"""Text to immutable values: YAML with positions, the model, merging, validation, lint.

Pure: no clock, disk, network or thread. The way in is `spec.parse.parse_files`; what it returns
goes through `spec.validate` and then, as values of `spec.model`, to the engine. Problems are
collected, each with its file, line, column and path.
"""
