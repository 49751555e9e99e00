// Programs of a Cluster go from the hub into the cluster and back, with real processes on both sides and the controller killed on the way: they lead all the
// time, and never two at once. A cluster that loses its nodes gives them back to the hub.
import { afterEach, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { HOSTED_PROGRAMS, hostedNamespace, programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { findCondition } from '#kube/conditions.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { leaseType } from '#runtime/lease.ts'
import { hostedWorld, type HostedWorld, logOf, type Replica } from '#test/support/worlds/hosted-world.ts'
import { insidePrograms, type InsidePrograms } from '#test/support/worlds/inside-programs.ts'

const TIMEOUT_MS = 300_000
const ID = 'kubenode-system.one'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Story {
  readonly w: HostedWorld
  readonly member: HttpKubeClient
  readonly inside: InsidePrograms
  readonly replicas: readonly Replica[]
  /** Of condition ProgramsReady, since it was True for the first time. */
  readonly seen: string[]
  readonly until: (what: string, holds: (cluster: Cluster) => boolean | Promise<boolean>) => Promise<void>
}

/** A Cluster whose programs run on the hub. */
async function begun(): Promise<Story> {
  const w = await hostedWorld()
  closing.push(() => w.close())
  await w.declare('one')
  await w.untilPhase('one', 'Ready')
  const replicas: Replica[] = []
  for (const program of HOSTED_PROGRAMS) replicas.push(await w.replica(program))
  const admin = { user: 'test', groups: ['system:masters'], lifeMs: 3_600_000 }
  const member = new HttpKubeClient(parseSafeKubeconfig((await w.host.kubeconfig(ID, admin)) ?? '', 'test').config)
  closing.push(async () => member.close())
  const inside = await insidePrograms(w, member, ID)
  closing.push(() => inside.close())
  const seen: string[] = []
  const until: Story['until'] = async (what, holds) => {
    let last: Cluster | undefined
    const check = async (): Promise<boolean> => {
      last = await w.get('one')
      const is = findCondition(last?.status?.conditions, 'ProgramsReady')?.status ?? 'none'
      if ((seen.length > 0 || is === 'True') && seen.at(-1) !== is) seen.push(is)
      return last !== undefined && (await holds(last))
    }
    await w.until(what, check).catch((error: unknown) => {
      const { programs, waitingFor, conditions } = last?.status ?? {}
      throw new Error(
        `${String(error)}: ${JSON.stringify([last?.spec.programs, programs, waitingFor, conditions, inside.replicas.flatMap(logOf).slice(-5)], null, 1)}`,
      )
    })
  }
  await until(
    'they lead from the hub',
    ({ status }) => findCondition(status?.conditions, 'ProgramsReady')?.status === 'True',
  )
  return { w, member, inside, replicas, seen, until }
}

const messageOf = ({ status }: Cluster): string => findCondition(status?.conditions, 'ProgramsReady')?.message ?? ''
const placeOf = ({ status }: Cluster): string | undefined => status?.programs?.place

const holders = ({ member }: Story): Promise<readonly string[]> =>
  Promise.all(
    HOSTED_PROGRAMS.map(async (program) => {
      const key = { namespace: SYSTEM_NAMESPACE, name: programLeaseName(program) }
      return (await member.get(leaseType, key))?.spec?.holderIdentity ?? ''
    }),
  )

/** Terms of one program, of whichever side: none begins before the one before it has ended. */
function expectOneLeader({ replicas, inside }: Story): void {
  for (const program of HOSTED_PROGRAMS) {
    const lines = [...replicas, ...inside.replicas]
      .flatMap(logOf)
      .filter((l) => (l as { role?: string }).role === program)
    const elected = lines.filter((l) => l.message === 'elected')
    expect(elected.length).toBeGreaterThan(1)
    const terms = elected
      .map(({ time, replica }) => {
        const end = lines.find((l) => l.replica === replica && l.message === 'leadership ended' && l.time >= time)
        return { from: Date.parse(time), to: end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end.time) }
      })
      .toSorted((a, b) => a.from - b.from)
    for (const [n, { from }] of terms.entries())
      if (n > 0) expect(terms[n - 1]?.to, `${program}: ${JSON.stringify(terms)}`).toBeLessThanOrEqual(from)
  }
}

test(
  'they go into the cluster once it has nodes, and back to the hub when a commit says so: always led, never twice',
  { timeout: TIMEOUT_MS },
  async () => {
    const story = await begun()
    const { w, inside, seen, until } = story
    await w.declare('one', { programs: 'Cluster' })
    await until('they are deployed, and the hub goes on', async (cluster) => {
      return (await inside.deployments()).size === HOSTED_PROGRAMS.length && messageOf(cluster).includes('available')
    })
    const before = await holders(story)
    // Killed while it waits: the next one continues.
    await w.stopController()
    await inside.nodes('There')
    await w.startController()
    await until('they run in the cluster', (cluster) => placeOf(cluster) === 'Cluster')
    await until('they lead there', async (cluster) => {
      const now = await holders(story)
      return now.every((h, n) => h !== '' && h !== before[n]) && messageOf(cluster).endsWith('from pods in it')
    })
    for (const program of HOSTED_PROGRAMS)
      await until(`the hub runs no ${program}`, async () => [...(await w.hosts(program)).values()].flat().length === 0)
    // Ready to come back.
    for (const program of HOSTED_PROGRAMS)
      expect(
        await w.admin.get(coreKind('Secret'), { namespace: hostedNamespace(program), name: 'cluster-one' }),
      ).toBeDefined()
    const there = await holders(story)
    await w.declare('one', { programs: 'Hub' })
    await until('the hand-over is recorded', (cluster) => placeOf(cluster) !== 'Cluster')
    await w.stopController()
    await w.startController()
    await until('nothing of them is left in the cluster', async (cluster) => {
      return cluster.status?.programs === undefined && (await inside.deployments()).size === 0
    })
    await until('they lead from the hub', async (cluster) => {
      const now = await holders(story)
      const areLed = findCondition(cluster.status?.conditions, 'ProgramsReady')?.status === 'True'
      return areLed && now.every((h, n) => h !== '' && h !== there[n])
    })
    expectOneLeader(story)
    expect(seen).toEqual(['True'])
  },
)
