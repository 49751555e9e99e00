// Clusters of flavor kubernetes that cannot be what they declare, or that change their mind in the middle: each says why with a reason of its own, and continues
// once the reason has ended. Pods are played.
import { afterEach, expect, test } from 'vitest'
import { onlyInFull } from '#test/support/tools/full.ts'
import { REAL_VERSIONS } from '#test/support/worlds/kubernetes-host-world.ts'
import { PLAYED_WORKLOADS } from '#test/support/worlds/played-pods.ts'
import { run } from '#cli/program.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { KubeObject } from '#api/schema/object.ts'
import {
  MACHINES_OVER_MS,
  PLAYED_NAMESPACE as namespace,
  playedClusters,
  type PlayedClusters,
} from '#test/support/worlds/played-clusters.ts'

const [PODS, CLAIMS] = [coreKind<'Pod', KubeObject>('Pod'), coreKind('PersistentVolumeClaim')]
const [, SETS] = PLAYED_WORKLOADS
const SOON = { withinMs: 500 }

let world: PlayedClusters | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

const waitsFor =
  (reason: string) =>
  ({ status }: Cluster): boolean =>
    status?.waitingFor?.predicate === reason
const isReady = ({ status }: Cluster): boolean =>
  status?.phase === 'Ready' && status.change === undefined && status.waitingFor === undefined
const runs =
  (version: string) =>
  (cluster: Cluster): boolean =>
    isReady(cluster) && cluster.status?.versions?.[0]?.version === version
const seenOf = ({ status }: Cluster): string => status?.waitingFor?.seen ?? ''

test('a version that the table lacks is refused with those that it has, before and after the control plane exists', async () => {
  const w = (world = await playedClusters())
  await w.startController(w.newHost())
  await w.declareKubernetes('1.36.9')
  const never = await w.untilSeen('it is refused', waitsFor('VersionNotServed'))
  expect(seenOf(never)).toBe('version 1.36.9 is not in the version file; it has 1.36.2, 1.35.9')
  await w.declareKubernetes('1.35.9')
  await w.untilSeen('it is Ready', runs('1.35.9'))
  await w.declareKubernetes('1.36.9')
  const kept = await w.untilSeen('it is refused', waitsFor('VersionNotServed'))
  expect(kept.status).toMatchObject({ phase: 'Ready', versions: [{ version: '1.35.9' }] })
  expect(kept.status?.conditions?.find((c) => c.type === 'Ready')?.status).toBe('True')
  await w.declareKubernetes('1.35.9')
  await w.untilSeen('it is Ready', runs('1.35.9'))
})

test('a Cluster that runs a version whose row is lost stays Ready, with the reason', async (context) => {
  onlyInFull(context)
  const w = (world = await playedClusters())
  let rows = REAL_VERSIONS
  await w.startController(w.newHost({ versions: () => rows }))
  await w.declareKubernetes('1.35.9')
  await w.untilSeen('it is Ready', runs('1.35.9'))
  rows = rows.filter(({ version }) => version !== '1.35.9')
  const kept = await w.untilSeen('it has the reason', waitsFor('VersionNotServed'))
  expect(kept.status).toMatchObject({ phase: 'Ready', versions: [{ version: '1.35.9' }] })
  expect(kept.status?.conditions?.find((c) => c.type === 'Ready')?.status).toBe('True')
  await w.declareKubernetes('1.36.2')
  const refused = await w.untilSeen('the upgrade is refused', waitsFor('UpgradeRefused'))
  expect([refused.status?.phase, seenOf(refused)]).toEqual([
    'Ready',
    'the version file lacks a version that runs: put its row back',
  ])
  rows = REAL_VERSIONS
  await w.untilSeen('it is upgraded', runs('1.36.2'))
})

