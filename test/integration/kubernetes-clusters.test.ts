// A Cluster of flavor kubernetes through the real controller, Defender, roles and policies: made, upgraded, brought back before and after the one-way step, deleted,
// with another leader in between. What its status, its conditions and the commands say is true at each step. Pods are played.
import { X509Certificate } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { run } from '#cli/program.ts'
import { coreKind } from '#kube/core-kinds.ts'
import {
  MACHINES_OVER_MS,
  PLAYED_NAMESPACE,
  playedClusters,
  type PlayedClusters,
} from '#test/support/worlds/played-clusters.ts'

const NAMESPACES = coreKind('Namespace')
const KEPT_PVC = coreKind('PersistentVolumeClaim')

let world: PlayedClusters | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

async function kubenode(w: PlayedClusters, ...argv: string[]): Promise<string> {
  let said = ''
  const io = {
    out: (t: string) => void (said += t),
    err: (t: string) => void (said += t),
    cwd: w.root,
    env: { KUBECONFIG: w.hub.kubeconfig },
    isTerminal: false,
  }
  await run(argv, io)
  return said
}

/** In the certificate of a kubeconfig, around which a command says more. */
function organizationOf(text: string): string | undefined {
  const [, data = ''] = /client-certificate-data: "?([A-Za-z0-9+/=]+)/.exec(text) ?? []
  return /O=([^\n]+)/.exec(new X509Certificate(Buffer.from(data, 'base64')).subject)?.[1]
}

const readyOf = ({ status }: Cluster) => status?.conditions?.find((c) => c.type === 'Ready')
const versionOf = ({ status }: Cluster) => status?.versions?.[0]?.version
const openPermits = async (w: PlayedClusters) =>
  (await w.admin.list(operationPermit)).items.filter((p) => p.status?.phase === 'Granted').map((p) => p.metadata.name)

const SOAKS = { upgrade: { soak: '1h', chain: false } }

test('a Cluster is made, upgraded, brought back before the one-way step, upgraded, restored with an approval, and deleted', async () => {
  const w = (world = await playedClusters())
  const phases = new Set<string>()
  await w.startController(w.newHost())
  await w.declareKubernetes('1.35.9')
  const made = await w.untilSeen('it is Ready', ({ status }) => {
    phases.add(status?.phase ?? 'none')
    return status?.phase === 'Ready' && status.waitingFor === undefined
  })
  expect(phases).not.toContain('Failed')
  expect(made.status).toMatchObject({
    endpoint: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
    highAvailability: 'No',
    versions: [{ part: 'apiserver', version: '1.35.9' }],
    history: [{ version: '1.35.9', message: 'created' }],
  })
  expect(readyOf(made)).toMatchObject({ status: 'True', observedGeneration: made.metadata.generation })
  expect(organizationOf(await kubenode(w, 'cluster', 'kubeconfig', 'one', '--admin'))).toBe('system:masters')
  expect(organizationOf(await kubenode(w, 'cluster', 'kubeconfig', 'one'))).toBeUndefined()

  // Before the one-way step: the programs are new and the behavior is old.
  await w.declareKubernetes('1.36.2', SOAKS)
  const soaking = await w.untilSeen('it soaks', ({ status }) => /soak/.test(status?.change?.message ?? ''))
  expect(soaking.status).toMatchObject({
    phase: 'Upgrading',
    change: { from: '1.35.9', to: '1.36.2', wayBack: 'Programs' },
    versions: [{ version: '1.35.9' }],
  })
  expect(readyOf(soaking)?.status).toBe('True')
  expect(await kubenode(w, 'cluster', 'show', 'one')).toMatch(
    /change +from 1\.35\.9 to 1\.36\.2: .*soak.*\n +way back +the old programs, in seconds/,
  )
  expect(await kubenode(w, 'why', 'cluster/one')).toMatch(/From 1\.35\.9 to 1\.36\.2: .*soak/)
  await w.declareKubernetes('1.35.9', SOAKS)
  const back = await w.untilSeen(
    'the old programs are back',
    ({ status }) => status?.phase === 'Ready' && status.change === undefined,
  )
  expect([versionOf(back), back.status?.snapshots]).toEqual(['1.35.9', []])
  await w.until('no permit is open', async () => (await openPermits(w)).length === 0)

  // Over the one-way step, with another leader in the middle.
  await w.declareKubernetes('1.36.2')
  await w.untilSeen('the upgrade has begun', ({ status }) => status?.change !== undefined)
  await w.stopController()
  await w.startController(w.newHost())
  const up = await w.untilSeen(
    'it runs the new version',
    (c) => versionOf(c) === '1.36.2' && c.status?.phase === 'Ready',
  )
  expect(up.status?.change).toBeUndefined()
  expect(up.status?.history?.map((h) => h.version)).toEqual(['1.35.9', '1.36.2'])
  const [edge] = up.status?.snapshots ?? []
  expect(edge).toMatchObject({ version: '1.35.9', objects: 7, revision: 42 })

  // What is written since would be lost: only with an approval, by the command that the Cluster names.
  await w.declareKubernetes('1.35.9')
  const asks = await w.untilSeen('it asks', ({ status }) => status?.waitingFor?.predicate === 'ApprovalMissing')
  expect(asks.status).toMatchObject({ phase: 'RollingBack', versions: [{ version: '1.36.2' }] })
  expect(asks.status?.waitingFor?.seen).toBe(
    `restore ${edge?.name ?? ''} to go back to 1.35.9; writes since ${edge?.takenAt ?? ''} are lost`,
  )
  expect(readyOf(asks)?.status).toBe('True')
  const [, ...command] = /kubenode (approve \S+)/.exec(asks.status?.waitingFor?.unblock ?? '') ?? []
  expect(await kubenode(w, 'why', 'cluster/one')).toContain(command[0])
  expect(await kubenode(w, ...(command[0] ?? '').split(' '), '--reason', 'the new one is broken')).toContain('approved')
  expect((await w.admin.list(approval)).items).toHaveLength(1)
  const restored = await w.untilSeen(
    'it is restored',
    (c) => versionOf(c) === '1.35.9' && c.status?.phase === 'Ready' && c.status.change === undefined,
  )
  expect(readyOf(restored)?.status).toBe('True')
  expect(restored.status?.history?.map((h) => h.version)).toEqual(['1.35.9', '1.36.2', '1.35.9'])
  await w.until('no permit is open', async () => (await openPermits(w)).length === 0)

  await w.stopController()
  await w.remove('one')
  await w.startController(w.newHost(), MACHINES_OVER_MS)
  await w.untilGone('one')
  expect((await w.admin.list(KEPT_PVC, { namespace: PLAYED_NAMESPACE })).items.map((c) => c.metadata.name)).toEqual([
    'snapshots',
  ])
  expect(await w.admin.get(NAMESPACES, { name: PLAYED_NAMESPACE })).toBeDefined()
  expect(await w.newHost().list()).toEqual([])
})

