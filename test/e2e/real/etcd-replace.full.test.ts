// A real member of etcd that loses its volume: it is named, replaced step by step with another host after each, and no write that was acknowledged is lost.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubernetesHost } from '#controlplanes/kubernetes/host.ts'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import type { ControlPlane, ControlPlaneRequest } from '#controlplanes/port.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { etcdHostWorld } from '#test/support/worlds/etcd-host-world.ts'
import { REAL_SHAPE, whyNoEtcdHost } from '#test/support/worlds/kubernetes-host-world.ts'

const CASE_MS = 900_000
const WITHIN_MS = 400_000
const STEP_MS = 200
const NAMESPACE = planeNamespace('fleet.members')
const [PODS, CLAIMS, JOBS] = [coreKind('Pod'), coreKind('PersistentVolumeClaim'), coreKind('Job')]

const why = whyNoEtcdHost()

let world: Awaited<ReturnType<typeof etcdHostWorld>> | undefined
beforeAll(async () => {
  if (why === undefined) world = await etcdHostWorld()
})
afterAll(() => world?.close())

const request: ControlPlaneRequest = {
  id: 'fleet.members',
  owner: 'uid-members',
  version: '1.35.9',
  shape: { ...REAL_SHAPE, etcd: { members: 3, storage: '1Gi' } },
  upgrade: { soakMs: 0, walksMinors: false },
}

/** Each call is of another host, as after a kill: all of it is in the record. */
async function passes(host: () => KubernetesHost, isThere: (plane: ControlPlane) => boolean): Promise<ControlPlane> {
  const end = Date.now() + WITHIN_MS
  for (;;) {
    const result = await host().put(request)
    if (result.kind === 'Refused') throw new Error(result.message)
    if (isThere(result.plane)) return result.plane
    if (Date.now() > end) throw new Error(`never: ${JSON.stringify({ ...result.plane, ca: '' })}`)
    await new Promise((later) => setTimeout(later, STEP_MS))
  }
}

test(
  'a member whose volume is lost is removed, added and filled by the others, one after the other',
  async (context) => {
    if (why !== undefined) context.skip(`a replaced member of etcd: ${why}`)
    if (world === undefined) throw new Error('no world')
    const { host, runner, client } = world
    const isWhole = ({ message = '' }: ControlPlane) => !message.includes('etcd is not ready')
    try {
      await passes(host, () => runner.running(NAMESPACE).filter((p) => p.startsWith('etcd-')).length === 3)
      await passes(host, isWhole)
      const etcd = await world.etcdctl(NAMESPACE)
      const numbers = () =>
        Object.fromEntries(
          etcd(0, ['member', 'list'])
            .trim()
            .split('\n')
            .map((line) => line.split(', '))
            .map(([id = '', , name = '']) => [name, id]),
        )
      const before = numbers()
      let writes = 0
      const write = (member: number) => etcd(member, ['put', `acknowledged-${writes}`, `${writes++}`])
      // More than a rejoined member could be given without a snapshot is not needed: all of it counts.
      for (let n = 0; n < 20; n++) write(n % 3)

      // Which is the leader, and which the lost one, is left to chance.
      for (const name of ['data-etcd-2']) await client.delete(CLAIMS, { namespace: NAMESPACE, name })
      await client.delete(PODS, { namespace: NAMESPACE, name: 'etcd-2' })
      const { members } = await passes(host, (plane) => plane.members?.lost !== undefined)
      expect(members?.lost).toMatchObject({ name: 'etcd-2', why: expect.stringContaining('member count is unequal') })
      write(0)

      const steps = new Set<string>()
      const end = Date.now() + WITHIN_MS
      for (let isDone = false; !isDone;) {
        isDone = await host()
          .replaceMember(request.id, 1)
          .then(
            () => true,
            (error: Error) => {
              steps.add(error.message.replace(/Job \S+ /, '').replace(/: .*?: /, ': '))
              return false
            },
          )
        write(writes % 2)
        if (Date.now() > end) throw new Error(`never: ${[...steps].join(' | ')}`)
      }
      const plane = await passes(host, isWhole)
      expect(plane.members).toEqual({ replaced: 1 })
      const after = numbers()
      expect(Object.keys(after).toSorted()).toEqual(['etcd-0', 'etcd-1', 'etcd-2'])
      expect([after['etcd-0'], after['etcd-1']]).toEqual([before['etcd-0'], before['etcd-1']])
      expect(after['etcd-2']).not.toBe(before['etcd-2'])
      write(2)
      const found = etcd(2, ['get', '--prefix', 'acknowledged-', '--keys-only', '--consistency=s'])
      expect(found.split('\n').filter((line) => line !== '')).toHaveLength(writes)
      const jobs = (await client.list(JOBS, { namespace: NAMESPACE })).items
      expect(jobs.filter((j) => j.metadata.deletionTimestamp === undefined)).toEqual([])
      expect([...steps].join(' | ')).toMatch(
        /member list.*member remove.*member add.*volume claim data-etcd-2.*may start/s,
      )
    } catch (error) {
      throw new Error(`${String(error)}\n${String(runner.problem)}\n${runner.tail()}`, { cause: error })
    }
  },
  CASE_MS,
)
