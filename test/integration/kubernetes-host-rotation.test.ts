// Rotation of a control plane of Kubernetes programs on a hub with the shipped rights: each phase waits until all programs run with what the phase before gave them.
import { createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FIELD_MANAGERS, programUser } from '#api/names.ts'
import { KubernetesHost } from '#controlplanes/kubernetes/host.ts'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import type { SealAgain } from '#controlplanes/kubernetes/reseal.ts'
import type { ControlPlane, ControlPlaneRequest, RotationRequest } from '#controlplanes/port.ts'
import { authorityPrints, signerPrint } from '#identity/authority-prints.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { asLeader } from '#test/support/servers/as-leader.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { ALL_WELL, REAL_VERSIONS } from '#test/support/worlds/kubernetes-host-world.ts'
import { OPENED_LOG, playPods, type PlayedHub } from '#test/support/worlds/played-pods.ts'
import { shippedHub } from '#test/support/worlds/shipped-hub.ts'

const SLOW_MS = 300_000
const DAY_MS = 86_400_000
/** Longer than hosts may take to join, and than the tokens of the old key live. */
const [JOIN_MS, TOKENS_MS] = [16 * 60_000, 367 * DAY_MS]
const ID = 'fleet.rotated'
const SECRETS = coreKind('Secret')

let hub: Awaited<ReturnType<typeof shippedHub>>
beforeAll(async () => {
  hub = await shippedHub()
})
afterAll(() => hub.close())

let ahead = 0
/** Another one for each call, as after a kill. */
const host = (client: KubeClient = hub.program, sealAgain: SealAgain = async () => ({ failed: [] })): KubernetesHost =>
  new KubernetesHost({
    client: asLeader(client),
    fieldManager: FIELD_MANAGERS.cluster,
    clock: { ...systemClock, now: () => Date.now() + ahead },
    versions: () => REAL_VERSIONS,
    access: [{ kind: 'User', name: programUser('cluster') }],
    readLog: async () => OPENED_LOG,
    readings: async () => ALL_WELL,
    sealAgain,
    withinMs: 20_000,
  })

const request = (rotation?: RotationRequest, id = ID): ControlPlaneRequest => ({
  id,
  owner: 'uid-rotated',
  version: '1.35.9',
  upgrade: { soakMs: 3_600_000, walksMinors: false },
  ...defined({ rotation }),
})

async function put(of: ControlPlaneRequest, played: PlayedHub | undefined = {}): Promise<ControlPlane> {
  const result = await host().put(of)
  if (result.kind === 'Refused') throw new Error(result.message)
  if (played !== undefined) await playPods(hub.admin, planeNamespace(of.id), played)
  return result.plane
}

async function until(
  of: ControlPlaneRequest,
  holds: (plane: ControlPlane) => boolean,
  played?: PlayedHub,
): Promise<ControlPlane> {
  let plane: ControlPlane | undefined
  for (let calls = 0; calls < 80; calls++) {
    plane = await put(of, played)
    if (holds(plane)) return plane
  }
  throw new Error(`never: ${JSON.stringify({ ...plane, ca: '' })}`)
}

const fileOf = async (secret: string, file: string, id = ID): Promise<string> => {
  const data = (await hub.admin.get(SECRETS, { namespace: planeNamespace(id), name: secret }))?.['data']
  return Buffer.from((data as Readonly<Record<string, string>>)[file] ?? '', 'base64').toString()
}
interface EncryptionKey {
  readonly name: string
  readonly secret: string
}
/** The one that encrypts is the first. */
const sealingKeys = async (id: string): Promise<readonly EncryptionKey[]> =>
  JSON.parse(await fileOf('encryption', 'config.yaml', id)).resources[0].providers[0].secretbox.keys
const rotationOf = ({ own }: ControlPlane, name: string) => own?.rotations.find((r) => r.name === name)
const certificates = (pem: string): number => pem.match(/BEGIN CERTIFICATE/g)?.length ?? 0

