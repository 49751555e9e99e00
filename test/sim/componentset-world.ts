// The scenario for the set controller: a small fleet whose machine controller, agents and Defender are honest, and what a person declares over time.
import { componentConfig } from '#api/kinds/component-config.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import { jsonEqual } from '#lib/json.ts'
import { act } from '#controllers/componentset/act.ts'
import { type Parts, setup } from '#controllers/componentset/reconcile.ts'
import { controllerRevisionType } from '#controllers/componentset/revisions/revisions.ts'
import { rolloutRules } from '#controllers/componentset/slices/rules.ts'
import { budgetOf } from '#controllers/componentset/slices/share.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import { nodeType } from '#nodes/objects.ts'
import { permitAnswer, requestPermit } from '#permits/permits.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import {
  agentTurn,
  component,
  componentSet,
  defenderTurn,
  machineControllerTurn,
  readyNode,
  workingMachine,
} from '#test/support/fleets/rollout-fleet.ts'
import type { Invariant, Phase, Simulation } from './harness.ts'
import type { Actor, SimProcess } from './process.ts'
import type { FaultKind } from './sim-faults.ts'
import type { World } from './world.ts'

const allOf = <T extends KubeObject>(fake: FakeKube, type: ResourceType<T>): readonly T[] =>
  fake.all(type) as readonly T[]

const MACHINES = 6
const LIMIT = 2
const BAD = '6.6.6'

/** The status of a set is applied by its controller alone, so no schema is needed to merge it. */
const kinds: readonly FakeKind[] = [
  { type: machineComponentSet, status: true },
  { type: machine, status: true },
  { type: machineSet, status: true },
  { type: machineComponent, status: true },
  { type: operationPermit, status: true },
  { type: operationalHold, status: true },
  { type: inventory },
  { type: componentConfig },
]

function setController(parts: Parts = {}): Actor {
  return {
    name: 'componentset',
    start: (process: SimProcess) => {
      const { client, cacheClient, clock, random, log } = process
      const informers = createInformers({ client: cacheClient, clock, random, log, startSpreadMs: 1 })
      const events = { record: () => undefined, flush: () => Promise.resolve() }
      const config = { cluster: 'sim', providers: {}, join: {} as never }
      const context = { client, informers, clock, random, log, metrics: createMetrics(), events, config }
      const { controllers } = setup(context, parts)
      informers.start()
      for (const controller of controllers) controller.start()
    },
  }
}

/** Machine controller, agents and Defender: each reads the true objects once a second and does its part. */
const TURN_MS = 1_000
const SLOWEST_TURN_MS = 8_000

const world: Actor = {
  name: 'world',
  isFaulty: false,
  start: ({ client: plain, clock }) => {
    let writes = 0
    const client: typeof plain = {
      ...plain,
      update: (type, object, options) => {
        writes++
        return plain.update(type, object, options)
      },
    }
    const turn = async () => {
      const { items: permits } = await client.list(operationPermit)
      for (const permit of permits) await writeStatus(client, permit, defenderTurn(permit, clock.now()))
      const { items: sets } = await client.list(machineComponentSet)
      const { items: revisions } = await client.list(controllerRevisionType)
      const { items: definitions } = await client.list(machineComponent)
      const { items: machines } = await client.list(machine)
      for (const m of machines) {
        const fresh = await client.get(machine, { name: m.metadata.name ?? '' })
        if (fresh === undefined) continue
        const now = (await client.list(operationPermit)).items
        const told = machineControllerTurn(fresh, sets, now, revisions, definitions)
        if (!jsonEqual(told.spec, fresh.spec)) await outcomeOf(() => client.update(machine, told))
        const after = await client.get(machine, { name: m.metadata.name ?? '' })
        if (after === undefined) continue
        const uid = after.metadata.uid ?? ''
        const isGranted = (name: string) =>
          permitAnswer(
            now.find((p) => p.metadata.name === name),
            uid,
          ).kind === 'Granted'
        const next = agentTurn(
          after,
          isGranted,
          (_, version) => (version === BAD ? 'probe fails' : 'good'),
          clock.now(),
        )
        const status = { ...next.status, ...(told.status?.phase !== undefined && { phase: told.status.phase }) }
        if (!jsonEqual(status, after.status))
          await outcomeOf(() => client.update(machine, { ...after, status }, { subresource: 'status' }))
      }
    }
    // Quick while something changes, and slow at rest: the harness counts every step.
    const loop = async () => {
      for (let restMs = TURN_MS; ;) {
        const before = writes
        await turn()
        restMs = writes === before ? Math.min(restMs * 2, SLOWEST_TURN_MS) : TURN_MS
        await clock.sleep(restMs)
      }
    }
    void loop()
  },
}

