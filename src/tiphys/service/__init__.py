"""Use cases around workflows that only a server has: who may do what, projects, audit."""