test(
  'an authority and the keys of service accounts are rotated once, in phases that wait for all programs, agents and tokens',
  async () => {
    const first = await until(request(), (p) => p.state === 'Running' && p.own !== undefined)
    expect(first.own).toMatchObject({
      declared: { ca: 1, 'service-account': 1, 'etcd-ca': 1, encryption: 1, 'front-proxy-ca': 1 },
      rotations: [],
    })
    const key = await fileOf('service-accounts', 'sa.key')
    const declared = { ca: 2, 'service-account': 2 }
    const agent = { machine: 'm-1', authorities: [first.own?.signer ?? ''], signedBy: first.own?.signer ?? '' }
    const old = request({ declared, agents: [agent] })

    // API servers that still start: nothing signs with what they do not trust.
    const isStarting: PlayedHub = {
      statusOf: ({ metadata, spec }) => {
        const { replicas } = spec as { readonly replicas: number }
        return metadata.name === 'kube-apiserver'
          ? { replicas, readyReplicas: replicas, updatedReplicas: 0 }
          : undefined
      },
    }
    await put(old, isStarting)
    for (let calls = 0; calls < 4; calls++) await put(old, isStarting)
    const waits = await put(old, isStarting)
    expect(rotationOf(waits, 'service-account')).toMatchObject({
      phase: 'Distributing',
      waitsFor: { what: 'servers', seen: 3, of: 4 },
    })
    expect(certificates(await fileOf('client-ca', 'ca.crt'))).toBe(2)
    expect(await fileOf('service-accounts', 'sa.key')).toBe(key)
    expect(waits.own?.signer).toBe(first.own?.signer)

    // With all of them the keys sign; the authority waits for the agent, whatever the clock says.
    await until(old, (p) => rotationOf(p, 'service-account')?.phase === 'Reissuing')
    expect(await fileOf('service-accounts', 'sa.key')).not.toBe(key)
    expect(await fileOf('service-accounts', 'sa-old-0.pub')).toContain('PUBLIC KEY')
    ahead += JOIN_MS
    const unheard = await until(old, (p) => rotationOf(p, 'ca')?.waitsFor?.what === 'agents')
    expect(rotationOf(unheard, 'ca')).toMatchObject({ phase: 'Distributing', waitsFor: { missing: ['m-1'] } })
    expect(unheard.own?.signer).toBe(first.own?.signer)

    const trusts = async (signedBy: string) => {
      const authorities = authorityPrints(await fileOf('client-ca', 'ca.crt'))
      return request({ declared, agents: [{ machine: 'm-1', authorities, signedBy }] })
    }
    const following = await trusts(first.own?.signer ?? '')
    const signing = await until(following, (p) => rotationOf(p, 'ca')?.phase === 'Reissuing')
    expect(signing.own?.signer).not.toBe(first.own?.signer)
    expect(signing.ca).toContain(first.ca.trim())

    const renewed = await trusts(signing.own?.signer ?? '')
    await until(renewed, (p) => rotationOf(p, 'ca')?.waitsFor === undefined)
    ahead += JOIN_MS
    const over = await until(renewed, (p) => rotationOf(p, 'ca') === undefined)
    expect(certificates(over.ca)).toBe(1)
    expect(over.ca).not.toBe(first.ca)
    expect(rotationOf(over, 'service-account')?.phase).toBe('Reissuing')
    ahead += TOKENS_MS
    const done = await until(renewed, (p) => rotationOf(p, 'service-account') === undefined)
    expect(done.own?.declared).toEqual({ ...declared, 'etcd-ca': 1, encryption: 1, 'front-proxy-ca': 1 })
    await expect(fileOf('service-accounts', 'sa-old-0.pub')).resolves.toBe('')
    // What was asked for once is done once.
    for (let calls = 0; calls < 3; calls++) expect(rotationOf(await put(renewed), 'ca')).toBeUndefined()
  },
  SLOW_MS,
)

