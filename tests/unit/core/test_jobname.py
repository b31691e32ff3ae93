"""Names of Volcano Jobs."""

from __future__ import annotations

import pytest

from tiphys.core.jobname import job_name


@pytest.mark.parametrize(
    ("node", "job"),
    [
        ("f", "f"),
        ("f.a", "f-a"),
        ("f.a(2)", "f-a"),
        ("f.c(0:eu)", "f-c-0"),
        ("f.c(10:e.u(1)[1].again)(2)", "f-c-10"),
        ("f.a[0].run", "f-a"),
        ("f.a[1].again[0].run", "f-a-1"),
        ("f.a[1].again[1].again[0].run(3)", "f-a-2"),
        ("f.c(3:x)[1].again[0].run", "f-c-3-1"),
        ("f[0].step", "f-0-step"),
        ("f.dag.inner", "f-dag-inner"),
    ],
)
def test_a_job_is_named_after_its_flow_step_item_and_round(node: str, job: str) -> None:
    assert job_name("f", node) == job
