import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { onTheWay } from './progress/progress.ts'
import { clusterLines, kubeconfigPlace } from './shown-cluster.ts'
import { whyLines } from './why.ts'

const NOW = Date.parse('2030-01-01T01:00:00Z')
const preview = {
  metadata: { name: 'pr-7', namespace: 'fleet', creationTimestamp: '2030-01-01T00:00:00Z' },
  spec: {
    version: '1.36.0',
    controlPlane: { flavor: 'embedded' },
    stage: 'preview',
    deletionPolicy: 'Delete',
    ttl: '4h',
  },
  status: {
    phase: 'Ready',
    endpoint: 'https://127.0.0.1:7001',
    highAvailability: 'No',
    versions: [{ part: 'apiserver', version: '1.35.2' }],
    expiresAt: '2030-01-01T04:00:00.000Z',
    machines: { total: 5, ready: 3, agents: 4 },
    kubeconfigSecret: { name: 'cluster-fleet.pr-7', key: 'kubeconfig' },
    waitingFor: { predicate: 'NoPermit', since: '2030-01-01T00:59:00Z', seen: 'limit 1', unblock: 'another one ends' },
  },
} as unknown as Cluster
const registered = {
  metadata: { name: 'prod-1', namespace: 'kubenode-system' },
  spec: { kubeconfigSecretRef: { name: 'cluster-prod-1' } },
} as unknown as Cluster

test('a cluster is shown with its end, who extended it, and what limits it', () => {
  const hold = {
    metadata: { name: 'extend-pr-7-1', creationTimestamp: '2030-01-01T00:30:00Z' },
    spec: {
      target: { kind: 'Cluster', name: 'pr-7' },
      effect: 'Extend',
      reason: 'a demo',
      author: 'ada',
      until: '2030-01-01T05:00:00Z',
    },
  } as unknown as OperationalHold
  const policy = { metadata: { name: 'short' }, spec: { clusters: { maxTtl: '6h' } } } as unknown as DefenderPolicy
  expect(clusterLines({ cluster: preview, holds: [hold], policies: [policy] }, NOW)).toMatchInlineSnapshot(`
    [
      "cluster/pr-7 in namespace fleet: Ready",
      "  version         1.35.2; declared 1.36.0",
      "  control plane   embedded, on the hub, one API server",
      "  endpoint        https://127.0.0.1:7001",
      "  kubeconfig      Secret kubenode-clusters/cluster-fleet.pr-7, identity of sync",
      "  stage           preview",
      "  machines        3 of 5 ready, 4 agents respond",
      "  expires         2030-01-01T05:00:00Z (in 4h)",
      "                  then it is deleted",
      "  extended        by ada: a demo (operationalhold/extend-pr-7-1)",
      "  limit           6h at once, by defenderpolicy/short",
      "  if deleted      the control plane is deleted",
      "  waits for       NoPermit: limit 1",
      "                  unblocks when another one ends",
    ]
  `)
})

test('a cluster that no host of this hub serves has no number of API servers', () => {
  const spec = { version: '1.36.2', controlPlane: { flavor: 'kubernetes', replicas: 3 } }
  const waiting = { metadata: preview.metadata, spec, status: { phase: 'Pending' } } as unknown as Cluster
  const lines = clusterLines({ cluster: waiting, holds: [], policies: [] }, NOW)
  expect(lines).toContain('  control plane   kubernetes, on the hub')
})

test('a tombstone in git and a registered cluster are told as such', () => {
  const declared = { ...preview, metadata: { ...preview.metadata, annotations: { [ANNOTATIONS.source]: 'fleet' } } }
  const lines = clusterLines({ cluster: declared, holds: [], policies: [] }, NOW).join('\n')
  expect(lines).toContain('stopped, and keeps its data while git declares it')
  const other = clusterLines({ cluster: registered, holds: [], policies: [] }, NOW)
  expect(other).toMatchInlineSnapshot(`
    [
      "cluster/prod-1 in namespace kubenode-system: Unknown",
      "  version         unknown",
      "  control plane   registered by its kubeconfig",
      "  kubeconfig      Secret kubenode-clusters/cluster-prod-1, identity of sync",
    ]
  `)
})

test('the kubeconfig is where the controller wrote it, or where the Cluster names it', () => {
  const made = { namespace: 'kubenode-clusters', secret: 'cluster-fleet.pr-7', key: 'kubeconfig' }
  expect(kubeconfigPlace(preview)).toEqual(made)
  expect(kubeconfigPlace(registered)).toEqual({
    namespace: 'kubenode-clusters',
    secret: 'cluster-prod-1',
    key: undefined,
  })
  expect(kubeconfigPlace({ ...preview, status: {} })).toBeUndefined()
})

test('rotations are shown with their phase, also one that blocks nothing', () => {
  const message =
    'the service account keys: the new one signs, and the old one is still trusted until 2031-01-01T00:00:00Z'
  const rotations = [
    { name: 'ServiceAccountKeys', phase: 'Reissuing', since: '2030-01-01T00:00:00Z', message },
  ] as const
  const rotated = { ...preview, status: { ...preview.status, rotations } } as unknown as Cluster
  expect(clusterLines({ cluster: rotated, holds: [], policies: [] }, NOW)).toContain(
    `  rotation        Reissuing, ${message}`,
  )
})

test('a Cluster whose condition Ready is False is NotReady, with the reason, wherever its phase is shown', () => {
  const message = 'this hub runs no programs for its Clusters'
  const conditions = [{ type: 'Ready', status: 'False', reason: 'ProgramsNotServed', message }]
  const unready = { ...preview, kind: 'Cluster', status: { ...preview.status, conditions } } as unknown as Cluster
  const lines = clusterLines({ cluster: unready, holds: [], policies: [] }, NOW)
  expect(lines.slice(0, 2)).toEqual([
    'cluster/pr-7 in namespace fleet: NotReady',
    `  not ready       ProgramsNotServed: ${message}`,
  ])
  expect(whyLines(unready as unknown as KubeObject, NOW)[0]).toBe('cluster/pr-7 is NotReady')
  const seen = { hub: { isReachable: true, sources: [], releases: [], clusters: [unready] }, clusters: [] }
  expect(onTheWay(seen)).toEqual([{ name: 'fleet.pr-7', how: 'is NotReady: limit 1' }])
})

test('a Cluster whose condition Ready is Unknown is Unknown, with the reason, wherever its phase is shown', () => {
  const conditions = [{ type: 'Ready', status: 'Unknown', reason: 'HostUnreachable', message: 'no answer' }]
  const silent = { ...preview, kind: 'Cluster', status: { ...preview.status, conditions } } as unknown as Cluster
  const lines = clusterLines({ cluster: silent, holds: [], policies: [] }, NOW)
  expect(lines.slice(0, 2)).toEqual([
    'cluster/pr-7 in namespace fleet: Unknown',
    '  unknown         HostUnreachable: no answer',
  ])
  expect(whyLines(silent as unknown as KubeObject, NOW)[0]).toBe('cluster/pr-7 is Unknown')
  const seen = { hub: { isReachable: true, sources: [], releases: [], clusters: [silent] }, clusters: [] }
  expect(onTheWay(seen)).toEqual([{ name: 'fleet.pr-7', how: 'is Unknown: limit 1' }])
})
