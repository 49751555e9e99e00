// The life of one control plane on real programs under a writer of fifty writes a second: the version of the next minor, back before the edge, over the edge, every
// authority and key replaced, and a snapshot restored. With KUBEBUILDER_ASSETS_BEFORE the older minor is its own programs, else the same ones by emulation.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import { readingsOf } from '#controlplanes/kubernetes/readings.ts'
import { sealAgainWith, type SealAgain } from '#controlplanes/kubernetes/reseal.ts'
import { NotYet, type ControlPlane, type ControlPlaneRequest } from '#controlplanes/port.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { systemClock } from '#lib/system-clock.ts'
import { kubernetesHostWorld, REAL_SHAPE, whyNoHost } from '#test/support/worlds/kubernetes-host-world.ts'

const CHAPTER_MS = 3_600_000
/** Of one change of the programs. */
const STEP_MS = 600_000
const DAY_MS = 86_400_000
/** Longer than hosts may take to join. */
const JOIN_MS = 16 * 60_000
const EVERY_MS = 20
const ID = 'fleet.life'
const CONFIG_MAPS = coreKind('ConfigMap')
const why = whyNoHost()
const connect = (config: ConstructorParameters<typeof HttpKubeClient>[0]) => new HttpKubeClient(config)

/** Certificates that the host makes for itself would have expired by the clock of the programs. */
const longer =
  (kubeconfig: Parameters<SealAgain>[0]['kubeconfig']): typeof kubeconfig =>
  (identity) =>
    kubeconfig({ ...identity, lifeMs: DAY_MS })

let world: Awaited<ReturnType<typeof kubernetesHostWorld>> | undefined
beforeAll(async () => {
  if (why === undefined) world = await kubernetesHostWorld()
})
afterAll(() => world?.close())

