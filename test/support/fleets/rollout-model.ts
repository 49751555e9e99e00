// A whole rollout in memory: the planner's actions take effect at once, all other actors take turns. For properties and long stories.
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { assertNever } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import { componentObjectName } from '#lib/names.ts'
import { EndedPermits, isRefused } from '#permits/ended-for.ts'
import { permitAnswer } from '#permits/permits.ts'
import type { Node, Pod } from '#nodes/objects.ts'
import { ReadingMemo } from '#controllers/componentset/members/members.ts'
import type { CheckResult } from '#controllers/componentset/inspection/inspections.ts'
import type { SetAction } from '#controllers/componentset/actions.ts'
import { claimOf } from '#controllers/machine/components/claims.ts'
import {
  phased,
  renewed,
  requestedPermit,
  revisionsAfter,
  withOrders,
  withResults,
} from '#forecast/simulation/effects.ts'
import { type SetPlan, plan } from '#controllers/componentset/plan.ts'
import type { ControllerRevision } from '#controllers/componentset/revisions/revisions.ts'
import { type Rules, rolloutRules } from '#controllers/componentset/slices/rules.ts'
import type { Seen } from '#controllers/componentset/seen.ts'
import {
  type Quality,
  START,
  agentTurn,
  componentSet,
  defenderTurn,
  isAtWork,
  isSilent,
  readyNode,
} from './rollout-fleet.ts'
import { changedDecision } from './slice-decisions.ts'

export interface ModelOptions {
  readonly machines: readonly Machine[]
  readonly set: MachineComponentSet
  readonly components: readonly MachineComponent[]
  readonly quality?: Quality
  readonly rules?: Rules
}

export class RolloutModel {
  now = START
  set: MachineComponentSet
  others: readonly MachineComponentSet[] = []
  machines: Map<string, Machine>
  nodes: Map<string, Node>
  permits = new Map<string, OperationPermit>()
  revisions: readonly ControllerRevision[] = []
  holds: readonly OperationalHold[] = []
  policies = new Map<string, DefenderPolicy>()
  components: Map<string, MachineComponent>
  configs = new Set<string>()
  probePods: readonly Pod[] = []
  looks: ReadonlyMap<string, CheckResult> = new Map()
  /** Inspections whose first look is under way. */
  looking: ReadonlySet<string> = new Set()
  apiServer = 'v1.34.2'
  quality: Quality
  readonly rules: Rules
  readonly memo = new ReadingMemo()
  readonly #ended = new EndedPermits({ now: () => this.now, monotonic: () => this.now })
  /** Called after every plan. */
  onPlan: (plan: SetPlan, seen: Seen) => void = () => undefined

  /** Changes a plan before it is carried out: a planted bug. */
  distort: (plan: SetPlan, seen: Seen) => SetPlan = (made) => made

  constructor({ machines, set, components, quality = () => 'good', rules = rolloutRules }: ModelOptions) {
    this.set = set
    this.machines = new Map(machines.map((m) => [m.metadata.name ?? '', m]))
    this.nodes = new Map(machines.map((m) => [m.metadata.name ?? '', readyNode(m.metadata.name ?? '')]))
    this.components = new Map(components.map((c) => [c.metadata.name ?? '', c]))
    this.quality = quality
    this.rules = rules
  }

  seen(): Seen {
    const { set, revisions, nodes, permits, holds, components, configs, memo } = this
    return {
      set,
      revisions,
      machines: [...this.machines.values()],
      nodes,
      permits: new Map(permits),
      refusedFor: this.#ended.observe('set', [...permits.values()].filter(isRefused)),
      holds,
      policies: this.policies,
      sets: [set, ...this.others],
      components,
      configs,
      memo,
      apiServer: this.apiServer,
      canInspect: { http: true, prometheus: true, podProbe: true },
      inspectionResults: this.looks,
      pendingInspections: this.looking,
      probePods: this.probePods,
    }
  }

  declare(versions: Readonly<Record<string, string>>, rollout?: Partial<MachineComponentSet['spec']['rollout']>): void {
    const { spec } = componentSet(versions)
    const generation = (this.set.metadata.generation ?? 1) + 1
    this.set = {
      ...this.set,
      metadata: { ...this.set.metadata, generation },
      spec: { ...this.set.spec, components: spec.components, rollout: { ...this.set.spec.rollout, ...rollout } },
    }
  }

  planTurn(): SetPlan {
    const seen = this.seen()
    const made = this.distort(plan(seen, this.now, this.rules), seen)
    this.onPlan(made, seen)
    const changed = changedDecision(this.set.status, made.status)
    if (changed !== undefined) throw new Error(changed)
    for (const action of made.actions) this.act(action)
    this.set = { ...this.set, status: made.status }
    return made
  }

