#!/bin/sh
# A sandbox on Docker: kind with Argo Workflows, Volcano, Kueue, queues, Tiphys and a sample job.
#
#     deploy/sandbox/bootstrap-kind.sh up        # about five minutes; can be called again
#     deploy/sandbox/bootstrap-kind.sh down
#
# Needs docker, kind, kubectl and helm. Versions and names can be changed by variables, below.
set -eu

CLUSTER=${CLUSTER:-tiphys}
KUBERNETES=${KUBERNETES:-v1.34.0}
ARGO=${ARGO:-v4.0.2}
VOLCANO=${VOLCANO:-v1.14.1}
KUEUE=${KUEUE:-v0.16.2}
NAMESPACE=${NAMESPACE:-tiphys}

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

ready() { k -n "$1" wait --for=condition=Available deployment --all --timeout=300s; }

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
    k create namespace argo --dry-run=client -o yaml | k apply -f -
    k apply --server-side -n argo -f \
        "https://github.com/argoproj/argo-workflows/releases/download/$ARGO/quick-start-minimal.yaml"
    ready argo
}

volcano() {
    say "Volcano $VOLCANO"
    k apply --server-side -f \
        "https://raw.githubusercontent.com/volcano-sh/volcano/$VOLCANO/installer/volcano-development.yaml"
    ready volcano-system
    k apply -f "$root/deploy/queues.yaml"
}

kueue() {
    say "Kueue $KUEUE"
    k apply --server-side -f \
        "https://github.com/kubernetes-sigs/kueue/releases/download/$KUEUE/manifests.yaml"
    ready kueue-system
}

tiphys() {
    say "Tiphys, from this folder"
    if [ ! -f "$root/src/tiphys/api/static/index.html" ]; then
        "$root/scripts/ui"
    fi
    docker build -t tiphys:sandbox -f "$root/deploy/Containerfile" "$root"
    kind load docker-image tiphys:sandbox --name "$CLUSTER"
    helm --kube-context "kind-$CLUSTER" upgrade --install tiphys "$root/deploy/helm/tiphys" \
        --namespace "$NAMESPACE" --create-namespace --set image.tag=sandbox --wait --timeout 300s
}

sample() {
    say "a sample job: one pod through k8s-native"
    k -n "$NAMESPACE" exec -i statefulset/tiphys -- \
        tiphys submit --scheduler k8s-native --wait - <<'YAML'
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
}

up() {
    need docker kind kubectl helm
    cluster
    argo
    volcano
    kueue
    tiphys
    sample
    say "done: kubectl --context kind-$CLUSTER -n $NAMESPACE port-forward svc/tiphys 2746"
}

case ${1:-} in
up) up ;;
down) kind delete cluster --name "$CLUSTER" ;;
*)
    echo "usage: $0 up | down" >&2
    exit 2
    ;;
esac
