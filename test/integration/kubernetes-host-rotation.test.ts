// Rotation of a control plane of Kubernetes programs on a hub with the shipped rights: each phase waits until all programs run with what the phase before gave them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FIELD_MANAGERS, programUser } from '#api/names.ts'
import { KubernetesHost } from '#controlplanes/kubernetes/host.ts'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import type { ControlPlane, ControlPlaneRequest, RotationRequest } from '#controlplanes/port.ts'
import { authorityPrints } from '#identity/authority-prints.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { systemClock } from '#lib/clock.ts'
import { ALL_WELL, REAL_VERSIONS } from '#test/support/worlds/kubernetes-host-world.ts'
import { OPENED_LOG, playPods, type PlayedHub } from '#test/support/worlds/played-pods.ts'
import { shippedHub } from '#test/support/worlds/shipped-hub.ts'

const SLOW_MS = 300_000
const DAY_MS = 86_400_000
/** Longer than hosts may take to join, and than the tokens of the old key live. */
const [JOIN_MS, TOKENS_MS] = [16 * 60_000, 367 * DAY_MS]
const ID = 'fleet.rotated'
const NAMESPACE = planeNamespace(ID)
const SECRETS = coreKind('Secret')

let hub: Awaited<ReturnType<typeof shippedHub>>
beforeAll(async () => {
  hub = await shippedHub()
})
afterAll(() => hub.close())

let ahead = 0
/** Another one for each call, as after a kill. */
const host = (): KubernetesHost =>
  new KubernetesHost({
    client: hub.program,
    fieldManager: FIELD_MANAGERS.cluster,
    clock: { ...systemClock, now: () => Date.now() + ahead },
    versions: () => REAL_VERSIONS,
    access: [{ kind: 'User', name: programUser('cluster') }],
    readLog: async () => OPENED_LOG,
    readings: async () => ALL_WELL,
    withinMs: 20_000,
  })

const request = (rotation?: RotationRequest, version = '1.35.9'): ControlPlaneRequest => ({
  id: ID,
  owner: 'uid-rotated',
  version,
  upgrade: { soakMs: 3_600_000, walksMinors: false },
  ...(rotation !== undefined && { rotation }),
})

async function put(of: ControlPlaneRequest, played: PlayedHub | undefined = {}): Promise<ControlPlane> {
  const result = await host().put(of)
  if (result.kind === 'Refused') throw new Error(result.message)
  if (played !== undefined) await playPods(hub.admin, NAMESPACE, played)
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

const fileOf = async (secret: string, file: string): Promise<string> => {
  const data = (await hub.admin.get(SECRETS, { namespace: NAMESPACE, name: secret }))?.['data']
  return Buffer.from((data as Readonly<Record<string, string>>)[file] ?? '', 'base64').toString()
}
const rotationOf = ({ own }: ControlPlane, name: string) => own?.rotations.find((r) => r.name === name)
const certificates = (pem: string): number => pem.match(/BEGIN CERTIFICATE/g)?.length ?? 0

test(
  'an authority and the keys of service accounts are rotated once, in phases that wait for all programs, agents and tokens',
  async () => {
    const first = await until(request(), (p) => p.state === 'Running' && p.own !== undefined)
    expect(first.own).toMatchObject({ declared: { ca: 1, 'service-account': 1 }, rotations: [] })
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
    expect(done.own?.declared).toEqual(declared)
    await expect(fileOf('service-accounts', 'sa-old-0.pub')).resolves.toBe('')
    // What was asked for once is done once.
    for (let calls = 0; calls < 3; calls++) expect(rotationOf(await put(renewed), 'ca')).toBeUndefined()
  },
  SLOW_MS,
)
