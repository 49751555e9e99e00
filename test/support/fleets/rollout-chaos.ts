// Random lives of a rollout: all actors take turns in any order while machines die, users edit and permits end; the invariants are checked after every plan.
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { timestamp } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { openSwitches } from '#api/protocol/component-order.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import type { SetAction } from '#controllers/componentset/actions.ts'
import { type SetPlan, plan } from '#controllers/componentset/plan.ts'
import type { Rules } from '#controllers/componentset/slices/rules.ts'
import type { Seen } from '#controllers/componentset/seen.ts'
import { budgetOf } from '#controllers/componentset/slices/share.ts'
import {
  BAD,
  GOOD,
  POOL,
  component,
  componentSet,
  heard,
  isAtWork,
  isSilent,
  readyNode,
  silenced,
  workingMachine,
} from './rollout-fleet.ts'
import { RolloutModel } from './rollout-model.ts'
import { components, holdOn } from './rollout-story.ts'

const NAMES = ['beacon', 'scribe'] as const
const definitions = [...components, ...NAMES.map((c) => component(c, BAD))]

export interface Chaos {
  readonly rules?: Rules
  /** A planted bug in the plan as a whole. */
  readonly distort?: (made: SetPlan, seen: Seen) => SetPlan
  readonly steps?: number
}

/** Answers the first thing that was wrong. */
export function chaos(random: Random, { rules, distort, steps = 250 }: Chaos = {}): string | undefined {
  const count = 4 + random.below(14)
  const machines = Array.from({ length: count }, (_, i) => newMachine(`m-${i}`, random))
  const model = new RolloutModel({
    machines,
    set: componentSet(versionsOf(random, '1.0.0'), {
      soak: '5s',
      progressDeadline: '10m',
      steps: random.pick([[1, 2, 5], [2], ['20%', '50%']] as const),
      maxUnavailable: random.pick([1, 2, 3, '30%', '60%'] as const),
    }),
    components: definitions,
    quality: (_, v) => (v === BAD ? 'probe fails' : 'good'),
    ...defined({ rules }),
  })
  if (distort !== undefined) model.distort = distort
  let wrong: string | undefined
  const note = (text: string | undefined) => (wrong ??= text)
  model.onPlan = (made, seen) => note(wrongPlan(made, seen, model.now, random))
  for (let n = 0; n < steps; n++) {
    if (note(undefined) !== undefined) break
    disturb(model, random, note)
  }
  if (wrong !== undefined) return wrong
  calm(model)
  try {
    model.settle(400)
  } catch (e) {
    return wrong ?? String(e)
  }
  return wrong ?? unfinished(model)
}

const newMachine = (name: string, random: Random): Machine =>
  workingMachine(name, {
    versions: { beacon: '1.0.0', scribe: '1.0.0' },
    zone: `z-${random.below(3)}`,
    rack: `r-${random.below(4)}`,
    class: `c-${random.below(3)}`,
  })

const versionsOf = (random: Random, version?: string): Readonly<Record<string, string>> => ({
  beacon: version ?? random.pick([...GOOD, BAD, BAD]),
  scribe: version ?? random.pick(GOOD),
})

function disturb(model: RolloutModel, random: Random, note: (text: string | undefined) => void): void {
  const names = [...model.machines.keys()]
  const name = names.length === 0 ? '' : random.pick(names)
  const dice = random.below(100)
  if (dice < 10) model.round()
  else if (dice < 30) model.planTurn()
  else if (dice < 45) names.forEach((m) => model.machineController(m))
  else if (dice < 65) names.filter(() => random.below(3) > 0).forEach((m) => model.agent(m))
  else if (dice < 75) model.defender()
  else if (dice < 81) model.now += random.pick([1_000, 10_000, 60_000, 400_000])
  else disrupt(model, random, name, dice)
  note(uncovered(model))
}