async function writeStatus(
  client: SimProcess['client'],
  before: OperationPermit,
  after: OperationPermit,
): Promise<void> {
  if (jsonEqual(before.status, after.status)) return
  await outcomeOf(() => client.update(operationPermit, after, { subresource: 'status' }))
}

const SET = 'base'
const rollout = { steps: [1, 4], maxUnavailable: LIMIT, soak: '2s', progressDeadline: '30m' } as const

function begin(world_: World): void {
  const { fake } = world_
  for (const version of ['1.0.0', '1.1.0', BAD]) fake.plant(machineComponent, component('beacon', version))
  for (let i = 0; i < MACHINES; i++) {
    const name = `m-${i}`
    const m = workingMachine(name, { versions: { beacon: '1.0.0' }, zone: `z-${i % 2}` })
    fake.plant(nodeType, { ...readyNode(name) })
    const uid = allOf(fake, nodeType).find((n) => n.metadata.name === name)?.metadata.uid ?? ''
    fake.plant(machine, m)
    fake.poke(machine, { name }, { status: { ...m.status, nodeRef: { name, uid } } }, 'status')
  }
  fake.plant(machineComponentSet, componentSet({ beacon: '1.0.0' }, rollout))
}

const declare =
  (version: string): Phase['act'] =>
  ({ fake }) =>
    void fake.poke(machineComponentSet, { name: SET }, { spec: { components: [{ name: 'beacon', version }] } })

const phases: readonly Phase[] = [
  { name: 'begin', act: begin },
  { name: 'upgrade', act: declare('1.1.0') },
  { name: 'break', act: declare(BAD) },
  { name: 'revert', act: declare('1.1.0') },
  {
    name: 'edit twice',
    act: (w) => {
      declare('1.0.0')(w)
      w.clock.after(6_000, () => declare('1.1.0')(w))
    },
    counts: 'AtMost',
  },
  {
    name: 'lose what was asked for',
    act: (w) => {
      declare('1.0.0')(w)
      for (let i = 1; i <= LOSSES; i++) w.clock.after(i * LOSS_MS, () => losePermits(w))
    },
    counts: 'AtMost',
  },
  {
    name: 'delete the set without what it owns, and declare another of its name',
    act: (w) => {
      const { fake } = w
      fake.uproot(machineComponentSet, { name: SET })
      for (const { metadata } of allOf(fake, controllerRevisionType)) {
        const key = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' }
        fake.poke(controllerRevisionType, key, { metadata: { ownerReferences: null } })
      }
      fake.plant(machineComponentSet, componentSet({ beacon: '1.1.0' }, rollout))
    },
    counts: 'AtMost',
  },
  {
    name: 'delete the set, and declare another of its name before what it owned is collected',
    act: ({ fake }) => {
      fake.uproot(machineComponentSet, { name: SET })
      fake.plant(machineComponentSet, componentSet({ beacon: '1.0.0' }, rollout))
    },
    counts: 'AtMost',
  },
]

const LOSSES = 12
const LOSS_MS = 900

/** Permits that are not decided yet are deleted. */
function losePermits({ fake }: World): void {
  for (const { metadata, status } of allOf(fake, operationPermit))
    if (status === undefined) fake.uproot(operationPermit, { name: metadata.name ?? '' })
}

const isAtWork = ({ spec, status }: Machine): boolean =>
  spec.components?.some((c) => c.switch !== undefined) === true ||
  status?.components?.some((c) => isSwitching(c.state)) === true

const withinBudget: Invariant = (_, { fake }) => {
  const busy = allOf(fake, machine).filter(isAtWork).length
  return busy > LIMIT ? `${busy} machines are at work, ${LIMIT} may be` : undefined
}

/** Every machine that may be switched under a live permit has a slot that counts: all of them together stay within the budget. */
const slotsWithinBudget: Invariant = (_, { fake }) => {
  const targets = allOf(fake, operationPermit)
    .filter((p) => (p.status?.phase ?? 'Requested') === 'Granted')
    .flatMap((p) => p.spec.targets.filter((t) => p.spec.results?.[t.uid] === undefined))
  const slots = new Set(targets.map((t) => t.uid)).size
  return slots > LIMIT ? `${slots} machines have slots, ${LIMIT} may` : undefined
}

