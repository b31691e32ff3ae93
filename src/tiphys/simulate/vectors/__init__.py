"""Scheduling test vectors: each is a small situation and the decision that must follow.

``python -m tiphys.simulate.vectors FILE`` prints a line for each vector and exits 0 only if all
hold. Readers of one family each live beside this file; the rules they ask are in
``tiphys.scheduling``. A vector whose words are not understood does not hold.
"""
