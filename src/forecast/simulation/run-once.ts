// One run of a simulation: the cluster after a commit, disturbed by a scenario, until it rests or the time is over. The same inputs and seed give the same run.
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { Scenario } from '#api/scenario.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { operationName } from '#api/protocol/operations.ts'
import { whyNoRescue } from '#nodes/faults/rescue.ts'
import { needsRescue } from '#controllers/remedyjob/seen.ts'
import { ruleOf } from '#controllers/remedy/repairs/history.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { timestamp } from '#lib/clock.ts'
import { luckOf } from '#lib/luck.ts'
import { readByRules, RuleSet } from '../backtest/rule-set.ts'
import { type Brake, RolloutLog, isOver } from '../forecast.ts'
import { Creations } from './creations.ts'
import { drawnDurations } from './durations.ts'
import type { SwitchEnd } from './agents.ts'
import { Hosts } from './hosts.ts'
import { type Incident, incidentsOf } from './incidents.ts'
import { type PeaksByPlace, Peaks } from './peaks.ts'
import { Reclaims } from './reclaims.ts'
import { type RepairSums, Repairs } from './repairs.ts'
import { Timeline, type TimelineEntry } from './timeline.ts'
import { World, type WorldObjects } from './world.ts'

export interface RunRequest {
  readonly objects: WorldObjects
  /** Sets that the commit changes. */
  readonly changedSets: readonly string[]
  readonly rules: readonly NodeRemedier[]
  readonly scenario: Scenario
  readonly seed: number
  /** When the inventory was taken. */
  readonly begin: number
  readonly mostMs: number
  /** Called from time to time to yield to other work. */
  readonly pause?: () => Promise<void>
}

export interface RunResult {
  readonly seed: number
  /** Until the run ended. */
  readonly ms: number
  /** Until all changed sets were complete; undefined if they were not in time. */
  readonly completeMs: number | undefined
  readonly blockedSets: readonly string[]
  readonly stuck: readonly string[]
  /** Machines on which a bad version failed. */
  readonly failedSwitches: number
  /** Components with a bad version to which a machine switched, whether it failed there or not. */
  readonly triedBad: readonly string[]
  readonly slices: number
  /** Components that switched on some machine. */
  readonly switched: readonly string[]
  /** Taken out by rollouts and repairs. */
  readonly own: PeaksByPlace
  /** Also those that a fault or an outage took. */
  readonly all: PeaksByPlace
  readonly faults: { readonly begun: number; readonly open: number; readonly minutes: number }
  readonly repairs: RepairSums
  /** Hosts that the provider reclaimed. */
  readonly reclaimed: number
  /** How long new hosts waited for the provider in total. */
  readonly creationWaitMs: number
  readonly waits: readonly Brake[]
  readonly timeline: readonly TimelineEntry[]
  readonly moreTimeline: number
}

/** Times are rounded up to this. Reports arrive together, and nothing in the result is that exact. */
const QUANTUM_MS = 10_000
/** In a cluster of so many machines, something ends at nearly every moment, and every plan of it reads them all. */
const LARGE_QUANTA = [
  { from: 5_000, ms: 60_000 },
  { from: 2_000, ms: 30_000 },
] as const
/** While only time passes, the steps grow up to this. */
const MOST_IDLE_STEP_MS = 300_000
/** Plans, permits and orders follow each other at one time. */
const MOST_ROUNDS = 50
const PAUSE_EVERY = 20

export async function runOnce(request: RunRequest): Promise<RunResult> {
  const { pause } = request
  const run = new Run(request)
  for (let turns = 0; !run.isAtEnd; turns++) {
    if (turns % PAUSE_EVERY === 0) await pause?.()
    await run.turn()
  }
  return run.result()
}

class Run {
  readonly #request: RunRequest
  readonly #world: World
  readonly #hosts: Hosts
  readonly #repairs: Repairs
  readonly #log: RolloutLog
  readonly #timeline: Timeline
  readonly #rules: RuleSet
  readonly #peaks: { readonly own: Peaks; readonly all: Peaks }
  readonly #incidents: Incident[]
  readonly #creations: Creations
  readonly #reclaims: Reclaims
  readonly #waits = new Map<string, number>()
  readonly #newVersions: ReadonlySet<string>
  readonly #faults = { begun: 0, ms: 0 }
  readonly #triedBad = new Set<string>()
  #failed = 0
  #completeAt: number | undefined
  readonly #quantumMs: number
  #idleMs: number
  #isResting = false