/** A result that frees a slot while its machine is between two versions would hide it from every budget. */
const freedTooEarly: Invariant = (commit, { fake }) => {
  if (commit.kind !== 'kubenode.io/operationpermits' || commit.call?.actor !== 'componentset') return undefined
  for (const permit of allOf(fake, operationPermit))
    for (const { uid, name } of permit.spec.targets) {
      if (permit.spec.results?.[uid] === undefined) continue
      const m = allOf(fake, machine).find((x) => x.metadata.uid === uid)
      const isOrdered = m?.spec.components?.some((c) => c.switch?.permit === permit.metadata.name)
      if (isOrdered === true) return `${name} was freed while its order stands`
    }
  return undefined
}

const badStaysSmall: Invariant = (_, { fake }) => {
  const tried = allOf(fake, operationPermit)
    .filter((p) => p.spec.component?.version === BAD)
    .flatMap((p) => p.spec.targets)
  const machines = new Set(tried.map((t) => t.uid)).size
  return machines > 1 ? `${machines} machines were asked for with a version that fails on the first` : undefined
}

const FAULTS: readonly FaultKind[] = [
  'Crash',
  'LostReply',
  'Refuse',
  'Stale',
  'TimeTravel',
  'Unobserved',
  'Events',
  'Missed',
  'Partition',
  'Pause',
]

/** What it all came to. Names of permits may be counted on after a crash, so permits are compared by what the machines and the set say. */
function state({ fake }: World): unknown {
  const [set] = allOf(fake, machineComponentSet)
  const machines = allOf(fake, machine).map(({ metadata, spec, status }: Machine) => [
    metadata.name,
    status?.components?.map((c) => `${c.name} ${c.version} ${c.state}`),
    spec.components?.map((c) => `${c.version} ${c.switch === undefined ? 'no order' : 'ordered'}`),
  ])
  const open = allOf(fake, operationPermit).filter((p) =>
    ['Requested', 'Granted'].includes(p.status?.phase ?? 'Requested'),
  )
  const { phase, revisions, counts } = set?.status ?? {}
  const blocked = revisions?.blocked?.map((b) => [b.revision, b.component])
  return {
    set: { phase, current: revisions?.current, update: revisions?.update, blocked, counts },
    machines,
    openPermits: open.map((p) => p.metadata.name),
    revisions: allOf(fake, controllerRevisionType).map((r) => r.metadata.name),
  }
}

export const setSimulation = (parts: Parts = {}, faults: readonly FaultKind[] = FAULTS): Simulation => ({
  kinds,
  actors: () => [world, setController(parts)],
  phases,
  invariants: { withinBudget, slotsWithinBudget, freedTooEarly, badStaysSmall },
  faults,
  faultyMs: 15_000,
  settleMs: 400_000,
  restMs: 120_000,
  state,
  counted: ['apps/controllerrevisions'],
})

/** Only the first phases: a run for each write of all of them takes long. */
export const hasty = (simulation: Simulation): Simulation => ({ ...simulation, phases: simulation.phases.slice(0, 2) })

export interface SetMutant {
  readonly name: string
  readonly faults: readonly FaultKind[]
  readonly within: number
  /** A seed that showed it: tried first by default. */
  readonly shownBy?: number
  readonly parts: Parts
}

const tools = ({ client }: { readonly client: KubeClient }) => ({ client, fieldManager: FIELD_MANAGERS.componentSet })

export const setMutants: readonly SetMutant[] = [
  {
    name: 'the budget is off by one',
    faults: [],
    within: 1,
    parts: { rules: { ...rolloutRules, budgetOf: (share, counting) => budgetOf(share, counting) + 1 } },
  },
  {
    name: 'a failed slice is ignored',
    faults: [],
    within: 1,
    parts: { rules: { ...rolloutRules, allowedFailures: () => Infinity } },
  },
  {
    name: 'what an old cache says is believed: permits are asked for without looking at the set again',
    faults: ['Stale', 'TimeTravel'],
    within: 60,
    shownBy: 6,
    parts: {
      act: async (t, action, seen, context) =>
        action.kind === 'Ask' ? requestPermit(tools(t), action.permit, action.request) : act(t, action, seen, context),
    },
  },
  {
    name: 'a permit that is gone is waited for',
    faults: [],
    within: 10,
    parts: {
      rules: {
        ...rolloutRules,
        nextPhase: (phase, event, facts) =>
          phase === 'AwaitingPermit' && event === 'replan' ? undefined : rolloutRules.nextPhase(phase, event, facts),
      },
    },
  },
]