  act(action: SetAction): void {
    if ('revision' in action) {
      this.revisions = revisionsAfter(this.revisions, action)
      return
    }
    switch (action.kind) {
      case 'CreateConfig':
        this.configs.add(action.config.metadata.name ?? '')
        return
      case 'RequestPermit': {
        const uid = `uid-${action.permit}-${this.#asked++}`
        this.permits.set(action.permit, requestedPermit(action, uid, this.now))
        return
      }
      case 'StartProbePod':
        this.probePods = [...this.probePods, action.pod]
        return
      case 'EndProbePod':
        this.probePods = this.probePods.filter((p) => p.metadata.name !== action.pod.metadata.name)
        return
      case 'Report': {
        const { name = '' } = action.permit.metadata
        const permit = this.permits.get(name)
        if (permit !== undefined) this.permits.set(name, withResults(permit, action))
        return
      }
      case 'RenewPermit': {
        const permit = this.permits.get(action.permit.metadata.name ?? '')
        if (permit !== undefined) this.permits.set(permit.metadata.name ?? '', renewed(permit, this.now))
        return
      }
      default:
        assertNever(action)
    }
  }

  defender(): void {
    for (const [name, permit] of this.permits) this.permits.set(name, defenderTurn(permit, this.now))
  }

  machineController(name: string): void {
    const machine = this.machines.get(name)
    if (machine === undefined) return
    const uid = machine.metadata.uid ?? ''
    const names = this.#permitsOf().get(uid) ?? new Set()
    for (const name of names) if (!this.permits.has(name)) names.delete(name)
    const ordered = withOrders({
      machine,
      isClosed: machine.status?.phase === 'Installing',
      claims: [this.set, ...this.others].flatMap((s) => claimOf(s, machine, (n) => this.#revision(n)) ?? []),
      permits: [...names].flatMap((p) => this.permits.get(p) ?? []),
      componentOf: (of, version) => this.components.get(componentObjectName(of, version)),
    })
    this.#put(name, machine, phased(ordered))
  }

  #revision(name: string): ControllerRevision | undefined {
    return this.revisions.find((r) => r.metadata.name === name)
  }

  /** Permits that have ended and that no slice names are deleted, as the Defender does after a day: without it a long life slows down. */
  forgetEnded(): void {
    const named = new Set((this.set.status?.slices ?? []).map((s) => s.permit))
    for (const [name, { status }] of this.permits)
      if (status?.endedAt !== undefined && !named.has(name)) this.permits.delete(name)
  }

  #asked = 0

  /** Names of the permits of a target; targets never change, but a name may be used again. */
  #permitsOf(): ReadonlyMap<string, Set<string>> {
    for (const [name, { spec, metadata }] of this.permits) {
      if (this.#indexed.has(metadata.uid ?? '')) continue
      this.#indexed.add(metadata.uid ?? '')
      for (const { uid } of spec.targets) this.#byTarget.set(uid, (this.#byTarget.get(uid) ?? new Set()).add(name))
    }
    return this.#byTarget
  }
  readonly #indexed = new Set<string>()
  readonly #byTarget = new Map<string, Set<string>>()

  /** Machines that changed since the last round began: only these and those of open slices have anything to do. */
  #changed = new Set<string>()

  #put(name: string, before: Machine, after: Machine): void {
    const own = (m: Machine) => [m.spec.components, m.status?.components, m.status?.phase]
    if (jsonEqual(own(before), own(after))) return
    this.#changed.add(name)
    this.machines.set(name, after)
  }

  agent(name: string): void {
    const machine = this.machines.get(name)
    if (machine === undefined || isSilent(machine)) return
    const uid = machine.metadata.uid ?? ''
    const isGranted = (permit: string) => permitAnswer(this.permits.get(permit), uid).kind === 'Granted'
    this.#put(name, machine, agentTurn(machine, isGranted, this.quality, this.now))
  }

  /** All machines take a turn, or only the given ones. */
  round(ms = 1_000, machines: Iterable<string> = this.machines.keys()): SetPlan {
    this.defender()
    for (const name of machines) {
      this.machineController(name)
      this.agent(name)
    }
    const made = this.planTurn()
    this.now += ms
    return made
  }

  /** Rounds until nothing changes but time, which then jumps to the next look; ends when there is none, or after so many rounds. */
  settle(most = 5_000): SetPlan {
    let machines: Iterable<string> = this.machines.keys()
    for (let n = 0; n < most; n++) {
      const { set } = this
      const permits = [...this.permits.values()]
      this.#changed = new Set()
      const made = this.round(1_000, machines)
      const isNewHead = !jsonEqual(headOf(set), headOf(this.set))
      const open = (this.set.status?.slices ?? []).filter((w) => w.phase !== 'Passed').flatMap((w) => w.machines)
      machines = isNewHead ? this.machines.keys() : new Set([...this.#changed, ...open])
      const isSame = jsonEqual(set.status, this.set.status) && isSameList(permits, [...this.permits.values()])
      if (this.#changed.size > 0 || isNewHead || !isSame) continue
      if (made.requeueAfter === undefined) return made
      this.now += made.requeueAfter
    }
    throw new Error(`not settled after ${most} rounds: ${JSON.stringify(this.set.status?.waitingFor)}`)
  }

  versions(component: string): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const m of this.machines.values()) {
      const v = m.status?.components?.find((c) => c.name === component)?.version ?? 'none'
      counts[v] = (counts[v] ?? 0) + 1
    }
    return counts
  }

  /** Machines that are between two versions, or were ordered to be. */
  atWork(): readonly string[] {
    return [...this.machines.values()].filter(isAtWork).map((m) => m.metadata.name ?? '')
  }
}

/** What concerns every machine of the set. */
const headOf = ({ spec, status }: MachineComponentSet) => [spec, status?.revisions, status?.observedGeneration]

const isSameList = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((one, i) => one === b[i])
