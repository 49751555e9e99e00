// How lists of the built-in kinds merge, for patches and apply in the fake. Declares only lists that are not atomic; everything else is accepted.
import type { Schema } from '#api/schema/schema.ts'

const open = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties,
  'x-kubernetes-preserve-unknown-fields': true,
})

const byKey = (keys: readonly string[], properties: Readonly<Record<string, Schema>> = {}): Schema => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  'x-kubernetes-patch-strategy': 'merge',
  'x-kubernetes-patch-merge-key': keys[0] ?? '',
  items: open({ ...Object.fromEntries(keys.map((k) => [k, {}])), ...properties }),
})

const atomic: Schema = { type: 'array', 'x-kubernetes-list-type': 'atomic', items: open({}) }

const conditions = byKey(['type'])
const containers = byKey(['name'], {
  env: byKey(['name']),
  ports: byKey(['containerPort', 'protocol']),
  volumeMounts: byKey(['mountPath']),
})
const podSpec = open({
  containers,
  initContainers: containers,
  volumes: byKey(['name']),
  tolerations: atomic,
})
const workload = open({
  spec: open({ template: open({ spec: podSpec }) }),
  status: open({ conditions }),
})

/** By kind; two kinds of one name (Event) have no merging lists. */
export const builtinSchemas: Readonly<Record<string, Schema>> = {
  Node: open({ spec: open({ taints: atomic }), status: open({ conditions, addresses: byKey(['type']) }) }),
  Pod: open({ spec: podSpec, status: open({ conditions }) }),
  Namespace: open({ status: open({ conditions }) }),
  Service: open({ spec: open({ ports: byKey(['port', 'protocol']) }), status: open({ conditions }) }),
  Deployment: workload,
  StatefulSet: workload,
  DaemonSet: workload,
  ReplicaSet: workload,
  PodDisruptionBudget: open({ status: open({ conditions }) }),
  CertificateSigningRequest: open({ status: open({ conditions }) }),
}