  constructor(request: RunRequest) {
    const { objects, changedSets, rules, scenario, seed, begin } = request
    this.#request = request
    this.#quantumMs = LARGE_QUANTA.find((q) => objects.machines.length >= q.from)?.ms ?? QUANTUM_MS
    this.#idleMs = this.#quantumMs
    this.#newVersions = new Set(
      objects.sets
        .filter((s) => changedSets.includes(s.metadata.name ?? ''))
        .flatMap((s) => s.spec.components.map((c) => `${c.name}\n${c.version}`)),
    )
    const world = new World(objects, begin, {
      ms: drawnDurations(objects.sets, seed),
      end: (machine, component, version) => this.#endOf(machine, component, version),
    })
    this.#world = world
    this.#timeline = new Timeline(begin)
    this.#creations = new Creations(scenario.providerLimits, begin)
    this.#hosts = new Hosts(world, (node) => this.#repairs.note(node))
    this.#rules = new RuleSet(rules)
    this.#repairs = new Repairs(
      {
        world,
        rules: this.#rules,
        helps: (job) => this.#helps(job),
        creations: this.#creations,
        onEvent: (what) => this.#timeline.add(world.now, what),
      },
      this.#hosts.machineOf,
    )
    this.#reclaims = new Reclaims({
      world,
      hosts: this.#hosts,
      creations: this.#creations,
      onEvent: (what) => this.#timeline.add(world.now, what),
    })
    this.#log = new RolloutLog(objects, begin, new Set(changedSets))
    this.#peaks = { own: new Peaks(objects.machines), all: new Peaks(objects.machines) }
    this.#incidents = [...incidentsOf(scenario, objects.machines, begin, seed)]
  }

  get isAtEnd(): boolean {
    const { begin, mostMs } = this.#request
    return this.#isResting || this.#world.now >= begin + mostMs
  }

  async turn(): Promise<void> {
    const world = this.#world
    const { begin, mostMs } = this.#request
    const hadIncident = this.#happen()
    let isChanged = hadIncident
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const moved = world.turn()
      const decided = world.isCut ? false : await this.#repairs.step(world.now)
      if (!moved && !decided) break
      isChanged ||= moved
    }
    this.#note()
    this.#isResting = this.#rests()
    if (this.#isResting) return
    this.#idleMs = isChanged || world.isAnyUnderWay ? this.#quantumMs : Math.min(this.#idleMs * 2, MOST_IDLE_STEP_MS)
    const from = world.now
    const rollouts = Math.max(world.nextAt ?? Infinity, from + this.#idleMs)
    const next = Math.min(rollouts, world.isCut ? Infinity : Math.max(this.#repairs.wakeAt, from + 1))
    const onGrid = begin + Math.ceil((next - begin) / this.#quantumMs) * this.#quantumMs
    // A resting cluster has nothing to do until something happens to it.
    world.now = Math.min(onGrid, this.#incidents[0]?.at ?? Infinity, this.#hosts.nextAt, begin + mostMs)
    this.#passed(world.now - from)
  }

  /** What the scenario makes happen by now. */
  #happen(): boolean {
    const { now } = this.#world
    let isAny = this.#hosts.turn(now)
    for (let next = this.#incidents[0]; next !== undefined && next.at <= now; next = this.#incidents[0]) {
      this.#incidents.shift()
      this.#apply(next)
      isAny = true
    }
    return isAny
  }

  #apply(incident: Incident): void {
    const { now } = this.#world
    switch (incident.kind) {
      case 'Fault':
        if (!this.#hosts.begin(incident.of, now)) return
        this.#faults.begun++
        return this.#timeline.add(now, `${incident.of.fault.condition} begins on ${incident.of.machine}`)
      case 'FaultOver':
        if (this.#hosts.end(incident.of, now))
          this.#timeline.add(now, `${incident.of.fault.condition} ends by itself on ${incident.of.machine}`)
        return
      case 'Away':
      case 'Back':
        this.#hosts.reach(incident.machines, incident.kind === 'Back', now)
        return this.#timeline.add(
          now,
          `${incident.why}: ${incident.machines.length} machines ${incident.kind === 'Back' ? 'are back' : 'stop'}`,
        )
      case 'Cut':
      case 'Connected':
        this.#world.isCut = incident.kind === 'Cut'
        return this.#timeline.add(now, incident.kind === 'Cut' ? 'the API cannot be reached' : 'the API is back')
      case 'Announced':
        this.#world.maintenance.push(...incident.machines.map((m) => workOn(m, incident.from, incident.to)))
        return this.#timeline.add(now, `work on the hosts of ${incident.machines.length} machines is announced`)
      case 'Reclaimed':
        return this.#reclaims.announced(incident.of)
      case 'Gone': {
        const at = this.#reclaims.gone(incident.of)
        if (at !== undefined) this.#insert({ at, kind: 'Replaced', of: incident.of })
        return
      }
      case 'Replaced':
        return this.#reclaims.replaced(incident.of)
    }
  }

  #insert(incident: Incident): void {
    const after = this.#incidents.findIndex((other) => other.at > incident.at)
    this.#incidents.splice(after === -1 ? this.#incidents.length : after, 0, incident)
  }

  /** Only versions that the commit brings can be bad. */
  #endOf(machine: string, component: string, version: string): SwitchEnd {
    const { scenario, seed } = this.#request
    if (!this.#newVersions.has(`${component}\n${version}`)) return 'Healthy'
    for (const bad of scenario.badVersions ?? []) {
      if (bad.component !== component) continue
      this.#triedBad.add(component)
      if (luckOf(seed, `${machine}\n${component}\n${version}`) >= (bad.share ?? 1)) continue
      this.#failed++
      this.#timeline.add(this.#world.now, `${component} ${version} fails on ${machine}`)
      return bad.ends ?? 'RolledBack'
    }
    return 'Healthy'
  }

  #helps(job: RemedyOperationJob): boolean {
    const active = this.#rules.active().find((a) => a.name === ruleOf(job))
    const types = active === undefined ? undefined : readByRules([active.rule]).types
    const done = doneBy(job, this.#world.machines.get(job.spec.machine ?? ''))
    let helped = false
    for (const of of this.#hosts.faultsOf(job.spec.node.name)) {
      const { condition, clearedBy = [], clearShare = 1 } = of.fault
      if (types !== undefined && !types.has(condition)) continue
      if (!clearedBy.some((operation) => done.has(operation))) continue
      if (luckOf(this.#request.seed, `${job.metadata.name}\n${condition}`) >= clearShare) continue
      helped = this.#hosts.end(of, this.#world.now) || helped
    }
    return helped
  }

  #note(): void {
    const world = this.#world
    if (world.isCut) return
    this.#log.note(world)
    const own = new Set([...world.updating, ...this.#repairs.out])
    this.#peaks.own.note(own, world.now)
    this.#peaks.all.note(new Set([...own, ...this.#hosts.unavailable]), world.now)
    this.#timeline.sets(world, this.#request.changedSets)
    const sets = this.#request.changedSets.flatMap((name) => world.sets.get(name) ?? [])
    if (this.#completeAt === undefined && sets.every((s) => isOver(s) && s.status?.phase === 'Complete'))
      this.#completeAt = world.now
  }

  #passed(ms: number): void {
    this.#log.passed(this.#world, ms)
    this.#faults.ms += this.#hosts.open * ms
    for (const what of this.#repairs.waits) this.#waits.set(what, (this.#waits.get(what) ?? 0) + ms)
  }

  #rests(): boolean {
    const world = this.#world
    if (world.isCut || this.#incidents.length > 0 || this.#hosts.nextAt !== Infinity) return false
    if (world.isAnyUnderWay || this.#repairs.isAnyOpen || this.#repairs.wakeAt !== Infinity) return false
    return this.#request.changedSets.every((name) => {
      const set = world.sets.get(name)
      return set === undefined || isOver(set) || (set.status?.counts?.total ?? 0) === 0
    })
  }

  result(): RunResult {
    const world = this.#world
    const { begin, seed, changedSets } = this.#request
    const { brakes, slices, stuck } = this.#log.result(world)
    const phaseOf = (name: string) => world.sets.get(name)?.status?.phase
    const ofRepairs = [...this.#waits].map(([what, ms]) => ({ what: `repairs: ${what}`, ms }))
    return {
      seed,
      ms: world.now - begin,
      completeMs: this.#completeAt === undefined ? undefined : this.#completeAt - begin,
      blockedSets: changedSets.filter((name) => phaseOf(name) === 'Blocked'),
      stuck: stuck.map(({ set, wait }) => `${set}: ${wait.predicate}${wait.seen === '' ? '' : `, ${wait.seen}`}`),
      failedSwitches: this.#failed,
      triedBad: [...this.#triedBad],
      slices: slices.length,
      switched: [...new Set(slices.filter((s) => s.begun !== undefined).map((s) => s.component))],
      own: this.#peaks.own.result(),
      all: this.#peaks.all.result(),
      faults: { begun: this.#faults.begun, open: this.#hosts.open, minutes: Math.round(this.#faults.ms / 60_000) },
      repairs: this.#repairs.sums,
      reclaimed: this.#reclaims.count,
      creationWaitMs: this.#creations.waitedMs(world.now),
      waits: [...brakes, ...ofRepairs].filter((b) => b.ms > 0).toSorted((a, b) => b.ms - a.ms),
      timeline: this.#timeline.entries,
      moreTimeline: this.#timeline.more,
    }
  }
}

/** What takes effect: a rescue does nothing while the agent answers, and cannot log in without its key. */
function doneBy({ spec }: RemedyOperationJob, machine: Machine | undefined): ReadonlySet<string> {
  const isRescued = whyNoRescue(machine) === undefined && needsRescue({ machine })
  const names = spec.operations.flatMap((o) => operationName(o) ?? [])
  return new Set(names.filter((name) => isRescued || (name !== 'rescue' && name !== 'rescueReboot')))
}

/** As a person plans it. */
const workOn = (machine: string, from: number, to: number): MaintenanceEvent => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'MaintenanceEvent',
  metadata: { name: `simulated-${machine}-${from}`, uid: `simulated-${machine}-${from}` },
  spec: {
    machine,
    source: 'People',
    eventId: `simulated-${from}`,
    kind: 'Stop',
    state: 'Scheduled',
    unplanned: false,
    dataLoss: false,
    notBefore: timestamp(from),
    notAfter: timestamp(to),
    plannedBy: 'scenario',
  },
})