test('keys are replaced as a commit asks, also with another leader in between, and not before what must follow is known to', async () => {
  const w = (world = await playedClusters())
  await w.startController(w.newHost())
  await w.declareKubernetes('1.35.9')
  await w.untilSeen('it is Ready', ({ status }) => status?.phase === 'Ready')
  const numbers = async () => (await w.newHost().list())[0]?.own?.declared
  expect(await numbers()).toEqual({ ca: 1, 'service-account': 1, 'etcd-ca': 1, encryption: 1, 'front-proxy-ca': 1 })
  const rotation = { certificateAuthority: 2, serviceAccountKeys: 2, etcdAuthority: 2, frontProxyAuthority: 2 }
  await w.declareKubernetes('1.35.9', { rotation })
  const seen = new Set<string>()
  const note = ({ status }: Cluster) => {
    for (const { name, phase } of status?.rotations ?? []) seen.add(`${name} ${phase}`)
    return (status?.rotations ?? []).length
  }
  await w.untilSeen('all of them have begun', (c) => note(c) === 4)
  await w.stopController()
  await w.startController(w.newHost())
  // Its API server is played: no agent can be asked, and that is never enough.
  const left = await w.untilSeen('two of them are over, and the others wait', (c) => {
    const [authority, keys, ...others] = note(c) === 2 ? (c.status?.rotations ?? []) : []
    return authority?.waitsFor?.what === 'Agents' && keys?.phase === 'Reissuing' && others.length === 0
  })
  expect(left.status?.phase).toBe('Ready')
  expect(left.status?.rotations).toMatchObject([
    { name: 'CertificateAuthority', phase: 'Distributing', waitsFor: { what: 'Agents', missing: [] } },
    { name: 'ServiceAccountKeys', phase: 'Reissuing' },
  ])
  expect(left.status?.waitingFor).toMatchObject({
    predicate: 'RotationUnderWay',
    seen: expect.stringContaining('the machines of the cluster cannot be read'),
  })
  expect([...seen]).toEqual(expect.arrayContaining(['EtcdAuthority Reissuing', 'FrontProxyAuthority Reissuing']))
  expect(await numbers()).toEqual({ ca: 2, 'service-account': 2, 'etcd-ca': 2, encryption: 1, 'front-proxy-ca': 2 })
  expect(await kubenode(w, 'why', 'cluster/one')).toContain('the certificate authority: the new one is trusted')
  expect(await kubenode(w, 'cluster', 'show', 'one')).toMatch(/certificate authority: the new one is trusted/)
  // A commit that is reverted replaces nothing once more.
  await w.declareKubernetes('1.35.9')
  await w.untilSeen('it stays as it is', ({ status }) => status?.rotations?.length === 2 && status.phase === 'Ready')
  expect(await numbers()).toEqual({ ca: 2, 'service-account': 2, 'etcd-ca': 2, encryption: 1, 'front-proxy-ca': 2 })
})
