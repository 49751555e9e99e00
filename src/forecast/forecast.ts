// Simulates a cluster in memory until it is stable, and records on the way which machines switch when, what they wait for, and how long it takes.
import { HOLD_REASONS } from '#permits/holds/names.ts'
import { isOpen } from '#controllers/componentset/plan-context.ts'
import type { Wait } from '#controllers/componentset/reporting/wait.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { activeMachines } from '#api/protocol/part.ts'
import type { GateVerdict } from '#defender/gate.ts'
import { riskOf, isAtLeast, type Risk } from '#defender/risk.ts'
import { componentObjectName } from '#lib/names.ts'
import type { Switches } from './simulation/agents.ts'
import { World, type WorldObjects } from './simulation/world.ts'

export interface ForecastSlice {
  readonly set: string
  readonly component: string
  /** Undefined: the component is removed. */
  readonly version: string | undefined
  readonly step: number
  readonly number: number
  readonly machines: readonly string[]
  readonly drains: boolean
  readonly reboots: boolean
  /** Milliseconds from the start: requested, granted, and all machines done. */
  readonly asked: number
  readonly begun: number | undefined
  readonly done: number | undefined
}

/** What blocked a set, and for how long in total. */
export interface Brake {
  readonly what: string
  readonly ms: number
  /** A person's hold, so a person can end it. */
  readonly isHold?: true
  /** The switches themselves; nothing else limits the rollout. */
  readonly isWork?: true
}

export interface Forecast {
  readonly slices: readonly ForecastSlice[]
  /** Until all sets are complete. */
  readonly ms: number
  readonly mostUnavailable: number
  readonly brakes: readonly Brake[]
  readonly risk: Risk | undefined
  /** Sets that do not finish, and why. */
  readonly stuck: readonly { readonly set: string; readonly wait: Pick<Wait, 'predicate' | 'seen' | 'unblock'> }[]
  readonly skipped: readonly { readonly set: string; readonly machine: string; readonly reason: string }[]
  /** The cluster once it is stable, and when. */
  readonly end: WorldObjects
  readonly endedAt: number
  /** All requested permits, including those already open. */
  readonly permits: readonly OperationPermit[]
}

/** Two weeks cover any maintenance window; nothing is predicted beyond. */
const MOST_MS = 14 * 86_400_000
/** While only time passes, the steps grow up to this. */
const MOST_IDLE_STEP_MS = 900_000
const MOST_TURNS = 20_000

export interface ForecastRequest {
  readonly objects: WorldObjects
  readonly now: number
  readonly switchMs: Switches['ms']
  /** Only these sets are reported and waited for. */
  readonly sets: ReadonlySet<string>
  /** Called before each turn to yield to other work. */
  readonly pause?: () => Promise<void>
}

export async function forecast({ objects, now, switchMs, sets, pause }: ForecastRequest): Promise<Forecast> {
  const world = new World(objects, now, { ms: switchMs })
  const log = new RolloutLog(objects, now, sets)
  let idleMs = 1_000
  for (let turns = 0; turns < MOST_TURNS && world.now - now < MOST_MS; turns++) {
    await pause?.()
    if (world.turn()) {
      log.note(world)
      idleMs = 1_000
      continue
    }
    log.note(world)
    if (isAtRest(world, sets)) break
    const from = world.now
    if (!world.advance()) break
    if (!world.isAnyUnderWay) {
      world.now = Math.max(world.now, from + idleMs)
      idleMs = Math.min(idleMs * 2, MOST_IDLE_STEP_MS)
    }
    log.passed(world, world.now - from)
  }
  return log.result(world)
}

const isAtRest = (world: World, sets: ReadonlySet<string>): boolean =>
  !world.isAnyUnderWay &&
  [...world.sets.values()].every(
    (s) => !sets.has(s.metadata.name ?? '') || isOver(s) || (s.status?.counts?.total ?? 0) === 0,
  )

/** A set that is blocked because of one component rolls the others out to the end. */
export const isOver = ({ status, metadata }: MachineComponentSet): boolean =>
  status?.observedGeneration === metadata.generation &&
  (status?.phase === 'Complete' || (status?.phase === 'Blocked' && !(status.slices ?? []).some(isOpen)))

/** What a set is blocked by: each component with its reason. */
export const blockedText = ({ status }: MachineComponentSet): string =>
  (status?.revisions?.blocked ?? []).map((b) => `${b.component}: ${b.reason ?? ''}`).join('; ')

/** What a rollout did and waited for, in a forecast and in a simulation. */
export class RolloutLog {
  readonly #start: number
  readonly #sets: ReadonlySet<string>
  readonly #components: ReadonlyMap<string, MachineComponent>
  readonly #slices = new Map<string, ForecastSlice>()
  readonly #brakes = new Map<string, number>()
  readonly #holds = new Set<string>()
  readonly #switches = new Set<string>()
  #mostUnavailable = 0
  #risk: Risk | undefined
  #last: number

  constructor({ components }: WorldObjects, start: number, sets: ReadonlySet<string>) {
    this.#components = new Map(components.map((c) => [c.metadata.name ?? '', c]))
    this.#start = start
    this.#last = start
    this.#sets = sets
  }

