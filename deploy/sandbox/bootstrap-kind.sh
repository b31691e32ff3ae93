#!/bin/sh
# A sandbox on Docker: kind with Argo Workflows, Volcano, Kueue, queues, Tiphys and sample jobs.
#
#     deploy/sandbox/bootstrap-kind.sh up        # some minutes; can be called again
#     deploy/sandbox/bootstrap-kind.sh down
#
# Needs docker, kind, kubectl and helm, and Node where the web pages are not built yet. Versions and
# names can be changed by variables, below. Workflows run in the namespace that is their project:
# here in "default", away from Tiphys' own with the admin's token.
set -eu

CLUSTER=${CLUSTER:-tiphys}
KUBERNETES=${KUBERNETES:-v1.34.0}
ARGO=${ARGO:-v4.0.2}
VOLCANO=${VOLCANO:-v1.14.1}
KUEUE=${KUEUE:-v0.16.2}
NAMESPACE=${NAMESPACE:-tiphys}
WORKFLOWS=${WORKFLOWS:-default}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)

say() { printf '==> %s\n' "$*"; }

need() {
    for program in "$@"; do
        command -v "$program" >/dev/null || {
            echo "$program is not installed" >&2
            exit 3
        }
    done
}

k() { kubectl --context "kind-$CLUSTER" "$@"; }

ready() { k -n "$1" rollout status deployment --timeout=300s; }

namespace() { k get namespace "$1" >/dev/null 2>&1 || k create namespace "$1"; }

# A webhook may answer a moment later than its Deployment is called available.
again() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11; do
        if "$@"; then return; fi
        say "not yet; once more in five seconds"
        sleep 5
    done
    "$@"
}

cluster() {
    if kind get clusters 2>/dev/null | grep -qx "$CLUSTER"; then
        say "kind cluster $CLUSTER is there"
        return
    fi
    say "making kind cluster $CLUSTER"
    kind create cluster --name "$CLUSTER" --image "kindest/node:$KUBERNETES" --wait 120s
}

argo() {
    say "Argo Workflows $ARGO"
    namespace argo
    k apply --server-side -n argo -f \
        "https://github.com/argoproj/argo-workflows/releases/download/$ARGO/install.yaml"
    # The account that the chart makes where workflows run.
    k -n argo patch configmap workflow-controller-configmap --type merge \
        -p '{"data": {"workflowDefaults": "spec: {serviceAccountName: argo-workflow}\n"}}'
    ready argo
}

volcano() {
    say "Volcano $VOLCANO"
    k apply --server-side -f \
        "https://raw.githubusercontent.com/volcano-sh/volcano/$VOLCANO/installer/volcano-development.yaml"
    ready volcano-system
    again k apply -f "$root/deploy/queues.yaml"
}

kueue() {
    say "Kueue $KUEUE"
    k apply --server-side -f \
        "https://github.com/kubernetes-sigs/kueue/releases/download/$KUEUE/manifests.yaml"
    ready kueue-system
    namespace "$WORKFLOWS"
    again k apply -n "$WORKFLOWS" -f "$root/deploy/kueue-queues.yaml"
}

# The tag is the image's own name: what has changed is a new pod, what has not is left alone. So the
# image must not carry the time of its build, as an attestation does. Docker need not keep that tag:
# after each change it would hold one more image.
image() {
    say "an image of this folder"
    if [ ! -f "$root/src/tiphys/api/static/index.html" ]; then
        "$root/scripts/ui"
    fi
    BUILDX_NO_DEFAULT_ATTESTATIONS=1 \
        docker build -t tiphys:sandbox -f "$root/deploy/Containerfile" "$root"
    tag=$(docker image inspect --format '{{.Id}}' tiphys:sandbox | sed 's/^sha256://' | cut -c 1-12)
    docker tag tiphys:sandbox "tiphys:$tag"
    kind load docker-image "tiphys:$tag" --name "$CLUSTER"
    docker image rm "tiphys:$tag" >/dev/null
}

tiphys() {
    say "Tiphys"
    helm --kube-context "kind-$CLUSTER" upgrade --install tiphys "$root/deploy/helm/tiphys" \
        --namespace "$NAMESPACE" --create-namespace --set-string "image.tag=$tag" \
        --set "workflowNamespaces={$WORKFLOWS}" --set manageQueues=true \
        --set config.scheduler.volcano.enabled=true \
        --wait --timeout 300s
    say "Tiphys' controller for Kueue"
    sed "s|image: tiphys:latest|image: tiphys:$tag|" "$root/deploy/kueue.yaml" | k apply -f -
    ready tiphys-kueue
}

# One pod; more words are for `tiphys submit`.
sample() {
    say "a sample job: $*"
    name=$(in_tiphys submit --wait -o name -n "$WORKFLOWS" "$@" - <<'YAML'
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: hello-
spec:
  entrypoint: hello
  templates:
    - name: hello
      container:
        image: busybox:stable-musl
        command: [echo, "hello from the cluster"]
YAML
    ) || {
        in_tiphys get -n "$WORKFLOWS" "$name" </dev/null
        exit 1
    }
    in_tiphys logs -n "$WORKFLOWS" "$name" </dev/null
}

in_tiphys() { k -n "$NAMESPACE" exec -i statefulset/tiphys -- tiphys "$@"; }

up() {
    need docker kind kubectl helm
    cluster
    argo
    volcano
    kueue
    image
    tiphys
    sample --scheduler k8s-native
    sample --scheduler volcano
    sample --scheduler argo-default
    sample --scheduler kueue -l kueue.x-k8s.io/queue-name=batch
    say "done: kubectl --context kind-$CLUSTER -n $NAMESPACE port-forward svc/tiphys 2746"
    say "then http://127.0.0.1:2746 asks for this token: kubectl --context kind-$CLUSTER" \
        "-n $NAMESPACE get secret tiphys-admin -o go-template='{{.data.token | base64decode}}'"
}

case ${1:-} in
up) up ;;
down) kind delete cluster --name "$CLUSTER" ;;
*)
    echo "usage: $0 up | down" >&2
    exit 2
    ;;
esac
