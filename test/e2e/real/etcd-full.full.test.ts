// Three real members of etcd that reach a small quota while they run: what the host reports, what it does by itself, and that writes come back.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubernetesHost } from '#controlplanes/kubernetes/host.ts'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import type { ControlPlane, ControlPlaneRequest } from '#controlplanes/port.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { systemClock } from '#lib/system-clock.ts'
import { etcdHostWorld } from '#test/support/worlds/etcd-host-world.ts'
import { REAL_SHAPE, whyNoEtcdHost } from '#test/support/worlds/kubernetes-host-world.ts'

const CASE_MS = 1_200_000
const STEP_MS = 300
const QUOTA = 12 * 2 ** 20
const CHUNK = 1_000_000
const ROOMY = 0.9
/** Members are asked each hour. */
const ASK_MS = 3_700_000
/** And each minute while they are full. */
const FULL_MS = 61_000
const DELETE_MS = 5_000
const NAMESPACE = planeNamespace('fleet.full')

const why = whyNoEtcdHost()

let world: Awaited<ReturnType<typeof etcdHostWorld>> | undefined
beforeAll(async () => {
  if (why === undefined) world = await etcdHostWorld()
})
afterAll(() => world?.close())

const request = (version = '1.35.9'): ControlPlaneRequest => ({
  id: 'fleet.full',
  owner: 'uid-full',
  version,
  shape: {
    ...REAL_SHAPE,
    etcd: { members: 3, storage: '1Gi' },
    extraArgs: { 'etcd.quota-backend-bytes': String(QUOTA) },
  },
  upgrade: { soakMs: 0, walksMinors: false },
})

/** Each call is of another host, as after a kill: all of it is in the record. */
async function passes(
  makeHost: () => KubernetesHost,
  isThere: (plane: ControlPlane) => boolean,
): Promise<ControlPlane> {
  const end = Date.now() + CASE_MS / 3
  for (;;) {
    const result = await makeHost().put(request())
    if (result.kind === 'Refused') throw new Error(result.message)
    const { plane } = result
    if (isThere(plane)) return plane
    if (Date.now() > end) throw new Error(`never: ${JSON.stringify({ ...plane, ca: '' })}`)
    if (plane.store?.isWorthDefragmenting === true)
      await makeHost()
        .defragment(plane.id, plane.store.defragmented + 1)
        .catch(() => undefined)
    await new Promise((later) => setTimeout(later, STEP_MS))
  }
}

const roundsOf = ({ store }: ControlPlane): number => store?.defragmented ?? 0

/** Full of what is needed, or with room after one more time. */
const isSettled =
  (before: number) =>
  ({ store }: ControlPlane): boolean =>
    store?.fullSince === undefined
      ? (store?.defragmented ?? 0) > before
      : !store.isWorthDefragmenting && store.inUseBytes > ROOMY * QUOTA

test(
  'a store that is full is compacted, defragmented and takes writes again; what is needed only a person deletes',
  async (context) => {
    if (why !== undefined) context.skip(`a full etcd: ${why}`)
    if (world === undefined) throw new Error('no world')
    const { host: makeHost, runner, client } = world
    let ahead = 0
    const clock = { ...systemClock, now: () => Date.now() + ahead }
    const host = () => makeHost({ clock })
    try {
      await passes(host, () => runner.running(NAMESPACE).filter((p) => p.startsWith('etcd-')).length === 3)
      await passes(host, ({ message = '' }) => !message.includes('etcd is not ready'))
      const asked = await world.etcdctl(NAMESPACE)
      const etcd = (words: readonly string[], input?: string) => asked(1, words, input)
      let writes = 0
      const write = (key: string) => etcd(['put', key], `${writes++}`.padEnd(CHUNK, 'x'))
      const fill = (keyOf: (n: number) => string): number => {
        for (let n = 0; n < 40; n++)
          try {
            write(keyOf(n))
          } catch (error) {
            expect(String(error)).toContain('database space exceeded')
            return n
          }
        throw new Error('it is never full')
      }

      // One key that is written again and again: old revisions alone fill the store.
      fill(() => 'rewritten')
      ahead += ASK_MS
      const full = await passes(host, (p) => p.store?.fullSince !== undefined)
      expect(full.store).toMatchObject({ quotaBytes: QUOTA, defragmented: 0 })
      const other = await host().put(request('1.36.2'))
      expect(other.kind === 'Plane' ? other.plane.change : other).toBeUndefined()
      let roomy = await passes(host, (p) => p.store?.fullSince === undefined && p.store?.defragmented === 1)
      expect(roomy.store?.bytes).toBeLessThan(QUOTA / 2)
      write('after')
      expect(etcd(['get', 'rewritten', '--print-value-only']).length).toBeGreaterThan(CHUNK)

      // What is needed fills it: nothing is gained by a rewrite, until a person deletes some of it.
      let needed = 0
      let before: number
      let plane: ControlPlane
      do {
        before = roundsOf(roomy)
        fill(() => `needed-${needed++}`)
        ahead += ASK_MS
        plane = await passes(host, isSettled(before))
        roomy = plane
      } while (plane.store?.fullSince === undefined)
      expect(plane.store).toMatchObject({ isWorthDefragmenting: false, defragmented: before })
      expect(() => write('refused')).toThrow('database space exceeded')
      // One after the other: etcd counts pages that a compaction freed only once something else was written.
      let [deleted, last] = [0, 0]
      ahead += ASK_MS
      await passes(host, (p) => {
        if (p.store?.fullSince !== undefined && deleted < needed && Date.now() - last > DELETE_MS) {
          last = Date.now()
          etcd(['del', `needed-${deleted++}`])
          ahead += FULL_MS
        }
        return p.store?.fullSince === undefined && roundsOf(p) === before + 1
      })
      write('at-last')
      expect(etcd(['alarm', 'list'])).toBe('')
      const jobs = (await client.list(coreKind('Job'), { namespace: NAMESPACE })).items
      expect(jobs.filter((j) => j.metadata.deletionTimestamp === undefined)).toEqual([])
    } catch (error) {
      throw new Error(`${String(error)}\n${String(runner.problem)}\n${runner.tail()}`, { cause: error })
    }
  },
  CASE_MS,
)