function disrupt(model: RolloutModel, random: Random, name: string, dice: number): void {
  const machine = model.machines.get(name)
  const node = model.nodes.get(name)
  switch (dice) {
    case 81:
    case 82:
    case 83:
    case 84:
    case 85:
      // Half of the time nothing new: a rollout needs some quiet to get anywhere.
      if (random.below(2) === 0) return
      // Now and then a component leaves the set, and comes back later.
      return model.declare(
        random.below(5) === 0 ? { beacon: versionsOf(random)['beacon'] ?? '1.0.0' } : versionsOf(random),
      )
    case 86:
    case 87:
      if (machine !== undefined) model.machines.set(name, silenced(machine, model.now))
      return
    case 88:
    case 89:
      for (const [n, m] of model.machines) model.machines.set(n, isSilent(m) ? heard(m, model.now) : m)
      return
    case 90:
      model.machines.delete(name)
      return
    case 91: {
      const added = `n-${random.below(10_000)}`
      model.machines.set(added, newMachine(added, random))
      model.nodes.set(added, { ...model.nodes.get(name), metadata: { name: added, uid: `node-${added}` } } as never)
      return
    }
    case 92:
      if (machine !== undefined)
        model.machines.set(name, { ...machine, metadata: { ...machine.metadata, labels: random.pick([POOL, {}]) } })
      return
    case 93:
      if (node !== undefined) model.nodes.set(name, { ...node, status: {} })
      return
    case 94:
      for (const n of model.nodes.keys()) model.nodes.set(n, readyNode(n))
      return
    case 95:
      model.holds = random.below(2) === 0 ? [] : [drawHold(model, random)]
      return
    case 96:
    case 97:
      return endPermits(model, random)
    case 98:
      // A user deletes permits that are not decided yet.
      for (const [permit, { status }] of model.permits) if (status === undefined) model.permits.delete(permit)
      return
    default:
      model.others = model.others.length > 0 ? [] : [rival(random)]
  }
}

/** Another set that declares one of the components, and goes again. */
const rival = (random: Random): MachineComponentSet =>
  componentSet({ beacon: random.pick(GOOD) }, {}, { name: 'rival', priority: random.pick([-1, 0, 1] as const) })

/** On the set, or on one machine of it. */
function drawHold(model: RolloutModel, random: Random): OperationalHold {
  const effect = random.pick(['Pause', 'Freeze', 'Retry', 'Abort', 'Pin'] as const)
  const to = model.revisions.length === 0 ? 'none' : (random.pick(model.revisions).metadata.name ?? '')
  const hold = (more: Partial<OperationalHold['spec']> = {}) => holdOn(model, effect, { forMs: 600_000, ...more })
  if (effect === 'Pin') return hold({ to })
  const machines = [...model.machines.keys()]
  if (random.below(3) > 0 || machines.length === 0 || effect === 'Retry' || effect === 'Abort') return hold()
  return hold({ target: { kind: 'Machine', name: random.pick(machines) } })
}

function endPermits(model: RolloutModel, random: Random): void {
  for (const [name, permit] of model.permits) {
    const phase = permit.status?.phase ?? 'Requested'
    if (random.below(2) === 0 || (phase !== 'Requested' && phase !== 'Granted')) continue
    const ended = phase === 'Granted' ? random.pick(['Expired', 'Revoked'] as const) : ('Denied' as const)
    model.permits.set(name, { ...permit, status: { ...permit.status, phase: ended, decidedAt: timestamp(model.now) } })
  }
}

/** All faults end, and the declared version is good. */
function calm(model: RolloutModel): void {
  model.holds = []
  model.others = []
  for (const [n, m] of model.machines) {
    model.machines.set(n, { ...heard(m, model.now), metadata: { ...m.metadata, labels: POOL } })
    model.nodes.set(n, readyNode(n))
  }
  if (model.machines.size === 0) {
    model.machines.set('m-last', newMachine('m-last', { below: () => 0 } as unknown as Random))
    model.nodes.set('m-last', readyNode('m-last'))
  }
  // Seen in between, another version lifts what was blocked for good reasons.
  model.declare({ beacon: '2.0.0', scribe: '2.0.0' })
  model.planTurn()
  model.declare({ beacon: '1.1.0', scribe: '1.1.0' })
}

function unfinished(model: RolloutModel): string | undefined {
  const declared = model.set.spec.components[0]?.version ?? ''
  for (const c of NAMES) {
    const versions = model.versions(c)
    if (Object.keys(versions).some((v) => v !== declared))
      return `it ends with ${c} at ${JSON.stringify(versions)} instead of ${declared}: ${JSON.stringify(model.set.status?.waitingFor)}`
  }
  return model.set.status?.phase === 'Complete' ? undefined : `it ends ${model.set.status?.phase}`
}

