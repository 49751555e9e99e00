// The programs of Clusters as processes of the hub: each Cluster gets all of it, two replicas share the Clusters, and a replica that is killed leaves none without.
import { afterEach, describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { HOSTED_PROGRAMS, hostedNamespace, SYSTEM_NAMESPACE } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { findCondition } from '#kube/conditions.ts'
import { leaseType } from '#runtime/lease.ts'
import { planeClient } from '#test/support/servers/plane-client.ts'
import { hostedWorld, type HostedWorld, logOf, type Replica } from '#test/support/worlds/hosted-world.ts'

const secrets = coreKind('Secret')

let world: HostedWorld | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

const programsOf = (cluster: Cluster | undefined) => findCondition(cluster?.status?.conditions, 'ProgramsReady')

async function memberOf(w: HostedWorld, name: string): Promise<HttpKubeClient> {
  const identity = { user: 'test', groups: ['system:masters'], lifeMs: 3_600_000 }
  return new HttpKubeClient(
    parseSafeKubeconfig((await w.host.kubeconfig(`kubenode-system.${name}`, identity)) ?? '', 'test').config,
  )
}

/** When each leader began and ended, of the processes of both replicas. */
function termsOf(replicas: readonly Replica[], cluster: string): readonly { from: number; to: number }[] {
  return replicas
    .flatMap((replica) => {
      const lines = logOf(replica).filter((l) => l.cluster === cluster)
      return lines.flatMap((line, n) => {
        if (line.message !== 'elected') return []
        const end = lines.slice(n).find((l) => l.replica === line.replica && l.message === 'leadership ended')
        return [
          { from: Date.parse(line.time), to: end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end.time) },
        ]
      })
    })
    .toSorted((a, b) => a.from - b.from)
}

describe('programs that the hub runs for its Clusters', () => {
  test('a Cluster is Ready once all three lead in it, each with its own identity, and they end with it', async () => {
    const w = (world = await hostedWorld())
    await w.declare('one')
    await w.untilPhase('one', 'Ready')
    await w.until('the missing programs are reported', async () => programsOf(await w.get('one'))?.status === 'False')
    const before = await w.get('one')
    expect(findCondition(before?.status?.conditions, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ProgramsMissing',
    })
    for (const program of HOSTED_PROGRAMS) await w.replica(program)
    await w.until('they lead', async () => programsOf(await w.get('one'))?.status === 'True')
    await w.until(
      'it is Ready',
      async () => findCondition((await w.get('one'))?.status?.conditions, 'Ready')?.status === 'True',
    )
    for (const program of HOSTED_PROGRAMS) {
      const secret = await w.admin.get(secrets, { namespace: hostedNamespace(program), name: 'cluster-one' })
      const text = Buffer.from(secret?.['data']?.['kubeconfig'] ?? '', 'base64').toString('utf8')
      const own = planeClient(text)
      expect(await own.user()).toBe(`kubenode:${program}`)
      own.close()
    }
    await w.remove('one')
    await w.untilGone('one')
    for (const program of HOSTED_PROGRAMS) {
      expect(await w.admin.get(secrets, { namespace: hostedNamespace(program), name: 'cluster-one' })).toBeUndefined()
      await w.until('no replica lists it', async () => [...(await w.hosts(program)).values()].flat().length === 0)
    }
  })

  test('two replicas share three Clusters, one is killed, and the other takes its Clusters: never two act at once', async () => {
    const w = (world = await hostedWorld())
    const names = ['one', 'two', 'three']
    for (const name of names) await w.declare(name)
    for (const name of names) await w.untilPhase(name, 'Ready')
    const replicas = [await w.replica('approver'), await w.replica('approver')]
    const listed = async () => [...(await w.hosts('approver')).values()].flat().toSorted()
    const wanted = names.map((name) => `kubenode-system/${name}`).toSorted()
    await w.until('each is on one replica', async () => (await listed()).join() === wanted.join())
    const members = await Promise.all(names.map((name) => memberOf(w, name)))
    const held = () =>
      Promise.all(
        members.map(
          async (m) => (await m.get(leaseType, { namespace: SYSTEM_NAMESPACE, name: 'kubenode-approver' }))?.spec,
        ),
      )
    await w.until('each has a leader', async () => (await held()).every((s) => s?.holderIdentity))
    // Names decide who has which: the one that has most is killed.
    const hosts = await w.hosts('approver')
    const countOf = ({ process }: Replica) =>
      [...hosts].find(([name]) => name.includes(`-${process.pid ?? 0}-`))?.[1].length ?? 0
    const [first, second] = replicas.toSorted((a, b) => countOf(b) - countOf(a))
    if (first === undefined || second === undefined) throw new Error('unreachable')
    expect(countOf(first)).toBeGreaterThan(0)
    const before = await held()
    first.process.kill('SIGKILL')
    await first.ended
    await w.until('the other lists all', async () =>
      [...(await w.hosts('approver')).values()].some((of) => of.length === 3),
    )
    await w.until('each has a leader of the other', async () => {
      const elected = new Set(
        logOf(second)
          .filter((l) => l.message === 'elected')
          .map((l) => l.cluster),
      )
      return names.every((name) => elected.has(name))
    })
    const after = await held()
    expect(after.some((s, n) => s?.holderIdentity !== before[n]?.holderIdentity)).toBe(true)
    for (const name of names) {
      const terms = termsOf(replicas, name)
      expect(terms.length).toBeGreaterThan(0)
      for (const [n, term] of terms.entries()) if (n > 0) expect(terms[n - 1]?.to).toBeLessThanOrEqual(term.from)
    }
    for (const m of members) m.close()
  })

  test('spec.programs None ends them, Hub brings them back', async () => {
    const w = (world = await hostedWorld())
    await w.declare('one')
    await w.untilPhase('one', 'Ready')
    await w.replica('approver')
    const listed = async () => [...(await w.hosts('approver')).values()].flat()
    await w.until('it runs', async () => (await listed()).length === 1)
    await w.declare('one', { programs: 'None' })
    await w.until('it has ended', async () => (await listed()).length === 0)
    await w.until(
      'no kubeconfig is left',
      async () =>
        (await w.admin.get(secrets, { namespace: hostedNamespace('approver'), name: 'cluster-one' })) === undefined,
    )
    expect(programsOf(await w.get('one'))).toBeUndefined()
    await w.declare('one', { programs: 'Hub' })
    await w.until('it runs again', async () => (await listed()).length === 1)
  })
})