/** Which program shows which certificate to which, and the file of the other in which its authority is. */
const WAYS = [
  ['apiserver', 'client-ca'],
  ['apiserver-kubelet', 'client-ca'],
  ['front-proxy', 'front-proxy'],
  ['apiserver-etcd', 'etcd-server'],
  ['etcd-server', 'apiserver-etcd'],
  ['etcd-peer', 'etcd-peer'],
] as const

/** Programs that start now can reach each other, whatever phase it is. */
async function allVerify(id: string): Promise<readonly string[]> {
  const broken: string[] = []
  for (const [shows, verifies] of WAYS) {
    const [leaf, bundle] = [await fileOf(shows, 'tls.crt', id), await fileOf(verifies, 'ca.crt', id)]
    if (signerPrint(leaf, bundle) === undefined) broken.push(`${verifies} does not trust ${shows}`)
  }
  const [key, ...open] = [
    await fileOf('service-accounts', 'sa.key', id),
    await fileOf('service-accounts', 'sa.pub', id),
  ]
  if (createPublicKey(key).export({ type: 'spki', format: 'pem' }) !== open[0]) broken.push('sa.pub is not of sa.key')
  return broken
}

interface Life {
  readonly client: KubeClient
  readonly isOver: () => boolean
}

/** Dies after the first write that changed something: the answer is lost, and nothing else is done. */
function oneWriteLong(client: KubeClient, versions: Map<string, string>): Life {
  let isOver = false
  const die = (): never => {
    throw new Error('killed')
  }
  const written = async (call: () => Promise<unknown>): Promise<unknown> => {
    const result = await call()
    const { metadata } = result as { readonly metadata?: KubeObject['metadata'] }
    const [uid, version] = [metadata?.uid ?? '', metadata?.resourceVersion ?? '']
    if (uid !== '' && versions.get(uid) === version) return result
    versions.set(uid, version)
    isOver = true
    return die()
  }
  const WRITES = new Set(['create', 'update', 'patch', 'apply', 'delete', 'deleteCollection', 'scale', 'evict'])
  return {
    isOver: () => isOver,
    client: new Proxy(client, {
      get(target, name) {
        const method = Reflect.get(target, name) as unknown
        if (typeof method !== 'function') return method
        const call = method as (...args: readonly unknown[]) => Promise<unknown>
        return (...args: readonly unknown[]) => {
          if (isOver) return Promise.reject(new Error('killed'))
          const made = (): Promise<unknown> => call.apply(target, [...args])
          return WRITES.has(String(name)) ? written(made) : made()
        }
      },
    }),
  }
}

test(
  'with a host that is killed after each of its writes, every authority and key set is rotated once, and programs trust each other at every step',
  async () => {
    const id = 'fleet.killed'
    const first = await until(request(undefined, id), (p) => p.state === 'Running' && p.own !== undefined)
    const before = await sealingKeys(id)
    const declared = { ca: 2, 'service-account': 2, 'etcd-ca': 2, encryption: 2, 'front-proxy-ca': 2 }
    const versions = new Map<string, string>()
    const phases = new Set<string>()
    let [deaths, plane] = [0, first]
    const isDone = ({ own }: ControlPlane): boolean => own?.declared['ca'] === 2 && own.rotations.length === 0
    while (!isDone(plane)) {
      // As agents that follow at once.
      const authorities = authorityPrints(await fileOf('client-ca', 'ca.crt', id))
      const rotation = { declared, agents: [{ machine: 'm-1', authorities, signedBy: plane.own?.signer ?? '' }] }
      const life = oneWriteLong(hub.program, versions)
      const result = await host(life.client)
        .put(request(rotation, id))
        .catch(() => undefined)
      expect(await allVerify(id)).toEqual([])
      if (life.isOver()) deaths += 1
      else await playPods(hub.admin, planeNamespace(id))
      plane = result?.kind === 'Plane' && result.plane.own !== undefined ? result.plane : plane
      for (const { name, phase } of plane.own?.rotations ?? []) phases.add(`${name} ${phase}`)
      if (!life.isOver() && plane.own?.rotations.every(({ waitsFor }) => waitsFor === undefined) === true)
        ahead += plane.own.rotations.some(({ name }) => name === 'ca') ? JOIN_MS : TOKENS_MS
      expect(deaths).toBeLessThan(400)
    }
    expect(deaths).toBeGreaterThan(30)
    expect([...phases].toSorted()).toEqual(
      Object.keys(declared)
        .flatMap((name) => [`${name} Distributing`, `${name} Reissuing`])
        .toSorted(),
    )
    expect(plane.own?.declared).toEqual(declared)
    expect(plane.own?.signer).not.toBe(first.own?.signer)
    for (const [, bundle] of WAYS) expect(certificates(await fileOf(bundle, 'ca.crt', id))).toBe(1)
    const [key, ...others] = await sealingKeys(id)
    expect([key?.name, others, before.map(({ name }) => name)]).toEqual(['key-2', [], ['key-1']])
    expect(key?.secret).not.toBe(before[0]?.secret)
  },
  SLOW_MS,
)

