// The rest of the world for repairs: nodes with agents that do the steps of listed jobs under a permit, and a Defender that grants, or is silent.
import { coreKind } from '#kube/core-kinds.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { createInformer } from '#kube/informer.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { permitAnswer } from '#permits/permits.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { Actor, SimProcess } from '../process.ts'
import type { World } from '../world.ts'

/** On a node: from which rung on a repair helps. */
export const HEALS_AT = 'sim/heals-at'
/** On a node: its agent does nothing. */
const ASLEEP = 'sim/asleep'
/** In the cluster: while a namespace of this name exists the Defender does nothing. */
const DEFENDER_AWAY = coreKind('Namespace')

export const NODES = 10
/** Nodes of the first zone. */
export const ZONE = 3
/** A node that users cordoned before, and keep cordoned. */
export const CORDONED = 0
export const OWNERS = 'kubenode.io/cordon-owners'
const FOREIGN = '{"people":{"reason":"a test of the disks"}}'
export const nodeName = (n: number): string => `n${n}`

export function plantNodes(world: World): void {
  for (let n = 0; n < NODES; n++) {
    const name = nodeName(n)
    const node = world.fake.plant(nodeType, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels: { [HEALS_AT]: '0' }, ...(n === CORDONED && { annotations: { [OWNERS]: FOREIGN } }) },
      ...(n === CORDONED && { spec: { taints: [{ key: 'kubenode.io/cordon', effect: 'NoSchedule' }] } }),
      status: {
        conditions: [
          condition(world, 'Ready', 'True'),
          condition(world, 'KernelDeadlock', 'False'),
          condition(world, 'ReadonlyFilesystem', 'False'),
        ],
      },
    })
    world.fake.plant(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec: { pool: 'workers', zone: n < ZONE ? 'a' : 'b' },
    })
    world.fake.poke(
      machineType,
      { name },
      {
        status: {
          phase: 'Ready',
          nodeRef: { name, uid: node.metadata.uid },
          bootID: `${name}-boot-1`,
          conditions: [{ ...condition(world, 'AgentReachable', 'True'), message: '' }],
        },
      },
      'status',
    )
  }
}

const condition = (world: World, type: string, status: 'True' | 'False' | 'Unknown') => ({
  type,
  status,
  reason: 'Reported',
  message: '',
  lastTransitionTime: timestamp(world.clock.now()),
})

export function setCondition(world: World, n: number, type: string, status: 'True' | 'False' | 'Unknown'): void {
  const node = world.fake.peek(nodeType, { name: nodeName(n) }) as Node
  const others = (node.status?.conditions ?? []).filter((c) => c.type !== type)
  world.fake.poke(
    nodeType,
    { name: nodeName(n) },
    { status: { conditions: [...others, condition(world, type, status)] } },
    'status',
  )
}

export const label = (world: World, n: number, key: string, value: string | null): void =>
  void world.fake.poke(nodeType, { name: nodeName(n) }, { metadata: { labels: { [key]: value } } })

export const sendDefenderAway = (world: World): void =>
  void world.fake.plant(DEFENDER_AWAY, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'defender-away' } })
export const callDefenderBack = (world: World): void => world.fake.uproot(DEFENDER_AWAY, { name: 'defender-away' })

const DECIDES_AFTER_MS = 200
const STEP_MS = 500
const LOOK_MS = 1_000
const AWAY_LOOK_MS = 15_000

/** Grants whatever it is asked, a little later, unless it is away; releases what has a result. */
export const defender: Actor = {
  name: 'defender',
  isFaulty: false,
  start: (process) => {
    const { client } = process
    everyChange<OperationPermit>(process, operationPermit, async ({ metadata: { name = '' } }) => {
      await process.clock.sleep(DECIDES_AFTER_MS)
      const permit = await client.get(operationPermit, { name })
      if (permit === undefined) return undefined
      if ((await client.get(DEFENDER_AWAY, { name: 'defender-away' })) !== undefined) return AWAY_LOOK_MS
      const status = decided(permit, timestamp(process.clock.now()))
      if (status === undefined) return undefined
      await outcomeOf(() => client.update(operationPermit, { ...permit, status }, { subresource: 'status' }))
      return LOOK_MS
    })
  },
}

function decided(permit: OperationPermit, now: string): OperationPermit['status'] | undefined {
  const { phase = 'Requested' } = permit.status ?? {}
  const { targets, results = {} } = permit.spec
  const isOver = targets.every((t) => results[t.uid] !== undefined)
  if (isOver && phase !== 'Released') return { ...permit.status, phase: 'Released', endedAt: now }
  if (phase !== 'Requested' || isOver) return undefined
  const verdicts = targets.map((t) => ({ target: t.uid, gate: 'Ledger', verdict: 'Granted' as const }))
  return { phase: 'Granted', decidedAt: now, granted: targets.length, verdicts }
}

