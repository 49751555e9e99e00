// The status of a Cluster loses where its programs run, or its cluster comes back from an old backup: what the hub deployed into it is found by the Inventory there.
import { afterEach, expect, test } from 'vitest'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { ANNOTATIONS, HOSTED_PROGRAMS, hostedNamespace, programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { deploymentType } from '#install/observe.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { systemClock } from '#lib/system-clock.ts'
import { annotated, leaseType, newLease, taken } from '#runtime/lease.ts'
import { hostedWorld, type HostedWorld } from '#test/support/worlds/hosted-world.ts'

const TIMEOUT_MS = 200_000
const KEY = { namespace: SYSTEM_NAMESPACE, name: 'one' }
const LEASE_MS = 3_600_000

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Deployed {
  readonly w: HostedWorld
  readonly deployments: () => Promise<readonly string[]>
}

/** A Cluster in which they are deployed. Its nodes are missing, so the hub runs them. */
async function deployed(): Promise<Deployed> {
  const w = await hostedWorld()
  closing.push(() => w.close())
  await w.declare('one', { programs: 'Cluster' })
  await w.untilPhase('one', 'Ready')
  const admin = { user: 'test', groups: ['system:masters'], lifeMs: 3_600_000 }
  const text = (await w.host.kubeconfig(`${SYSTEM_NAMESPACE}.one`, admin)) ?? ''
  const member = new HttpKubeClient(parseSafeKubeconfig(text, 'test').config)
  closing.push(async () => member.close())
  const deployments = async (): Promise<readonly string[]> => {
    const { items } = await member.list<KubeObject>(deploymentType, { namespace: SYSTEM_NAMESPACE })
    return items.map(({ metadata }) => metadata.name ?? '')
  }
  await w.until('they are deployed', async () => (await deployments()).length === HOSTED_PROGRAMS.length)
  return { w, deployments }
}

/** While no controller runs, so that none writes it again first. */
async function lose({ w }: Deployed, programs: 'Hub' | 'None'): Promise<void> {
  await w.stopController()
  const value = { status: { programs: null } }
  await w.admin.patch(clusterKind, KEY, { type: 'merge', value }, { subresource: 'status' })
  await w.declare('one', { programs })
  expect((await w.get('one'))?.status?.programs).toBeUndefined()
}

/** As a replica on the hub says that it runs the program. */
async function hosts({ w }: Deployed, program: (typeof HOSTED_PROGRAMS)[number]): Promise<void> {
  const lease = taken(
    newLease({ namespace: hostedNamespace(program), name: 'one-more' }),
    'x',
    LEASE_MS,
    systemClock.now(),
  )
  await w.admin.create(
    leaseType,
    annotated(lease, { [ANNOTATIONS.hosts]: JSON.stringify([`${SYSTEM_NAMESPACE}/one`]) }),
  )
}

test(
  'a Cluster that wants none loses all of them, although its status no longer says that there are any',
  { timeout: TIMEOUT_MS },
  async () => {
    const story = await deployed()
    await lose(story, 'None')
    await story.w.startController()
    await story.w.until('they are removed', async () => (await story.deployments()).length === 0)
    await story.w.until('nothing is recorded', async () => (await story.w.get('one'))?.status?.programs === undefined)
  },
)

test(
  'a Cluster whose programs run on the hub loses them once the hub runs all, not before',
  { timeout: TIMEOUT_MS },
  async () => {
    const story = await deployed()
    await lose(story, 'Hub')
    await story.w.startController()
    await story.w.until(
      'they are recorded again',
      async () => (await story.w.get('one'))?.status?.programs !== undefined,
    )
    const names = HOSTED_PROGRAMS.map(programLeaseName).toSorted()
    expect((await story.deployments()).toSorted()).toEqual(names)
    const [first, ...others] = HOSTED_PROGRAMS
    for (const program of others) await hosts(story, program)
    // Killed while it waits for the last one: the next one continues.
    await story.w.stopController()
    await story.w.startController()
    expect((await story.deployments()).toSorted()).toEqual(names)
    await hosts(story, first)
    await story.w.until('they are removed', async () => (await story.deployments()).length === 0)
    await story.w.until('nothing is recorded', async () => (await story.w.get('one'))?.status?.programs === undefined)
  },
)