test('a volume that is never given is named with its claim and why, and the Cluster comes up once it is', async () => {
  let hasVolume = false
  const w = (world = await playedClusters({
    statusOf: ({ kind }) => (kind === 'StatefulSet' && !hasVolume ? { replicas: 1, readyReplicas: 0 } : undefined),
  }))
  await w.startController(w.newHost())
  await w.declareKubernetes('1.35.9')
  let set: KubeObject | undefined
  await w.until('etcd is asked for', async () => {
    const { items } = await w.admin.list(SETS as (typeof PLAYED_WORKLOADS)[number], { namespace })
    return (set = items[0]) !== undefined
  })
  if (set === undefined) throw new Error('unreachable')
  const { selector, template } = set['spec'] as {
    readonly selector: { readonly matchLabels: Record<string, string> }
    readonly template: { readonly spec: { readonly volumes?: readonly object[] } }
  }
  const volumes = [
    ...(template.spec.volumes ?? []),
    { name: 'data', persistentVolumeClaim: { claimName: 'data-etcd-0' } },
  ]
  const pod = await w.admin.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'etcd-0', namespace, labels: selector.matchLabels },
    spec: { ...template.spec, volumes },
  })
  const message = '0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims'
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }]
  await w.admin.update(PODS, { ...pod, status: { phase: 'Pending', conditions } }, { subresource: 'status' })
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '8Gi' } } }
  const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data-etcd-0', namespace }, spec }
  await w.admin.create(CLAIMS, claim)
  const stuck = await w.untilSeen('the claim is named', waitsFor('StorageMissing'))
  expect(seenOf(stuck)).toBe(
    'Starting: etcd is not ready: volume claim data-etcd-0 is not bound: the Cluster names no storage class, and the hub has no default one',
  )
  expect(stuck.status?.phase).toBe('Creating')
  await w.admin.delete(PODS, { namespace, name: 'etcd-0' }, { gracePeriodSeconds: 0 })
  hasVolume = true
  await w.untilSeen('it is Ready', isReady)
})

test('a quota that is full is named, and the Cluster comes up once it has room', async () => {
  const refused =
    'pods "kube-apiserver-7d" is forbidden: exceeded quota: team, requested: requests.cpu=200m, used: requests.cpu=4, limited: requests.cpu=4'
  let isFull = true
  const w = (world = await playedClusters({
    statusOf: ({ kind, metadata }) =>
      kind === 'Deployment' && metadata.name === 'kube-apiserver' && isFull
        ? {
            replicas: 0,
            conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: refused }],
          }
        : undefined,
  }))
  await w.startController(w.newHost())
  await w.declareKubernetes('1.35.9')
  const stuck = await w.untilSeen('the quota is named', waitsFor('QuotaFull'))
  expect(seenOf(stuck)).toContain('apiserver is not ready: pods "kube-apiserver-7d" is forbidden: exceeded quota: team')
  isFull = false
  await w.untilSeen('it is Ready', isReady)
})

test('an upgrade that is asked for during a restore begins after it, and a deletion then ends too', async (context) => {
  onlyInFull(context)
  let isHeld = false
  const w = (world = await playedClusters({ holdsJobs: () => isHeld }))
  await w.startController(w.newHost(SOON))
  await w.declareKubernetes('1.35.9', { snapshot: 'mine' })
  await w.untilSeen('there is a snapshot', (c) => isReady(c) && c.status?.snapshots?.[0]?.name === 'mine')
  isHeld = true
  const restore = { snapshot: 'mine', attempt: 1 }
  await w.declareKubernetes('1.35.9', { restore })
  await w.untilSeen('it is being restored', ({ status }) =>
    /being restored/.test(JSON.stringify(status?.waitingFor ?? '')),
  )
  await w.declareKubernetes('1.36.2', { restore })
  const both = await w.untilSeen('the upgrade waits', waitsFor('RestoreUnderWay'))
  expect(seenOf(both)).toBe('mine is being restored; version 1.36.2 comes after it')
  expect(both.status).toMatchObject({ phase: 'Restoring', versions: [{ version: '1.35.9' }] })
  expect(both.status?.change).toBeUndefined()
  isHeld = false
  const up = await w.untilSeen('it runs the new version', runs('1.36.2'))
  expect(up.status?.restored).toBe('mine/1')

  await w.declareKubernetes('1.36.2', { snapshot: 'second' })
  await w.untilSeen(
    'there is another snapshot',
    ({ status }) => status?.snapshots?.some((s) => s.name === 'second') === true,
  )
  isHeld = true
  await w.declareKubernetes('1.36.2', { restore: { snapshot: 'second', attempt: 1 } })
  await w.untilSeen('it is being restored', ({ status }) => /second/.test(JSON.stringify(status?.waitingFor ?? '')))
  await w.stopController()
  await w.remove('one')
  await w.startController(w.newHost(SOON), MACHINES_OVER_MS)
  const leaving = await w.untilSeen('the deletion says what it waits for', ({ status }) =>
    /^Snapshot: .*restore/.test(status?.waitingFor?.seen ?? ''),
  )
  expect(leaving.status?.phase).toBe('Deleting')
  isHeld = false
  await w.untilGone('one')
  expect(await w.newHost().list()).toEqual([])
})

