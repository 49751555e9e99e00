// What must hold after every single write of a rollout, expressed differently than in the planner and checked against the true objects, not a cache.
import { defenderLedger, type DefenderLedger } from '#api/kinds/defender-ledger.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { readKept } from '#api/protocol/committed.ts'
import { openSwitches } from '#api/protocol/component-order.ts'
import { partOfPermit, partRef } from '#api/protocol/part.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { permitAnswer } from '#permits/permits.ts'
import type { Commit } from '#test/doubles/kube/revisions.ts'
import { BAD, isAtWork } from '#test/support/fleets/rollout-fleet.ts'
import { changedDecision } from '#test/support/fleets/slice-decisions.ts'
import type { Invariant } from '../harness.ts'
import type { World } from '../world.ts'
import { RATE, SET } from './fleet.ts'

const MACHINE = 'kubenode.io/machines'
const PERMIT = 'kubenode.io/operationpermits'
const LEDGER = 'kubenode.io/defenderledgers'
const SETS = 'kubenode.io/machinecomponentsets'
const MINUTE_MS = 60_000

const permits = ({ fake }: World): readonly OperationPermit[] => fake.all(operationPermit) as readonly OperationPermit[]
const isSetPermit = ({ spec }: OperationPermit): boolean => spec.operations.includes('SwitchComponent')

export const BLAMES = 'a version that works is not blamed'