test(
  'the key that encrypts Secrets is replaced once all of them are encrypted again, and the old one stays for the snapshots that need it',
  async () => {
    const id = 'fleet.sealed'
    const declared = { encryption: 2 }
    let answer: Awaited<ReturnType<SealAgain>> = { failed: ['default/a'], why: 'a webhook refused it' }
    const asked = async (): Promise<ControlPlane> => {
      const result = await host(hub.program, async () => answer).put(request({ declared }, id))
      if (result.kind === 'Refused') throw new Error(result.message)
      await playPods(hub.admin, planeNamespace(id))
      return result.plane
    }
    const seen = async (holds: (plane: ControlPlane) => boolean): Promise<ControlPlane> => {
      for (let calls = 0; calls < 80; calls++) {
        const plane = await asked()
        if (holds(plane)) return plane
        ahead += 60_000
      }
      throw new Error('never')
    }
    await until(request(undefined, id), (p) => p.state === 'Running' && p.own !== undefined)
    const snapshot = host().snapshot(id, 'before')
    const playing = setInterval(() => void playPods(hub.admin, planeNamespace(id)).catch(() => undefined), 500)
    await snapshot
    clearInterval(playing)

    const refused = await seen((p) => rotationOf(p, 'encryption')?.waitsFor?.why !== undefined)
    expect(rotationOf(refused, 'encryption')?.waitsFor).toMatchObject({
      what: 'sealed objects',
      missing: ['default/a'],
      why: 'a webhook refused it',
    })
    expect((await sealingKeys(id)).map(({ name }) => name)).toEqual(['key-2', 'key-1'])
    answer = { failed: [] }
    const waiting = await seen((p) => rotationOf(p, 'encryption')?.waitsFor?.what === 'snapshots')
    expect(rotationOf(waiting, 'encryption')?.waitsFor).toMatchObject({ missing: ['before'], seen: 0, of: 1 })
    expect((await sealingKeys(id)).map(({ name }) => name)).toEqual(['key-2', 'key-1'])

    await host().drop(id, ['before'])
    await seen((p) => rotationOf(p, 'encryption') === undefined)
    expect((await sealingKeys(id)).map(({ name }) => name)).toEqual(['key-2'])
  },
  SLOW_MS,
)