/** One agent for each machine: does the steps that are its own, each under a permit read right before. */
export const agents: Actor = {
  name: 'agents',
  isFaulty: false,
  start: (process) => {
    const wakeListed = async ({ metadata: { name = '' } }: Machine): Promise<number | undefined> => {
      const machine = await process.client.get(machineType, { name })
      let again: number | undefined
      for (const job of machine?.spec.jobs ?? [])
        if (machine !== undefined && (await doOneStep(process, machine, job))) again = STEP_MS
      return again ?? ((machine?.spec.jobs ?? []).length > 0 ? LOOK_MS : undefined)
    }
    everyChange<Machine>(process, machineType, wakeListed)
  },
}

async function doOneStep({ client, clock }: SimProcess, machine: Machine, name: string): Promise<boolean> {
  const job = await client.get(remedyOperationJob, { name })
  const node = await client.get(nodeType, { name: machine.metadata.name ?? '' })
  if (job?.status?.phase !== 'Running' || node === undefined || node.metadata.labels?.[ASLEEP] !== undefined)
    return false
  const steps = job.status.steps ?? []
  const ended = (n: number) => ['Succeeded', 'Skipped'].includes(steps.find((s) => s.index === n)?.outcome ?? '')
  const index = job.spec.operations.findIndex((_, n) => !ended(n))
  const operation = job.spec.operations[index]
  if (operation === undefined || (operation.restartComponent === undefined && operation.collectEvidence === undefined))
    return false
  const permit = await client.get(operationPermit, { name: job.status.permitRef ?? '' })
  if (permitAnswer(permit, machine.metadata.uid ?? '').kind !== 'Granted') return false
  const now = timestamp(clock.now())
  const mine = steps.filter((s) => s.executor === 'Agent')
  const what = operation.restartComponent === undefined ? 'collectEvidence' : 'restartComponent'
  const step = {
    index,
    operation: what,
    executor: 'Agent',
    attempts: 1,
    startedAt: now,
    finishedAt: now,
    outcome: 'Succeeded',
  }
  const isHealed = what === 'restartComponent' && job.spec.rung >= Number(node.metadata.labels?.[HEALS_AT] ?? 0)
  const type = job.spec.remedierRef.name === 'readonly' ? 'ReadonlyFilesystem' : 'KernelDeadlock'
  if (isHealed) await heal(client, node, type, now)
  await report(client, job, [...mine, step])
  return true
}

async function report(client: SimProcess['client'], job: RemedyOperationJob, steps: readonly object[]): Promise<void> {
  const { name = '', uid = '' } = job.metadata
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'RemedyOperationJob',
    metadata: { name, uid },
    status: { steps },
  }
  await outcomeOf(() =>
    client.apply(remedyOperationJob, object, {
      fieldManager: FIELD_MANAGERS.agent,
      force: true,
      subresource: 'status',
    }),
  )
}

async function heal(
  client: SimProcess['client'],
  { metadata: { name = '' } }: Node,
  type: string,
  now: string,
): Promise<void> {
  const fresh = await client.get(nodeType, { name })
  const conditions = fresh?.status?.conditions?.map((c) =>
    c.type === type && c.status === 'True' ? { ...c, status: 'False' as const, lastTransitionTime: now } : c,
  )
  if (fresh !== undefined && conditions !== undefined)
    await outcomeOf(() =>
      client.update(nodeType, { ...fresh, status: { ...fresh.status, conditions } }, { subresource: 'status' }),
    )
}

/** Runs for each changed object, and again after the time it returns; errors are retried. */
function everyChange<T extends KubeObject>(
  { cacheClient, clock, random, signal }: SimProcess,
  type: ResourceType<T>,
  run: (object: T) => Promise<number | undefined>,
): void {
  const busy = new Set<string>()
  const dirty = new Set<string>()
  const go = async (object: T): Promise<void> => {
    const { name = '' } = object.metadata
    dirty.add(name)
    if (busy.has(name)) return
    busy.add(name)
    let again: number | undefined
    while (dirty.delete(name)) again = await run(object).catch(() => LOOK_MS)
    busy.delete(name)
    if (again !== undefined) clock.after(again, () => void go(object))
  }
  const informer = createInformer<T>({ client: cacheClient, type, clock, random })
  informer.addHandler((_, now) => {
    if (now !== undefined) void go(now)
  })
  void informer.run(signal)
}