/** Updated commit by commit: a pass over all machines after each write would take most of the run. */
export class Watcher {
  readonly #busy = new Set<string>()
  readonly #granted = new Map<string, { readonly set: string | undefined; readonly open: readonly string[] }>()
  readonly #grantTimes: number[] = []
  readonly #triedBad = new Set<string>()
  readonly #declared = new Set<string>()
  readonly #limit: number
  #badFailedAt: number | undefined
  #pausedSince: number | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  readonly all: Readonly<Record<string, Invariant>> = {
    'no more machines at work than the set allows': (c) => this.#level(c),
    'no more slots than the set allows': (c) => this.#slots(c),
    'a set and a canary keep the limit of the set together': (c, w) => this.#together(c, w),
    'no more grants in a minute than the policy allows': (c, w) => this.#rate(c, w),
    'an order is given to what is staged, under a granted permit': (c, w) => this.#order(c, w),
    'a machine that is known to be broken is left alone': (c, w) => this.#disturbs(c, w),
    'a version that failed is not offered again': (c, w) => this.#offers(c, w),
    [BLAMES]: (c) => blames(c),
    'whoever waits says for what': (c) => waitsSilently(c),
    'nothing begins while it is paused': (c, w) => this.#begins(c, w),
    'each field has one writer': (c) => twoWriters(c),
    'a slice keeps what it decided': (c) => decidesAnew(c),
    'a slot is freed when its machine is done': (c, w) => freedEarly(c, w),
    'what git never declared reaches no machine': (c) => this.#committed(c),
  }

  /** Sync records on a set what git declares; a set without that record was created by a user. */
  #committed({ kind, key, type, object, previous }: Commit): string | undefined {
    if (kind === SETS) {
      const kept = readKept(object)?.spec['components']
      for (const c of Array.isArray(kept) ? kept : []) if (isObject(c)) this.#declared.add(String(c['version']))
    }
    if (kind !== MACHINE || type === 'DELETED' || this.#declared.size === 0) return undefined
    const before = new Set((previous as Machine | undefined)?.spec.components?.map((c) => c.version))
    const stranger = (object as Machine).spec.components?.find(
      (c) => !this.#declared.has(c.version) && !before.has(c.version),
    )
    return stranger && `${key} is given ${stranger.name} ${stranger.version}`
  }

  #level({ kind, key, type, object }: Commit): string | undefined {
    if (kind !== MACHINE) return undefined
    const machine = object as Machine
    // A canary has a limit of its own.
    const isOfCanary = machine.spec.components?.some((c) => c.canaryRef !== undefined) === true
    if (type === 'DELETED' || !isAtWork(machine)) this.#busy.delete(key)
    else if (!isOfCanary) this.#busy.add(key)
    return this.#busy.size > this.#limit ? `${this.#busy.size} machines are at work, ${this.#limit} may be` : undefined
  }

  #slots({ kind, key, type, object }: Commit): string | undefined {
    if (kind !== PERMIT) return undefined
    const permit = object as OperationPermit
    const { targets, results = {} } = permit.spec
    const isLive = type !== 'DELETED' && isSetPermit(permit) && permit.status?.phase === 'Granted'
    // Each set has slots of its own, and so has one that came again under the name of another.
    const { uid: set } = permit.spec.requester
    const open = targets.filter((t) => results[t.uid] === undefined).map((t) => t.uid)
    if (isLive) this.#granted.set(key, { set, open })
    else this.#granted.delete(key)
    const slots = new Set([...this.#granted.values()].flatMap((g) => (g.set === set ? g.open : []))).size
    return slots > this.#limit ? `${slots} machines have slots, ${this.#limit} may` : undefined
  }

  /** What only one of them has is limited by itself. */
  #together({ kind, object, previous }: Commit, world: World): string | undefined {
    if (kind !== LEDGER) return undefined
    const kinds = new Map(
      world.fake.all(operationPermit).map((p) => [p.metadata.uid, (p as OperationPermit).spec.requester.kind]),
    )
    const taken = (object as DefenderLedger).spec.grants ?? []
    const known = new Set(
      (previous as DefenderLedger | undefined)?.spec.grants?.map((g) => `${g.target} ${g.permitUid}`),
    )
    if (!taken.some((g) => !known.has(`${g.target} ${g.permitUid}`))) return undefined
    const holders = new Set(taken.map((g) => kinds.get(g.permitUid)))
    const machines = new Set(taken.map((g) => g.target)).size
    return holders.has('ComponentCanary') && holders.has('MachineComponentSet') && machines > this.#limit
      ? `a set and a canary switch ${machines} machines, ${this.#limit} may be`
      : undefined
  }

  /** A way back to what was healthy passes the rate; whether it is one is the Defender's to find out, and tested there. */
  #rate({ kind, object, previous }: Commit, world: World): string | undefined {
    if (kind !== LEDGER) return undefined
    const waysBack = new Set(
      world.fake
        .all(operationPermit)
        .filter((p) => (p as OperationPermit).spec.recovery)
        .map((p) => p.metadata.uid),
    )
    const keys = (l: DefenderLedger | undefined) =>
      (l?.spec.grants ?? []).filter((g) => !waysBack.has(g.permitUid)).map((g) => `${g.target} ${g.permitUid}`)
    const known = new Set(keys(previous as DefenderLedger | undefined))
    const now = world.clock.monotonic()
    for (const k of keys(object as DefenderLedger)) if (!known.has(k)) this.#grantTimes.push(now)
    // What is a whole minute old is over.
    while ((this.#grantTimes[0] ?? now) <= now - MINUTE_MS) this.#grantTimes.shift()
    return this.#grantTimes.length > RATE ? `${this.#grantTimes.length} grants within a minute` : undefined
  }

  #order({ kind, key, object, previous, call }: Commit, world: World): string | undefined {
    if (kind !== MACHINE || call === undefined) return undefined
    const [before, now] = [previous as Machine | undefined, object as Machine]
    for (const told of now.spec.components ?? []) {
      const had = before?.spec.components?.find((c) => c.name === told.name)?.switch
      if (told.switch === undefined || jsonEqual(had, told.switch)) continue
      const permit = world.fake.peek(operationPermit, { name: told.switch.permit }) as OperationPermit | undefined
      // The permit is read right before; it may end while the order is on its way. It must have been granted.
      const wasGranted = permit?.status?.verdicts?.some((v) => v.target === now.metadata.uid && v.verdict === 'Granted')
      if (permitAnswer(permit, now.metadata.uid ?? '').kind !== 'Granted' && wasGranted !== true)
        return `${key} is told to switch without a permit`
      if (permit?.spec.results?.[now.metadata.uid ?? ''] !== undefined)
        return `${key} is told to switch although its slot is given back`
      const report = now.status?.components?.find((r) => r.name === told.name)
      if (report?.state !== 'Staged' || report.attempt !== told.attempt)
        return `${key} is told to switch what is not staged`
      const part = permit && partOfPermit(permit.spec)
      if (part !== undefined && told.part !== partRef(part)) return `${key} is told to switch for ${told.part}`
    }
    return undefined
  }

  /** What broke a moment ago cannot be known yet. */
  #disturbs({ kind, type, object, call }: Commit, world: World): string | undefined {
    const permit = object as OperationPermit
    if (kind !== PERMIT || type !== 'ADDED' || call === undefined || !isSetPermit(permit)) return undefined
    for (const { name } of permit.spec.targets) {
      const node: Node | undefined = world.fake.peek(nodeType, { name })
      const ready = node?.status?.conditions?.find((c) => c.type === 'Ready')
      const downMs = ready?.status === 'False' ? world.clock.now() - Date.parse(ready.lastTransitionTime ?? '') : 0
      if (downMs > MINUTE_MS) return `${name} is down for ${downMs} ms and is asked for`
    }
    return undefined
  }

  #offers({ kind, key, type, object, call }: Commit, world: World): string | undefined {
    if (kind === MACHINE && this.#badFailedAt === undefined) {
      const isFailed = (object as Machine).status?.components?.some(
        (c) => c.desired === BAD && c.state === 'RolledBack',
      )
      if (isFailed === true) this.#badFailedAt = world.clock.monotonic()
    }
    if (kind !== PERMIT || type !== 'ADDED' || call === undefined) return undefined
    const { component, targets } = (object as OperationPermit).spec
    if (component?.version !== BAD) return undefined
    for (const t of targets) this.#triedBad.add(t.uid)
    if (this.#badFailedAt !== undefined && world.clock.monotonic() - this.#badFailedAt > MINUTE_MS)
      return `${key} asks for a version that failed long ago`
    // A canary has two at a time, a first step has one.
    return this.#triedBad.size > 2 ? `${this.#triedBad.size} machines were asked for with ${BAD}` : undefined
  }

  #begins({ kind, type, object, call }: Commit, world: World): string | undefined {
    if (kind === 'kubenode.io/operationalholds')
      this.#pausedSince = type === 'DELETED' ? undefined : world.clock.monotonic()
    if (kind !== PERMIT || type !== 'ADDED' || call === undefined || this.#pausedSince === undefined) return undefined
    const ms = world.clock.monotonic() - this.#pausedSince
    // Longer than any cache of a run is behind.
    return ms > 15_000 && isSetPermit(object as OperationPermit)
      ? `a slice is asked for ${ms} ms into a pause`
      : undefined
  }
}

