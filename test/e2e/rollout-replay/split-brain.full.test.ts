// Two processes of a role, the first of which is stopped in the middle of a rollout for longer than its leadership lasts and then resumes as if nothing had
// happened: whatever it still believes, no action is repeated and no machine too many is disrupted.
import { existsSync, readFileSync } from 'node:fs'
import { kill } from 'node:process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mkdirSync } from 'node:fs'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { holderOf, leaseType } from '#runtime/lease.ts'
import { ProcessCluster, until } from './cluster.ts'
import { Observer } from './observer.ts'
import { COMPONENT, SET, plantFleet } from './planted-fleet.ts'

const MACHINES = 40
const LIMIT = 4
/** A busy machine takes minutes for what an idle one does in seconds. */
const WITHIN_MS = 200_000

const cluster = new ProcessCluster()
const stop = new AbortController()
const observer = new Observer(LIMIT)
const first: Partial<Record<Role, number>> = {}
type Role = 'controllers' | 'defender'

const status = async () => {
  const set = await cluster.client.get(machineComponentSet, { name: SET })
  return set?.status?.observedGeneration === set?.metadata.generation ? set?.status : undefined
}
const declare = (version: string) =>
  cluster.client.patch(
    machineComponentSet,
    { name: SET },
    { type: 'merge', value: { spec: { components: [{ name: COMPONENT, version }] } } },
  )
const leaderOf = async (role: Role) => {
  const lease = await cluster.client.get(leaseType, { namespace: SYSTEM_NAMESPACE, name: `kubenode-${role}` })
  return lease && holderOf(lease)
}
/** Stopped, dead or waiting to be buried, as the kernel says. */
const isGone = (pid: number): boolean =>
  !existsSync(`/proc/${pid}`) || / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').split(')').at(-1) ?? '')

beforeAll(async () => {
  await cluster.start()
  const { client, hollowDir } = cluster
  mkdirSync(`${hollowDir}/hosts`, { recursive: true })
  await plantFleet({ client, hollowDir, count: MACHINES, settle: '500ms', maxUnavailable: LIMIT })
  first.controllers = cluster.run('controllers')
  first.defender = cluster.run('defender')
  const isRested = (s: Awaited<ReturnType<typeof status>>) => s?.phase === 'Complete' && s.counts?.healthy === MACHINES
  await until('rest', status, isRested, WITHIN_MS)
  observer.run(client, stop.signal).catch(() => undefined)
}, 300_000)

afterAll(async () => {
  stop.abort()
  // A stopped process does not hear that it is to end.
  for (const pid of Object.values(first)) if (!isGone(pid)) kill(pid, 'SIGKILL')
  await cluster.stop()
})

describe('F15 a leader that is stopped past its lease and goes on', () => {
  test.each([
    ['controllers', '1.1.0', 2],
    ['defender', '1.0.0', 3],
  ] as const)(
    'as %s does nothing twice and disturbs no machine too many',
    async (role, version, attempt) => {
      const { client } = cluster
      const pid = first[role] ?? 0
      const leader = await leaderOf(role)
      expect(leader).toBeDefined()
      cluster.runBeside(role)
      await declare(version)
      await until(
        'the first machines',
        async () => observer.updated(version),
        (n) => n >= 6,
        WITHIN_MS,
      )
      kill(pid, 'SIGSTOP')
      const next = await until(
        'the next leader',
        () => leaderOf(role),
        (l) => l !== undefined && l !== leader,
        WITHIN_MS,
      )
      const before = observer.updated(version)
      await until(
        'the rollout to go on',
        async () => observer.updated(version),
        (n) => n > before,
        WITHIN_MS,
      )
      kill(pid, 'SIGCONT')
      await until('the end', status, (s) => s?.phase === 'Complete' && s.counts?.updated === MACHINES, WITHIN_MS)
      // It notices that it no longer leads, and exits so that its supervisor restarts it.
      await until(
        'its end',
        async () => isGone(pid),
        (gone) => gone,
        WITHIN_MS,
      )
      expect(await leaderOf(role)).toBe(next)

      expect(observer.violations).toBe(0)
      const machines = (await client.list(machineType)).items
      expect(machines.map((m) => m.spec.components?.[0])).toEqual(
        machines.map(() => expect.objectContaining({ version, attempt })),
      )
      const permits = (await client.list(operationPermit)).items.filter((p) => p.spec.component?.version === version)
      const succeeded = permits.flatMap((p) =>
        Object.entries(p.spec.results ?? {}).filter(([, r]) => r === 'Succeeded'),
      )
      expect(succeeded.map(([uid]) => uid).toSorted()).toEqual(machines.map((m) => m.metadata.uid ?? '').toSorted())
    },
    900_000,
  )
})
