// The key that encrypts Secrets is replaced on real programs: etcd has none of them under the old key, all can be read, also after a restore of a snapshot that
// the old key sealed, and a control plane that is made again over a snapshot that was kept can open it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import { sealAgainWith } from '#controlplanes/kubernetes/reseal.ts'
import { NotYet, type ControlPlane, type ControlPlaneRequest } from '#controlplanes/port.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { systemClock } from '#lib/system-clock.ts'
import { etcdctlOf } from '#test/support/worlds/etcd-host-world.ts'
import { kubernetesHostWorld, REAL_SHAPE, whyNoHost } from '#test/support/worlds/kubernetes-host-world.ts'

const CHAPTER_MS = 900_000
/** Of one change of the programs. */
const STEP_MS = 180_000
const ID = 'fleet.encrypted'
const OWNER = 'uid-encrypted'
const SECRETS = coreKind('Secret')
/** More than one page of names. */
const MANY = 620
const why = whyNoHost()

let world: Awaited<ReturnType<typeof kubernetesHostWorld>> | undefined
const folder = mkdtempSync(join(tmpdir(), 'kubenode-encryption-'))
beforeAll(async () => {
  if (why === undefined) world = await kubernetesHostWorld()
})
afterAll(async () => {
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

const request = (encryption: number): ControlPlaneRequest => ({
  id: ID,
  owner: OWNER,
  version: '1.36.2',
  shape: REAL_SHAPE,
  upgrade: { soakMs: 1_000, walksMinors: false },
  rotation: { declared: { encryption }, agents: [] },
})

test(
  'all Secrets have the new key, and what the old one sealed is never lost',
  async (context) => {
    if (why !== undefined) context.skip(`the host of Kubernetes control planes: ${why}`)
    if (world === undefined) throw new Error('no world')
    const { runner } = world
    const connect = (config: ConstructorParameters<typeof HttpKubeClient>[0]) => new HttpKubeClient(config)
    const host = world.host({ sealAgain: sealAgainWith({ connect }) })
    const until = async (number: number, holds: (plane: ControlPlane) => boolean): Promise<ControlPlane> => {
      const end = Date.now() + STEP_MS
      for (;;) {
        const result = await host.put(request(number))
        if (result.kind === 'Refused') throw new Error(result.message)
        if (runner.problem !== undefined) throw new Error(`${String(runner.problem)}\n${runner.tail()}`)
        if (holds(result.plane)) return result.plane
        if (Date.now() > end) throw new Error(`never: ${JSON.stringify({ ...result.plane, ca: '' })}\n${runner.tail()}`)
        await systemClock.sleep(300)
      }
    }
    /** As a controller does. */
    const again = async <T>(call: () => Promise<T>): Promise<T> => {
      for (;;)
        try {
          return await call()
        } catch (error) {
          if (!(error instanceof NotYet)) throw error
        }
    }
    const isSettled = ({ state, own, message }: ControlPlane): boolean =>
      state === 'Running' && message === undefined && own?.rotations.length === 0
    const asAdmin = async <T>(work: (client: HttpKubeClient) => Promise<T>): Promise<T> => {
      const identity = { user: 'test', groups: ['system:masters'], lifeMs: CHAPTER_MS }
      const client = new HttpKubeClient(parseSafeKubeconfig((await host.kubeconfig(ID, identity)) ?? '', ID).config)
      try {
        return await work(client)
      } finally {
        client.close()
      }
    }
    const secretNamed = (name: string, value: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: 'default' },
      data: { value: Buffer.from(value).toString('base64') },
    })
    const valueOf = (name: string) =>
      asAdmin(async (client) => {
        const data = (await client.get(SECRETS, { namespace: 'default', name }))?.['data']
        return Buffer.from(data?.['value'] ?? '', 'base64').toString()
      })
    /** How many values of etcd each key sealed. */
    const sealedWith = async (): Promise<Readonly<Record<string, number>>> => {
      const ask = await etcdctlOf(world as NonNullable<typeof world>, planeNamespace(ID), folder)
      const { kvs } = JSON.parse(ask(0, ['get', '/registry/secrets/', '--prefix', '-w', 'json'])) as {
        readonly kvs: readonly { readonly value: string }[]
      }
      const counts: Record<string, number> = {}
      for (const { value } of kvs) {
        const [, key = 'none'] =
          /^k8s:enc:secretbox:v1:([^:]+):/.exec(Buffer.from(value, 'base64').toString('latin1')) ?? []
        counts[key] = (counts[key] ?? 0) + 1
      }
      return counts
    }

    await until(1, isSettled)
    await asAdmin(async (client) => {
      for (let n = 0; n < MANY; n++) await client.create(SECRETS, secretNamed(`s-${n}`, `value ${n}`))
      await client.create(SECRETS, { ...secretNamed('fixed', 'never changes'), immutable: true })
    })
    expect(Object.keys(await sealedWith())).toEqual(['key-1'])
    await again(() => host.snapshot(ID, 'before'))

    const waiting = await until(2, (p) => p.own?.rotations[0]?.waitsFor?.what === 'snapshots')
    expect(waiting.own?.rotations[0]).toMatchObject({ phase: 'Reissuing', waitsFor: { missing: ['before'] } })
    expect(await sealedWith()).toEqual({ 'key-2': MANY + 1 })
    expect(await valueOf('s-619')).toBe('value 619')

    // What comes back is sealed with the old key, and is sealed again.
    await again(() => host.restore(ID, { snapshot: 'before', token: 'first' }))
    await until(2, (p) => p.own?.rotations[0]?.waitsFor?.what === 'snapshots')
    expect(await sealedWith()).toEqual({ 'key-2': MANY + 1 })
    expect(await valueOf('fixed')).toBe('never changes')

    await host.drop(ID, ['before'])
    await until(2, isSettled)
    expect(await valueOf('s-0')).toBe('value 0')
    await asAdmin((client) => client.create(SECRETS, secretNamed('later', 'also')))

    await again(() => host.snapshot(ID, 'last'))
    await again(() => host.delete(ID, { owner: OWNER, keep: 'last' }))
    await until(2, isSettled)
    await again(() => host.restore(ID, { snapshot: 'last', token: 'second' }))
    await until(2, isSettled)
    expect([await valueOf('later'), await valueOf('s-7')]).toEqual(['also', 'value 7'])
  },
  CHAPTER_MS,
)