  note(world: World): void {
    const at = world.now - this.#start
    const seen = new Set<string>()
    for (const [set, { status }] of world.sets) {
      if (!this.#sets.has(set)) continue
      for (const slice of status?.slices ?? []) {
        const key = `${set}\n${slice.component}\n${slice.version ?? ''}\n${slice.step}\n${slice.number}`
        seen.add(key)
        const permit = world.permits.get(slice.permit ?? '')
        const operations = permit?.spec.operations ?? []
        if (permit !== undefined) {
          const risk = riskOf(operations)
          if (this.#risk === undefined || isAtLeast(risk, this.#risk)) this.#risk = risk
        }
        const before = this.#slices.get(key)
        const isWaiting = slice.phase === 'Planned' || slice.phase === 'AwaitingPermit'
        const begun = before?.begun ?? (isWaiting ? undefined : at)
        const isDone = !isWaiting && slice.phase !== 'Switching'
        this.#slices.set(key, {
          set,
          component: slice.component,
          version: slice.version,
          step: slice.step,
          number: slice.number,
          machines: activeMachines(slice),
          drains: (before?.drains ?? false) || (operations.includes('Drain') && this.#drains(slice)),
          reboots: (before?.reboots ?? false) || operations.includes('Reboot'),
          asked: before?.asked ?? at,
          begun,
          done: before?.done ?? (isDone ? at : undefined),
        })
        this.#last = world.now
      }
    }
    for (const [key, slice] of this.#slices)
      if (!seen.has(key) && slice.done === undefined)
        this.#slices.set(key, { ...slice, begun: slice.begun ?? at, done: at })
    this.#mostUnavailable = Math.max(this.#mostUnavailable, world.updating.size)
  }

  #drains({ component, version }: { readonly component: string; readonly version?: string }): boolean {
    return version === undefined || this.#components.has(componentObjectName(component, version))
  }

  /** Adds the elapsed time to every cause that a set or one of its permits waited for. */
  passed(world: World, ms: number): void {
    const reasons = new Set<string>()
    for (const [name, { status }] of world.sets) {
      if (!this.#sets.has(name)) continue
      const wait = status?.waitingFor
      if (wait?.predicate === 'BudgetExhausted') reasons.add(`maxUnavailable of ${name}`)
      else if (wait !== undefined && HOLD_REASONS.has(wait.predicate)) {
        const hold = `${wait.seen ?? 'hold'} (set ${name})`
        reasons.add(hold)
        this.#holds.add(hold)
      } else if (wait !== undefined && BRAKES.has(wait.predicate))
        reasons.add(`${BRAKES.get(wait.predicate)} of ${name}`)
      for (const slice of status?.slices ?? []) {
        const permit = slice.phase === 'AwaitingPermit' ? world.permits.get(slice.permit ?? '') : undefined
        const bound = permit?.status?.verdicts?.find((v) => v.verdict === 'Waiting')
        if (bound !== undefined) reasons.add(brakeOf(bound as unknown as GateVerdict))
        if (slice.phase === 'Soaking') reasons.add(`soak of ${name}`)
        if (slice.phase !== 'Switching') continue
        const work = switchesOf(slice.component)
        reasons.add(work)
        this.#switches.add(work)
      }
    }
    for (const reason of reasons) this.#brakes.set(reason, (this.#brakes.get(reason) ?? 0) + ms)
  }

  result(world: World): Forecast {
    const wanted = [...world.sets.values()].filter((s) => this.#sets.has(s.metadata.name ?? ''))
    const stuck = wanted.filter((s) => s.status?.phase !== 'Complete' && (s.status?.counts?.total ?? 0) > 0)
    return {
      slices: [...this.#slices.values()],
      ms: this.#last - this.#start,
      end: world.objects(),
      endedAt: world.now,
      permits: [...world.permits.values()],
      mostUnavailable: this.#mostUnavailable,
      brakes: [...this.#brakes]
        .map(([what, ms]) => ({
          what,
          ms,
          ...(this.#holds.has(what) && { isHold: true as const }),
          ...(this.#switches.has(what) && { isWork: true as const }),
        }))
        .toSorted((a, b) => b.ms - a.ms),
      risk: this.#risk,
      stuck: stuck.map((set) => ({ set: set.metadata.name ?? '', wait: lastWaitOf(set) })),
      skipped: wanted.flatMap(({ metadata: { name: set = '' }, status }) =>
        (status?.skipped ?? []).map(({ machine, reason }) => ({ set, machine, reason })),
      ),
    }
  }
}

function lastWaitOf(set: MachineComponentSet): Forecast['stuck'][number]['wait'] {
  const { phase, waitingFor = {} } = set.status ?? {}
  const { predicate = 'Progressing', seen = '', unblock = '' } = waitingFor as Partial<Wait>
  // What its other components wait for is not why it does not finish.
  if (phase === 'Blocked' && predicate !== 'RevisionFailed')
    return { predicate: 'RevisionFailed', seen: blockedText(set), unblock: '' }
  // These permits exist only in memory, so no command can show them.
  const [cure = ''] = unblock.split('; for details run ')
  return { predicate, seen, unblock: cure }
}

/** The switches themselves, which take most of the time if nothing else limits the rollout. */
const switchesOf = (component: string): string => `switches of ${component}`

/** Causes that slow a rollout without failing it. */
const BRAKES: ReadonlyMap<string, string> = new Map([
  ['WaitingForWindow', 'window'],
  ['RequirementUnmet', 'requirements'],
  ['ZoneOutage', 'silent machines'],
])

const brakeOf = ({ gate, policy, limit }: GateVerdict): string =>
  [policy ?? gate, limit ?? gate].filter((part, i, all) => all.indexOf(part) === i).join(': ')