test(
  'upgrade, way back, edge, new keys and a restore, and no write fails twice',
  async (context) => {
    if (why !== undefined) context.skip(`the host of Kubernetes control planes: ${why}`)
    if (world === undefined) throw new Error('no world')
    const { runner, client: hub } = world
    // Certificates must not be of the future of the programs, whose clock stays: it begins behind and ends as theirs.
    let ahead = -3 * JOIN_MS
    const host = world.host({
      readings: (of) => readingsOf({ hub, connect })({ ...of, kubeconfig: longer(of.kubeconfig) }),
      sealAgain: (of) => sealAgainWith({ connect })({ ...of, kubeconfig: longer(of.kubeconfig) }),
      clock: { ...systemClock, now: () => Date.now() + ahead },
    })
    const request = (version: string, more: Partial<ControlPlaneRequest> = {}): ControlPlaneRequest => ({
      id: ID,
      owner: 'uid-life',
      version,
      shape: { ...REAL_SHAPE, replicas: 2, etcd: { members: 3, storage: '1Gi' } },
      upgrade: { soakMs: 5_000, walksMinors: false },
      ...more,
    })
    const seen = new Set<string>()
    const until = async (of: ControlPlaneRequest, holds: (plane: ControlPlane) => boolean): Promise<ControlPlane> => {
      const end = Date.now() + STEP_MS
      for (;;) {
        const result = await host.put(of)
        if (result.kind === 'Refused') throw new Error(`${result.message}\n${runner.tail()}`)
        const { plane } = result
        if (plane.change !== undefined) seen.add(plane.change.message)
        if (runner.problem !== undefined) throw new Error(`${String(runner.problem)}\n${runner.tail()}`)
        if (holds(plane)) return plane
        if (Date.now() > end) throw new Error(`never: ${JSON.stringify({ ...plane, ca: '' })}\n${runner.tail()}`)
        await systemClock.sleep(300)
      }
    }
    const again = async <T>(call: () => Promise<T>): Promise<T> => {
      for (;;)
        try {
          return await call()
        } catch (error) {
          if (!(error instanceof NotYet)) throw error
        }
    }
    const isCalm = ({ state, message, change, own }: ControlPlane): boolean =>
      state === 'Running' && message === undefined && change === undefined && own !== undefined
    const runs = (version: string) => (plane: ControlPlane) => isCalm(plane) && plane.version === version
    const newClient = async (): Promise<HttpKubeClient> => {
      const identity = { user: 'writer', groups: ['system:masters'], lifeMs: DAY_MS }
      return connect(parseSafeKubeconfig((await host.kubeconfig(ID, identity)) ?? '', ID).config)
    }

    // The hub has room.
    const allocatable = { cpu: '64', memory: '256Gi', pods: '500' }
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'hub-1' }, status: { allocatable } }
    await hub.create(coreKind('Node'), node)
    await until(request('1.35.9'), runs('1.35.9'))

    const writer = new Writer(await newClient())
    const writing = writer.run()
    try {
      // The first step, and back from it.
      const soaks = (plane: ControlPlane): boolean => /soak/i.test(plane.change?.message ?? '')
      const slow = request('1.36.2', { upgrade: { soakMs: DAY_MS, walksMinors: false } })
      const soaking = await until(slow, soaks)
      expect(soaking.change?.wayBack).toBe('Programs')
      const began = Date.now()
      await until(request('1.35.9'), runs('1.35.9'))
      const backMs = Date.now() - began
      writer.mustHaveLostNothing('on the way back')

      // Over the edge.
      await until(request('1.36.2'), runs('1.36.2'))
      writer.mustHaveLostNothing('over the edge')

      // Every key, while clients follow.
      const before = await until(request('1.36.2'), isCalm)
      const declared = { ca: 2, 'service-account': 2, 'etcd-ca': 2, encryption: 2, 'front-proxy-ca': 2 }
      const names = Object.keys(declared)
      let trusted = before.ca
      const rotated = request('1.36.2', { rotation: { declared, agents: [] } })
      const isOver = ({ own }: ControlPlane): boolean =>
        own?.declared['ca'] === 2 && own.rotations.every(({ name }) => name === 'service-account')
      for (const end = Date.now() + STEP_MS * 2; ;) {
        const plane = await until(rotated, () => true)
        for (const { name, phase } of plane.own?.rotations ?? []) seen.add(`${name} ${phase}`)
        if (isOver(plane) && isCalm(plane)) break
        if (plane.ca !== trusted && plane.ca !== '') {
          trusted = plane.ca
          writer.use(await newClient())
        }
        const waits = plane.own?.rotations.find(({ name }) => name === 'ca')
        if (waits !== undefined && waits.waitsFor === undefined) {
          // Certificates of the new authority come before the old one is removed.
          writer.use(await newClient())
          ahead += JOIN_MS
        }
        const snapshot = plane.own?.rotations.find(({ waitsFor }) => waitsFor?.what === 'snapshots')
        if (snapshot !== undefined) await host.drop(ID, snapshot.waitsFor?.missing ?? [])
        if (Date.now() > end) throw new Error(`never: ${JSON.stringify(plane.own)}`)
        await systemClock.sleep(300)
      }
      for (const name of names) expect([...seen]).toContain(`${name} Reissuing`)
      writer.mustHaveLostNothing('while keys were replaced')

      writer.stop()
      await writing
      const client = await newClient()
      const all = async () =>
        (await client.list(CONFIG_MAPS, { namespace: 'default', labelSelector: 'writer=1' })).items
      expect((await all()).map(({ metadata }) => metadata.name ?? '').toSorted()).toEqual(writer.written.toSorted())

      // A restore brings back exactly what there was.
      await again(() => host.snapshot(ID, 'kept'))
      const kept = (await all()).length
      await client.create(CONFIG_MAPS, configMap('after'))
      await client.delete(CONFIG_MAPS, { namespace: 'default', name: writer.written[0] ?? '' })
      client.close()
      await again(() => host.restore(ID, { snapshot: 'kept', token: 'one' }))
      await until(rotated, isCalm)
      const later = await newClient()
      const { items } = await later.list(CONFIG_MAPS, { namespace: 'default', labelSelector: 'writer=1' })
      later.close()
      expect(items.length).toBe(kept)
      expect(items.map(({ metadata }) => metadata.name)).not.toContain('after')
      process.stderr.write(
        `life of a control plane: ${writer.written.length} writes, ${writer.retried} retried once; back from the first step in ${backMs} ms\n`,
      )
    } finally {
      writer.stop()
      await writing
      await again(() => host.delete(ID, { owner: 'uid-life' }))
      expect(runner.running(planeNamespace(ID))).toEqual([])
    }
  },
  CHAPTER_MS,
)

const configMap = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', labels: { writer: '1' } },
})

/** Each write is tried twice at most, the second time after a moment, as every client of Kubernetes does. */
class Writer {
  readonly written: string[] = []
  readonly #lost: string[] = []
  retried = 0
  #client: HttpKubeClient
  #isOver = false

  constructor(client: HttpKubeClient) {
    this.#client = client
  }

  use(client: HttpKubeClient): void {
    const before = this.#client
    this.#client = client
    setTimeout(() => before.close(), 5_000).unref()
  }

  mustHaveLostNothing(when: string): void {
    expect(this.#lost, when).toEqual([])
    expect(this.written.length).toBeGreaterThan(50)
  }

  stop(): void {
    this.#isOver = true
  }

  async run(): Promise<void> {
    const running = new Set<Promise<void>>()
    for (let n = 0; !this.#isOver; n++) {
      const one = this.#write(`w-${n}`).finally(() => running.delete(one))
      running.add(one)
      await systemClock.sleep(EVERY_MS)
    }
    await Promise.all(running)
    this.#client.close()
  }

  async #write(name: string): Promise<void> {
    const [write, options] = [configMap(name), { fieldManager: 'writer', force: true }]
    try {
      await this.#client.apply(CONFIG_MAPS, write, options)
      this.written.push(name)
    } catch (first) {
      await systemClock.sleep(1_000)
      this.retried += 1
      try {
        await this.#client.apply(CONFIG_MAPS, write, options)
        this.written.push(name)
      } catch (second) {
        this.#lost.push(`${name}: ${String(first)}; ${String(second)}`)
      }
    }
  }
}
