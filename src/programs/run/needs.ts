// The rights that each role needs to be useful: a leader that lacks one releases its lease for a process that has it.
import type { Right } from '#runtime/rights.ts'

const OURS = 'kubenode.io'
const ours = (verb: Right['verb'], resource: string): Right => ({ verb, group: OURS, resource })

export const NEEDS = {
  sync: [
    ours('patch', 'machinecomponentsets'),
    ours('create', 'releases'),
    ours('update', 'releases/status'),
    ours('update', 'fleetsources/status'),
    ours('patch', 'inventories'),
  ],
  controllers: [
    ours('patch', 'machines'),
    ours('patch', 'machines/status'),
    ours('update', 'machinecomponentsets/status'),
    ours('create', 'operationpermits'),
    ours('update', 'operationpermits'),
    ours('create', 'remedyoperationjobs'),
    { verb: 'update', group: '', resource: 'nodes' },
  ],
  approver: [
    ours('patch', 'machines'),
    { verb: 'update', group: 'certificates.k8s.io', resource: 'certificatesigningrequests/approval' },
    { verb: 'create', group: '', resource: 'secrets', namespace: 'kube-system' },
  ],
  defender: [
    ours('create', 'defenderledgers'),
    ours('update', 'defenderledgers'),
    ours('update', 'operationpermits/status'),
  ],
  cluster: [
    ours('update', 'clusters'),
    ours('update', 'clusters/status'),
    ours('delete', 'clusters'),
    ours('create', 'operationpermits'),
    { verb: 'create', group: '', resource: 'secrets', namespace: 'kubenode-clusters' },
  ],
  // Serves without a leader; its certificate may be given as files.
  artifacts: [],
  console: [],
} as const satisfies Readonly<Record<string, readonly Right[]>>
