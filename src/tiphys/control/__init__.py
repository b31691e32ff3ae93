"""The one loop that joins engine, scheduler, store and runtimes, and what it needs to start and
recover.
"""