test('a lost quorum is named, and a commit that declares a restore brings the Cluster back', async (context) => {
  onlyInFull(context)
  let isLost = false
  const w = (world = await playedClusters({
    statusOf: ({ kind, spec }) => {
      const { replicas } = spec as { readonly replicas: number }
      return kind === 'StatefulSet' && isLost && replicas > 0 ? { replicas, readyReplicas: 0 } : undefined
    },
  }))
  await w.startController(w.newHost(SOON))
  const etcd = { replicas: 3, storage: '8Gi' }
  await w.declareKubernetes('1.35.9', { etcd, snapshot: 'mine' })
  await w.untilSeen('there is a snapshot', (c) => isReady(c) && c.status?.snapshots?.[0]?.name === 'mine')
  await w.stopController()
  isLost = true
  // Once to see it, and ten minutes later.
  await w.startController(w.newHost(SOON), 11 * 60_000)
  const lost = await w.untilSeen('it is named', waitsFor('QuorumLost'))
  expect(lost.status?.phase).toBe('Failed')
  expect(seenOf(lost)).toMatch(/^0 of 3 members of etcd serve since /)
  await w.declareKubernetes('1.35.9', { etcd, restore: { snapshot: 'mine', attempt: 1 } })
  await w.untilSeen('it is being restored', ({ status }) => /restore/i.test(JSON.stringify(status?.waitingFor ?? '')))
  isLost = false
  await w.untilSeen('it is restored', (c) => isReady(c) && c.status?.restored === 'mine/1')
})

test('a deletion whose final snapshot can never be taken ends once a person approves the loss', async (context) => {
  onlyInFull(context)
  const w = (world = await playedClusters({ failsJobs: () => true }))
  await w.startController(w.newHost(SOON))
  await w.declareKubernetes('1.35.9')
  await w.untilSeen('it is Ready', isReady)
  await w.stopController()
  await w.remove('one')
  await w.startController(w.newHost(SOON), 31 * 60_000)
  const waits = await w.untilSeen('it asks a person', waitsFor('ApprovalMissing'))
  expect(seenOf(waits)).toContain('delete it without any snapshot; all of its data is lost; Snapshot: ')
  const [, ...command] = /kubenode (approve) (\S+)$/.exec(waits.status?.waitingFor?.unblock ?? '') ?? []
  let said = ''
  const io = {
    out: (t: string) => void (said += t),
    err: (t: string) => void (said += t),
    cwd: w.root,
    env: { KUBECONFIG: w.hub.kubeconfig },
    isTerminal: false,
  }
  await run([...command, '--reason', 'its volume is broken'], io)
  expect(said).toContain('approved')
  await w.untilGone('one')
  expect(await w.newHost().list()).toEqual([])
})

test('a deletion in the middle of an upgrade ends, with a final snapshot', async (context) => {
  onlyInFull(context)
  const w = (world = await playedClusters())
  await w.startController(w.newHost(SOON))
  await w.declareKubernetes('1.35.9')
  await w.untilSeen('it is Ready', isReady)
  await w.declareKubernetes('1.36.2', { upgrade: { soak: '1h', chain: false } })
  await w.untilSeen('the upgrade is under way', ({ status }) => status?.change !== undefined)
  await w.stopController()
  await w.remove('one')
  await w.startController(w.newHost(SOON), MACHINES_OVER_MS)
  await w.untilGone('one')
  expect(await w.newHost().list()).toEqual([])
  const claims = (await w.admin.list(CLAIMS, { namespace })).items.map((c) => c.metadata.name)
  expect(claims).toEqual(['snapshots'])
})
