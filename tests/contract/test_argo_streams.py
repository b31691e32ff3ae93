"""Watches and logs of the Argo Server's API: the framing is as strict as its clients are."""

from __future__ import annotations

import json

import pytest

from tests.contract.argo_server import (
    COMPLETED,
    NS,
    SSE,
    ArgoServer,
    events_of,
    flow,
    read_logs,
    shell,
)


def test_frames_are_one_data_line_and_an_empty_one(server: ArgoServer) -> None:
    name = server.submit(flow(shell("echo one; echo two")))
    server.ended(name)

    answer = server.ask("GET", f"{NS}/{name}/log", accept=SSE, logOptions__container="main")

    entries = [{"result": {"content": each, "podName": name}} for each in ("one", "two")]
    assert answer.headers["content-type"].startswith(SSE)
    frames = answer.body.split(b"\n\n")
    assert frames.pop() == b""
    assert [frame[:6] for frame in frames] == [b"data: ", b"data: "]
    assert [json.loads(frame[6:]) for frame in frames] == entries


def test_without_that_accept_header_a_stream_is_lines_of_json(server: ArgoServer) -> None:
    name = server.submit(flow(shell("echo one; echo two")))
    server.ended(name)

    answer = server.ask("GET", f"{NS}/{name}/{name}/log", accept=f"{SSE}, */*")

    lines = [json.loads(line)["result"]["content"] for line in answer.body.splitlines()]
    assert lines == ["one", "two"]


def test_a_watch_shows_what_is_there_then_changes_then_the_end(server: ArgoServer) -> None:
    name = server.submit(flow(shell("sleep 0.5"), prefix="seen-"))
    kinds, phases = [], []

    for event in server.watch(name):
        kinds.append(event["type"])
        phases.append(event["object"]["status"]["phase"])
        if event["object"]["status"]["finishedAt"]:
            break

    assert kinds[0] == "ADDED"
    assert set(kinds[1:]) == {"MODIFIED"}
    assert phases[-1] == "Succeeded"


def test_a_watch_tells_of_a_deletion(server: ArgoServer) -> None:
    name = server.submit(flow(prefix="doomed-"))
    server.ended(name)
    watch = server.watch(name)
    assert next(watch)["type"] == "ADDED"

    server.ask("DELETE", f"{NS}/{name}")

    assert next(each for each in watch if each["type"] != "MODIFIED")["type"] == "DELETED"
    watch.close()  # type: ignore[attr-defined]


def test_a_watch_by_label_sees_workflows_come_and_cease_to_match(server: ArgoServer) -> None:
    with server.open(
        "GET",
        "/api/v1/workflow-events/default",
        accept=SSE,
        listOptions__labelSelector=f"lab=come,{COMPLETED}!=true",
    ) as response:
        server.submit(flow(prefix="other-"))
        name = server.submit(flow(shell("sleep 0.5"), labels={"lab": "come"}))
        events = events_of(response)

        first = next(events)
        last = next(each for each in events if each["type"] != "MODIFIED")

    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", name)
    assert (last["type"], last["object"]["metadata"]["name"]) == ("DELETED", name)


def test_a_watch_of_nothing_is_an_error_before_the_stream_begins(server: ArgoServer) -> None:
    answer = server.ask(
        "GET",
        "/api/v1/workflow-events/default",
        accept=SSE,
        listOptions__fieldSelector="metadata.name=nobody",
    )

    assert (answer.status, answer.json["code"]) == (404, 5)


def test_logs_are_followed_to_the_end_of_the_workflow(server: ArgoServer) -> None:
    name = server.submit(flow(shell("echo a; sleep 0.4; echo b")))

    with server.open("GET", f"{NS}/{name}/log", accept=SSE, logOptions__follow="true") as response:
        assert read_logs(response) == ["a", "b"]


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ({"grep": "^l2|3$"}, ["l2", "l3"]),
        ({"logOptions__tailLines": "1"}, ["l3"]),
        ({"logOptions__sinceTime": "2099-01-01T00:00:00Z"}, []),
        ({"logOptions__container": "other"}, []),
        ({"podName": "@"}, ["l1", "l2", "l3"]),
    ],
)
def test_logs_are_chosen_by_what_is_asked(
    server: ArgoServer, query: dict[str, str], lines: list[str]
) -> None:
    name = server.submit(flow(shell("echo l1; echo l2; echo l3")))
    server.ended(name)
    query = {key: value.replace("@", name) for key, value in query.items()}

    with server.open("GET", f"{NS}/{name}/log", accept=SSE, **query) as response:
        assert read_logs(response) == lines


def test_timestamps_stand_before_the_lines(server: ArgoServer) -> None:
    name = server.submit(flow(shell("echo x")))
    server.ended(name)

    path = f"{NS}/{name}/log"
    with server.open("GET", path, accept=SSE, logOptions__timestamps="true") as response:
        (line,) = read_logs(response)

    stamp, _, text = line.partition(" ")
    assert text == "x"
    assert stamp.endswith("Z")


def test_a_pattern_that_cannot_be_read_is_refused(server: ArgoServer) -> None:
    name = server.submit(flow())

    assert server.ask("GET", f"{NS}/{name}/log", grep="(").json["code"] == 3


def test_the_logs_of_several_pods_come_in_the_order_of_writing(server: ArgoServer) -> None:
    steps = [[{"name": each, "template": each}] for each in ("one", "two")]
    said = [{**shell(f"echo {each}"), "name": each} for each in ("one", "two")]
    name = server.submit(flow({"name": "main", "steps": steps}, *said))
    server.ended(name)

    with server.open("GET", f"{NS}/{name}/log", accept=SSE) as response:
        entries = list(events_of(response))

    assert [entry["content"] for entry in entries] == ["one", "two"]
    assert entries[0]["podName"].startswith(f"{name}-one-")
    pod = entries[1]["podName"]
    with server.open("GET", f"{NS}/{name}/{pod}/log", accept=SSE) as response:
        assert read_logs(response) == ["two"]


def test_a_watch_from_a_lists_version_does_not_repeat_what_had_ended(server: ArgoServer) -> None:
    server.ended(server.submit(flow(labels={"lab": "since"})))
    version = server.ask("GET", NS).json["metadata"]["resourceVersion"]

    with server.open(
        "GET",
        "/api/v1/workflow-events/default",
        accept=SSE,
        listOptions__labelSelector="lab=since",
        listOptions__resourceVersion=version,
    ) as response:
        name = server.submit(flow(labels={"lab": "since"}))

        assert next(events_of(response))["object"]["metadata"]["name"] == name


def test_a_stream_with_nothing_to_tell_yet_begins_with_a_bare_colon(server: ArgoServer) -> None:
    suspended = {**flow(), "spec": {**flow()["spec"], "suspend": True}}
    name = server.submit(suspended)

    with server.open("GET", f"{NS}/{name}/log", accept=SSE, logOptions__follow="true") as response:
        assert response.readline() == b":\n"
        server.ask("PUT", f"{NS}/{name}/terminate", {})
        assert read_logs(response) == []