function blames({ kind, object }: Commit): string | undefined {
  if (kind !== SETS) return undefined
  const { status, spec } = object as MachineComponentSet
  const good = status?.revisions?.blocked?.find(
    (b) =>
      b.revision === status.revisions?.update && spec.components.every((c) => c.version !== BAD) && b.reason !== '',
  )
  return status?.observedGeneration === object.metadata.generation && good !== undefined
    ? `${good.component} is blocked although it works: ${good.reason}`
    : undefined
}

/** One that was deleted and came again under its name has slices of its own. */
function decidesAnew({ kind, object, previous }: Commit): string | undefined {
  if (kind !== SETS || previous?.metadata.uid !== object.metadata.uid) return undefined
  return changedDecision((previous as MachineComponentSet).status, (object as MachineComponentSet).status)
}

function waitsSilently({ kind, object, type }: Commit): string | undefined {
  const { status } = object as MachineComponentSet
  if (kind !== SETS || type === 'DELETED' || status?.phase === undefined || status.phase === 'Complete')
    return undefined
  return status.waitingFor === undefined ? `the set is ${status.phase} and does not say what it waits for` : undefined
}

/** A result that frees a slot while its machine is between two versions would hide it from every budget. */
function freedEarly({ kind, object, previous, call }: Commit, { fake }: World): string | undefined {
  if (kind !== PERMIT || !CONTROLLERS.has(call?.actor ?? '')) return undefined
  const [before, { spec, metadata }] = [previous as OperationPermit | undefined, object as OperationPermit]
  for (const { uid, name } of spec.targets) {
    if (spec.results?.[uid] === undefined || before?.spec.results?.[uid] !== undefined) continue
    const m = fake.peek(machineType, { name }) as Machine | undefined
    if (m?.metadata.uid === uid && openSwitches(m).some((c) => c.switch?.permit === metadata.name))
      return `${name} was freed while its order stands`
  }
  return undefined
}

/** They, and a second of them that believes to lead too. */
const CONTROLLERS: ReadonlySet<string> = new Set(['controllers', 'twin'])

const WATCHED: ReadonlySet<string> = new Set([MACHINE, PERMIT, SETS])
/** Objects planted by hand count as written by sync or by users. */
const PERSON = 'kubenode'

/** Managed fields tell who wrote what; two managers of one leaf would undo each other's work. */
function twoWriters({ kind, key, object, previous }: Commit): string | undefined {
  if (!WATCHED.has(kind)) return undefined
  const entries = object.metadata.managedFields ?? []
  if (entries.length < 2 || entries.length === (previous?.metadata.managedFields ?? []).length) return undefined
  const owners = new Map<string, string>()
  for (const { manager = '', fieldsV1 } of entries) {
    if (manager === PERSON) continue
    for (const leaf of leavesOf(fieldsV1, '')) {
      const other = owners.get(leaf)
      if (other !== undefined && other !== manager) return `${leaf} of ${key} is written by ${other} and by ${manager}`
      owners.set(leaf, manager)
    }
  }
  return undefined
}

function* leavesOf(fields: unknown, path: string): Generator<string> {
  if (!isObject(fields)) return
  const inner = Object.entries(fields).filter(([k]) => k !== '.')
  if (inner.length === 0) yield path
  for (const [k, v] of inner) yield* leavesOf(v, `${path}/${k}`)
}

export const setOf = ({ fake }: World): MachineComponentSet | undefined =>
  fake.peek(machineComponentSet, { name: SET }) as MachineComponentSet | undefined

export const openPermits = (world: World): readonly OperationPermit[] =>
  permits(world).filter((p) => ['Requested', 'Granted'].includes(p.status?.phase ?? 'Requested'))

export const ledgerOf = ({ fake }: World): DefenderLedger | undefined =>
  fake.peek(defenderLedger, { name: 'cluster' }) as DefenderLedger | undefined