/** A machine between two versions is covered by a permit that was asked for it. */
function uncovered(model: RolloutModel): string | undefined {
  const uids = new Set([...model.permits.values()].flatMap((p) => p.spec.targets.map((t) => t.uid)))
  const bare = model.atWork().find((name) => !uids.has(model.machines.get(name)?.metadata.uid ?? ''))
  return bare === undefined ? undefined : `${bare} is at work and no permit was ever asked for it`
}

function wrongPlan(made: SetPlan, seen: Seen, now: number, random: Random): string | undefined {
  const { status } = made
  if (status.phase !== 'Complete' && status.waitingFor === undefined) return 'it waits without a reason'
  if ((status.slices ?? []).length > 64) return 'more slices than a status may list'
  return (
    overBudget(made, seen) ??
    askingWhileHeld(made, seen, now) ??
    disturbing(made, seen) ??
    spreadingBad(made, seen) ??
    blamedWrongly(made, seen) ??
    illegalMove(made, seen) ??
    unordered(made, seen, now, random)
  )
}

/** No permit is requested for a paused set or machine. */
function askingWhileHeld(made: SetPlan, { holds }: Seen, now: number): string | undefined {
  const stops = holds.filter(
    ({ spec }) => (spec.effect === 'Pause' || spec.effect === 'Freeze') && Date.parse(spec.until) > now,
  )
  for (const { request } of asksOf(made)) {
    const stop = stops.find(({ spec: { target } }) => {
      return target.kind === 'MachineComponentSet' || request.targets.some((t) => t.name === target.name)
    })
    if (stop !== undefined) return `${stop.spec.target.kind} ${stop.spec.target.name} is held and asked for`
  }
  return undefined
}

/** A version that went back on one machine is not offered to another, unless a person asks for it. */
function spreadingBad(made: SetPlan, seen: Seen): string | undefined {
  if (seen.holds.some((h) => h.spec.effect === 'Retry')) return undefined
  const ask = asksOf(made).find((a) => a.request.component?.version === BAD)
  if (ask === undefined) return undefined
  const failed = seen.machines.find((m) => isMember(m) && wentBack(m, ask.request.component?.name ?? ''))
  return failed && `${failed.metadata.name} went back from ${BAD}, and more machines are asked for`
}

const wentBack = ({ spec, status }: Machine, name: string): boolean =>
  spec.components?.some((t) => {
    const r = status?.components?.find((c) => c.name === t.name)
    return (
      t.name === name && t.version === BAD && r?.desired === BAD && r.state === 'RolledBack' && r.attempt === t.attempt
    )
  }) === true

/** A good version is not blocked because machines failed when none did: at most one that fell silent during its switch. */
function blamedWrongly({ status }: SetPlan, seen: Seen): string | undefined {
  if (seen.machines.some((m) => isSilent(m) && isAtWork(m))) return undefined
  const before = seen.set.status?.revisions?.blocked ?? []
  const fresh = (status.revisions?.blocked ?? []).filter((b) => !before.some((o) => o.since === b.since))
  // The set may be pinned to another revision than the declared one.
  const versionIn = (revision: string, name: string) =>
    (seen.revisions.find((r) => r.metadata.name === revision)?.data?.components ?? seen.set.spec.components).find(
      (w) => w.name === name,
    )?.version
  const wrong = fresh.find(
    ({ revision, component: c, reason }) => / machines? failed/.test(reason) && versionIn(revision, c) !== BAD,
  )
  return wrong && `${wrong.component} is blocked although it is good: ${wrong.reason}`
}

function illegalMove({ status }: SetPlan, seen: Seen): string | undefined {
  const byName = new Map(seen.machines.map((m) => [m.metadata.name ?? '', m]))
  for (const slice of status.slices ?? []) {
    const before = seen.set.status?.slices?.find(
      (w) =>
        w.component === slice.component &&
        w.step === slice.step &&
        w.number === slice.number &&
        w.permit === slice.permit,
    )
    if (before === undefined || before.phase === slice.phase) continue
    const permit = seen.permits.get(slice.permit ?? '')
    if (slice.phase === 'Switching' && permit?.status?.phase !== 'Granted')
      return 'a slice switches without a granted permit'
    const busy = slice.machines.find((n) => {
      const m = byName.get(n)
      return m !== undefined && !isSilent(m) && isOn(m, slice.component)
    })
    if (slice.phase === 'Inspecting' && busy !== undefined)
      return `a slice is inspected while ${busy} is between two versions`
  }
  return undefined
}