test(
  'no rotation begins while a member of etcd is away: the others would restart without it',
  async () => {
    const of = (declared: Readonly<Record<string, number>>): ControlPlaneRequest => ({
      ...request({ declared, agents: [] }, 'fleet.away'),
      shape: { etcd: { members: 3, storage: '1Gi' } },
    })
    const isUp = (p: ControlPlane): boolean => p.state === 'Running' && p.message === undefined && p.own !== undefined
    // The first keys have the numbers that are declared, whatever serves then.
    await until(of({ ca: 4 }), isUp)
    const away: PlayedHub = { away: [0] }
    await until(of({ ca: 4 }), (p) => p.message !== undefined, away)
    const both = of({ ca: 4, 'etcd-ca': 2, encryption: 2 })
    for (let calls = 0; calls < 4; calls++) expect((await put(both, away)).own?.rotations).toEqual([])
    expect((await put(both)).own?.declared).toMatchObject({ ca: 4, 'etcd-ca': 1, encryption: 1 })
    // One that has begun ends, also when a member is away for a while.
    await until(both, (p) => rotationOf(p, 'etcd-ca') !== undefined)
    await put(both, away)
    const over = await until(both, (p) => isUp(p) && p.own?.rotations.length === 0)
    expect(over.own?.declared).toMatchObject({ 'etcd-ca': 2, encryption: 2 })
  },
  SLOW_MS,
)

test(
  'whatever clocks and people do, no key is removed that a snapshot needs, and none is made in place of one that Secrets are encrypted with',
  async () => {
    const id = 'fleet.clocks'
    const asked = (encryption: number) => request({ declared: { encryption }, agents: [] }, id)
    const taken = async (name: string): Promise<void> => {
      const playing = setInterval(() => void playPods(hub.admin, planeNamespace(id)).catch(() => undefined), 500)
      await host().snapshot(id, name)
      clearInterval(playing)
    }
    const keyNames = async () => (await sealingKeys(id)).map(({ name }) => name)
    const isSealed = (p: ControlPlane): boolean => rotationOf(p, 'encryption')?.waitsFor?.what === 'snapshots'
    await until(asked(1), (p) => p.state === 'Running' && p.own !== undefined)
    ahead += 5 * 3_600_000
    await taken('ahead')
    // It was taken before, whatever its time is now.
    ahead -= 5 * 3_600_000
    const waits = await until(asked(2), isSealed)
    expect(rotationOf(waits, 'encryption')?.waitsFor?.missing).toEqual(['ahead'])
    await taken('later')
    for (let calls = 0; calls < 3; calls++) await put(asked(2))
    expect(await keyNames()).toEqual(['key-2', 'key-1'])
    const before = await hub.admin.get(SECRETS, { namespace: planeNamespace(id), name: 'credentials-encryption' })

    await host().drop(id, ['ahead'])
    await until(asked(2), (p) => rotationOf(p, 'encryption') === undefined)
    expect(await keyNames()).toEqual(['key-2'])
    await until(asked(3), isSealed)
    expect(await keyNames()).toEqual(['key-3', 'key-2'])

    // A person puts an older Secret back.
    const current = await hub.admin.get(SECRETS, { namespace: planeNamespace(id), name: 'credentials-encryption' })
    if (before === undefined || current === undefined) throw new Error('no Secret')
    await hub.admin.update(SECRETS, { ...current, ...defined({ data: before.data }) })
    const damaged = await put(asked(3))
    expect(damaged.message).toBe(
      'Secret credentials-encryption lacks key 3, with which Secrets in etcd are encrypted; restore it from a newer backup',
    )
    expect(await keyNames()).toEqual(['key-3', 'key-2'])

    // All Secrets are deleted: no other authority, and no other key, is made for a store that has served.
    const secrets = (await hub.admin.list(SECRETS, { namespace: planeNamespace(id) })).items
    for (const { metadata } of secrets)
      await hub.admin.delete(SECRETS, { namespace: planeNamespace(id), name: metadata.name ?? '' })
    const lost = await put(asked(3))
    expect(lost.message).toMatch(/^Secrets cannot be read, or are missing: credentials-ca, credentials-encryption, /)
    expect((await hub.admin.list(SECRETS, { namespace: planeNamespace(id) })).items).toEqual([])
  },
  SLOW_MS,
)
