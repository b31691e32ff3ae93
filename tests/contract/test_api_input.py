"""Bad input gets one clear answer, row by row of the table, and never a 5xx."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.disk import fill, small_disk, why_not
from tests.contract.api_server import ADMIN, PATIENCE, Answer, ApiServer, flow, shell, steps

NO_DISK = why_not()
WORKFLOW = "wf-00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("input")) as server:
        yield server


def submitted(server: ApiServer, text: str, **more: Any) -> Answer:
    body = {"name": "x", "project_id": "default", "workflow_yaml": text, **more}
    return server.post("/workflows", body)


def outcome(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.code


def test_the_envelope_of_a_failure(server: ApiServer) -> None:
    answer = server.get(f"/workflows/{WORKFLOW}")

    assert answer.status == 404
    assert set(answer.body) == {"success", "message", "error"}
    assert set(answer.body["error"]) == {"code", "detail", "errors", "request_id"}
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "raw", [b"{", b"[1,", b'{"a": NaN}', b'{"a": "\xff"}', b"\x00", b"[" * 100_000]
)
def test_what_is_not_json_is_a_parse_error(server: ApiServer, raw: bytes) -> None:
    assert outcome(server.post("/workflows", raw)) == (400, "parse_error")


def test_a_parse_error_says_where(server: ApiServer) -> None:
    answer = server.post("/workflows", b'{\n "a": 1,\n}')

    place = answer.body["error"]["errors"][0]
    assert (place["line"], place["column"]) == (3, 1)


def test_duplicate_keys_are_refused(server: ApiServer) -> None:
    assert outcome(server.post("/workflows", b'{"name": "a", "name": "b"}')) == (
        400,
        "duplicate_key",
    )


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_other_media_types_are_refused(server: ApiServer, media: str) -> None:
    answer = server.post("/workflows", b"{}", headers={"Content-Type": media})

    assert outcome(answer) == (415, "unsupported_media_type")


def test_a_long_body_is_refused_by_its_length(server: ApiServer) -> None:
    assert outcome(server.post("/workflows", b"x" * (2 * 1024 * 1024 + 1))) == (
        413,
        "body_too_large",
    )


def test_a_long_body_in_chunks_is_refused_as_it_comes(server: ApiServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
    chunks = (b"x" * 65536 for _ in range(40))

    connection.request("POST", "/api/v1/workflows", chunks, headers, encode_chunked=True)
    response = connection.getresponse()

    assert response.status == 413
    assert json.loads(response.read())["error"]["code"] == "body_too_large"
    connection.close()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"name": 3}, "name"),
        ({"name": "Not A Name"}, "name"),
        ({"name": "../../etc"}, "name"),
        ({"name": "x" * 64}, "name"),
        ({"project_id": None}, "project_id"),
        ({"workflow_yaml": ""}, "workflow_yaml"),
        ({"scheduler": "slurm"}, "scheduler"),
        ({"parameters": {"a": 1}}, "parameters.a"),
        ({"priority": "urgent"}, "priority"),
        ({"estimated_cpu": "many"}, "estimated_cpu"),
    ],
)
def test_wrong_fields_are_told_by_their_paths(
    server: ApiServer, change: dict[str, Any], path: str
) -> None:
    body = {"name": "x", "project_id": "default", "workflow_yaml": flow("true"), **change}

    answer = server.post("/workflows", body)

    assert outcome(answer) == (422, "invalid_input")
    assert path in [each["path"] for each in answer.body["error"]["errors"]]


def test_unknown_fields_are_refused(server: ApiServer) -> None:
    assert outcome(submitted(server, flow("true"), workflow_yml="x")) == (422, "unknown_field")


def test_an_unknown_project_of_a_bound_token_does_not_exist(server: ApiServer) -> None:
    token = server.make_token("member", None)
    body = {"name": "x", "project_id": "nowhere", "workflow_yaml": flow("true")}

    assert outcome(server.post("/workflows", body, token=token)) == (404, "not_found")


def test_a_bad_project_id_is_refused(server: ApiServer) -> None:
    assert outcome(submitted(server, flow("true"), project_id="No Such")) == (422, "invalid_input")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [", (400, "parse_error")),
        ("a: 'x\x00y'", (400, "parse_error")),
        ("[" * 5000, (400, "yaml_limit")),
        ("a: 1\na: 2\n", (400, "duplicate_key")),
        ("kind: !!python/object:os.system x\n", (400, "yaml_tag")),
        ("kind: Workflow\napiVersion: argoproj.io/v1alpha1\n", (422, "invalid_spec")),
        ("just text", (422, "invalid_spec")),
        ("", (422, "invalid_input")),
        ("{}\n---\n{}", (422, "invalid_spec")),
    ],
)
def test_texts_that_cannot_be_used(server: ApiServer, text: str, expected: tuple[int, str]) -> None:
    assert outcome(submitted(server, text)) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [("{{=1 +}}", "expression_error"), (f"{{{{={'(' * 5000}1{')' * 5000}}}}}", "expression_limit")],
)
def test_an_expression_that_cannot_be_read_is_told_with_its_place(
    server: ApiServer, text: str, code: str
) -> None:
    answer = submitted(server, flow("true").replace('"true"', json.dumps(text)))

    assert outcome(answer) == (422, code)
    assert answer.body["error"]["errors"][0]["path"].startswith("spec.templates[0]")


@pytest.mark.skipif(bool(NO_DISK), reason=NO_DISK)
def test_without_room_on_the_disk_nothing_is_taken_until_there_is_some(tmp_path: Path) -> None:
    try:
        with small_disk(tmp_path / "data", megabytes=32), ApiServer(tmp_path) as server:
            ballast = fill(server.data)
            refused = submitted(server, flow("true"))
            body = {"workflow": json.loads(flow("true"))}
            argo = server.ask("POST", "/argo/api/v1/workflows/default", body)
            ballast.unlink()
            end = time.monotonic() + PATIENCE
            # The loop tries again a moment later, and takes nothing before.
            while (taken := submitted(server, flow("true"))).status == 507:
                assert time.monotonic() < end
                time.sleep(0.1)
            server.wait(taken.data["id"])
    except OSError as error:
        pytest.skip(f"no disk can be mounted here: {error}")

    assert outcome(refused) == (507, "storage_full")
    assert argo.status == 507
    assert refused.headers["retry-after"] == argo.headers["retry-after"]
    assert taken.status == 201


def test_an_alias_bomb_is_refused(server: ApiServer) -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 12)]

    assert outcome(submitted(server, "\n".join(lines))) == (400, "yaml_limit")


def test_a_missing_template_is_told_with_its_place(server: ApiServer) -> None:
    text = flow("true").replace('"entrypoint": "main"', '"entrypoint": "other"')

    answer = submitted(server, text)

    assert outcome(answer) == (422, "invalid_spec")
    (mistake,) = answer.body["error"]["errors"]
    assert mistake["line"] == 1
    assert mistake["path"].startswith("spec")


def test_a_huge_fan_out_is_refused(server: ApiServer) -> None:
    text = json.loads(steps(shell("a", "true")))
    text["spec"]["templates"][0]["steps"][0][0]["withSequence"] = {"count": "1000000000"}

    assert outcome(submitted(server, json.dumps(text))) == (422, "fanout_limit")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, "spec.volumes[0].hostPath"),
        ({"hostNetwork": True}, "spec.hostNetwork"),
    ],
)
def test_what_reaches_for_the_machine_is_denied(
    server: ApiServer, change: dict[str, Any], path: str
) -> None:
    text = json.loads(flow("true"))
    text["spec"] |= change

    answer = submitted(server, json.dumps(text))

    assert outcome(answer) == (403, "policy_denied")
    assert [each["path"] for each in answer.body["error"]["errors"]] == [path]


def test_a_privileged_container_is_denied(server: ApiServer) -> None:
    text = json.loads(flow("true"))
    text["spec"]["templates"][0]["container"]["securityContext"] = {"privileged": True}

    assert outcome(submitted(server, json.dumps(text))) == (403, "policy_denied")


@pytest.mark.parametrize(
    "query",
    [
        "page=0",
        "page=x",
        "limit=0",
        "limit=201",
        "limit=1;drop",
        "status=done",
        "sort=name",
        "sort=created_at;--",
        "created_after=yesterday",
    ],
)
def test_bad_filters_are_refused(server: ApiServer, query: str) -> None:
    assert outcome(server.get(f"/workflows?{query}")) == (400, "bad_filter")


@pytest.mark.parametrize("name", ["'%20OR%201=1", "%25", "_", "%5C", "(a%2B)%2B$"])
def test_a_filter_by_name_is_only_text(server: ApiServer, name: str) -> None:
    assert server.get(f"/workflows?name={name}").data == []


@pytest.mark.parametrize(
    "path",
    [
        "/workflows/..%2F..%2Fetc%2Fpasswd",
        "/workflows/%2e%2e/tokens",
        "/workflows/../tokens",
        "/workflows/wf-%00",
        "/workflows/..%252F",
        "/workflows/a%5Cb",
        f"/workflows/{WORKFLOW}/nodes/..%2Fx/output",
        f"/workflows/{WORKFLOW}/nodes/x/artifacts/%2e%2e%2fx",
    ],
)
def test_ids_that_no_object_can_have_are_refused(server: ApiServer, path: str) -> None:
    assert outcome(server.get(path)) == (400, "bad_id")


@pytest.mark.parametrize(
    "path",
    [
        "/workflows/wf-1",
        "/workflows/health",
        "/workflows/@latest",
        "/workflows/wf-@latest",
        "/workflows/wf-" + "0" * 5000,
        f"/workflows/{WORKFLOW}",
        f"/workflows/{WORKFLOW}/nodes/x/output",
        f"/workflows/compare?a={WORKFLOW}&b={WORKFLOW}",
        "/projects/nothing",
        "/templates/default/nothing",
        "/nothing",
    ],
)
def test_what_is_not_there_is_not_found(server: ApiServer, path: str) -> None:
    assert outcome(server.get(path)) == (404, "not_found")


def test_input_is_echoed_short_and_escaped(server: ApiServer) -> None:
    answer = server.get("/projects/" + "a%1b%5b31m" + "x" * 5000)

    assert answer.status == 404
    assert b"\x1b" not in answer.raw
    assert b"x" * 300 not in answer.raw


def test_an_unknown_method_is_told(server: ApiServer) -> None:
    assert outcome(server.ask("PUT", "/api/v1/workflows")) == (405, "method_not_allowed")


def test_errors_of_the_argo_paths_have_their_own_shape(server: ApiServer) -> None:
    answer = server.ask("GET", "/argo/api/v1/workflows/default", token=None)

    assert answer.status == 401
    assert answer.body["code"] == 16
    assert set(answer.body) == {"code", "message"}


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_marks_of_the_server_itself_cannot_be_given(server: ApiServer, field: str) -> None:
    answer = submitted(server, flow("true"), **{field: {"tiphys.dev/created-by": "the queen"}})

    assert outcome(answer) == (422, "invalid_input")
    assert answer.body["error"]["errors"][0]["path"] == field