const isOn = ({ spec, status }: Machine, name: string): boolean =>
  openSwitches({ spec, status }).some((c) => c.name === name) ||
  status?.components?.some((c) => c.name === name && isSwitching(c.state)) === true

type Ask = Extract<SetAction, { kind: 'RequestPermit' }>
const asksOf = ({ actions }: SetPlan): readonly Ask[] => actions.filter((a) => a.kind === 'RequestPermit')

const isMember = ({ metadata }: Machine): boolean => metadata.labels?.['kubenode.io/pool'] === 'workers'
const isNodeUp = ({ metadata: { name = '' } }: Machine, { nodes }: Seen): boolean =>
  nodes.get(name)?.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true
const isWell = (m: Machine, seen: Seen): boolean =>
  !isSilent(m) &&
  isNodeUp(m, seen) &&
  m.status?.components?.every((c) => c.state !== 'Failed' && c.state !== 'Degraded') === true

/** Counted differently than in the planner: unavailable machines, plus those that the slices of this set may disrupt, are within maxUnavailable. */
function overBudget(made: SetPlan, seen: Seen): string | undefined {
  const asks = asksOf(made)
  const byName = new Map(seen.machines.map((m) => [m.metadata.name ?? '', m]))
  const fresh = asks.flatMap((a) => a.request.targets.map((t) => t.name))
  const costly = fresh.filter((n) => isWell(byName.get(n) ?? ({} as Machine), seen))
  if (costly.length === 0) return undefined
  const members = seen.machines.filter(isMember)
  const limit = budgetOf(seen.set.spec.rollout.maxUnavailable, members.length)
  const down = new Set(members.filter((m) => !isWell(m, seen) || isAtWork(m)).map((m) => m.metadata.name ?? ''))
  for (const slice of made.status.slices ?? []) {
    if (slice.phase !== 'AwaitingPermit' && slice.phase !== 'Switching') continue
    const { targets = [], results = {} } = seen.permits.get(slice.permit ?? '')?.spec ?? {}
    const done = new Set(targets.filter((t) => results[t.uid] !== undefined).map((t) => t.name))
    for (const name of slice.machines) if (!done.has(name) && byName.has(name)) down.add(name)
  }
  for (const name of fresh) down.add(name)
  const counted = [...down].filter((name) => isMember(byName.get(name) ?? ({ metadata: {} } as Machine)))
  return counted.length > limit ? `${counted.length} machines may be down, ${limit} are allowed` : undefined
}

/** No permit is requested for a machine that is unknown, silent, broken or being switched by others. */
function disturbing(made: SetPlan, seen: Seen): string | undefined {
  const byName = new Map(seen.machines.map((m) => [m.metadata.name ?? '', m]))
  for (const { request } of asksOf(made))
    for (const { name, uid } of request.targets) {
      const m = byName.get(name)
      if (m === undefined || m.metadata.uid !== uid) return `${name} does not exist and is asked for`
      if (isSilent(m) || !isNodeUp(m, seen)) return `${name} is not known to be well and is asked for`
      if (isAtWork(m)) return `${name} is at work and is asked for`
      if (!isMember(m)) return `${name} is no machine of the set and is asked for`
    }
  return undefined
}

function unordered(made: SetPlan, { memo, ...seen }: Seen, now: number, random: Random): string | undefined {
  if (random.below(4) !== 0) return undefined
  const shuffled = seen.machines.toSorted(() => random.below(3) - 1)
  const again = plan({ ...seen, machines: shuffled }, now)
  const first = plan({ ...seen, ...defined({ memo }) }, now)
  return jsonEqual(first.status, again.status) && jsonEqual(asksOf(first), asksOf(again)) && made !== undefined
    ? undefined
    : 'the order of the machines matters, or what the last plan found out about them'
}
