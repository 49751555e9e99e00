// An in-memory copy of one cluster, in which the controllers' own plans and the Defender's decisions take effect at once. Machines finish their orders after as
// long as such a switch took before, and nothing fails. It touches nothing outside.
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { ComponentStatus, Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { activeMachines } from '#api/protocol/part.ts'
import { hasOpenSwitch } from '#api/protocol/component-order.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import { timestamp } from '#lib/clock.ts'
import { jsonEqual } from '#lib/json.ts'
import { componentObjectName } from '#lib/names.ts'
import { claimOf } from '#controllers/machine/components/claims.ts'
import { desiredComponents } from '#controllers/machine/components/desired.ts'
import { planOrders } from '#controllers/machine/components/orders.ts'
import type { SetAction } from '#controllers/componentset/actions.ts'
import { ReadingMemo } from '#controllers/componentset/members/members.ts'
import { plan } from '#controllers/componentset/plan.ts'
import type { ControllerRevision } from '#controllers/componentset/revisions/revisions.ts'
import type { CompiledPolicy } from '#defender/compile-policy.ts'
import { Fleet } from '#defender/fleet.ts'
import { isOpen } from '#defender/permit-phase.ts'
import { decide } from '#defender/plan.ts'
import { permitStatus } from '#defender/status.ts'
import type { Snapshot } from '#defender/snapshot.ts'
import { eventsBetween } from './booked.ts'
import type { Node } from '#nodes/objects.ts'
import { EndedPermits, isRefused } from '#permits/ended-for.ts'
import { permitAnswer } from '#permits/permits.ts'
import type { Inventory } from './inventory.ts'

type Listed =
  | 'machines'
  | 'nodes'
  | 'machineSets'
  | 'sets'
  | 'components'
  | 'revisions'
  | 'permits'
  | 'holds'
  | 'approvals'

export interface WorldObjects extends Pick<Inventory, Listed> {
  readonly policies: readonly CompiledPolicy[]
  readonly ledger: LedgerSpec | undefined
  readonly cluster: string | undefined
  readonly apiServer: string | undefined
  /** Open host maintenance when the inventory was taken. */
  readonly maintenance?: readonly MaintenanceEvent[]
}

/** From the grant until the version counts as healthy. */
export type SwitchMs = (set: string, component: string) => number

const LEADER = 'forecast'
/** Facts of custom policy rules are unknown in advance, so such rules count as not true. */
const NO_RULES: Snapshot['rules'] = new Map()
const NOTHING: ReadonlySet<string> = new Set()

export class World {
  now: number
  readonly #begin: number
  readonly machines: Map<string, Machine>
  readonly nodes: ReadonlyMap<string, Node>
  readonly sets: Map<string, MachineComponentSet>
  readonly permits: Map<string, OperationPermit>
  readonly #objects: WorldObjects
  readonly #components: ReadonlyMap<string, MachineComponent>
  readonly #machineSets: ReadonlyMap<string, MachineSet>
  readonly #memos = new Map<string, ReadingMemo>()
  readonly #ended = new EndedPermits({ now: () => this.now, monotonic: () => this.now })
  readonly #fleet = new Fleet()
  readonly #switchMs: SwitchMs
  readonly #configs = new Set<string>()
  /** When the switch of a machine's component ends, by both names. */
  readonly #ends = new Map<string, number>()
  #revisions: readonly ControllerRevision[]
  #ledger: LedgerSpec | undefined
  #asked = 0
  /** When time alone makes the next plan or decision due. */
  #next: number | undefined

  constructor(objects: WorldObjects, now: number, switchMs: SwitchMs) {
    const nameOf = (o: { readonly metadata: { readonly name?: string } }) => o.metadata.name ?? ''
    this.#objects = objects
    this.now = now
    this.#begin = now
    this.#switchMs = switchMs
    this.machines = new Map(objects.machines.map((m) => [nameOf(m), m]))
    this.nodes = new Map(objects.nodes.map((n) => [nameOf(n), n]))
    this.sets = new Map(objects.sets.map((s) => [nameOf(s), s]))
    this.permits = new Map(objects.permits.map((p) => [nameOf(p), p]))
    this.#components = new Map(objects.components.map((c) => [nameOf(c), c]))
    this.#machineSets = new Map(objects.machineSets.map((s) => [nameOf(s), s]))
    this.#revisions = objects.revisions
    this.#ledger = objects.ledger
    for (const [name, machine] of this.machines) this.#fleet.putMachine(name, machine)
    for (const [name, node] of this.nodes) this.#fleet.putNode(name, node)
  }

  /** The current state of the cluster. */
  objects(): WorldObjects {
    const [machines, sets] = [[...this.machines.values()], [...this.sets.values()]]
    return { ...this.#objects, machines, sets, revisions: this.#revisions, permits: [], ledger: this.#ledger }
  }

  /** One turn of sets, Defender and machines. Returns whether anything but time changed. */
  turn(): boolean {
    this.#next = undefined
    const plans = [...this.sets.keys()].map((name) => this.#planTurn(name))
    const decided = this.#defenderTurn()
    const moved = this.#machinesTurn()
    return [...plans, decided, moved].includes(true)
  }

  /** Advances to the next moment when something can change; false if there is none. */
  advance(): boolean {
    const times = [...this.#ends.values(), ...(this.#next === undefined ? [] : [this.#next])].filter(
      (t) => t > this.now,
    )
    if (times.length === 0) return false
    this.now = Math.min(...times)
    return true
  }

  /** Whether a machine is switching: if not, only time can help. */
  get isAnyUnderWay(): boolean {
    return this.#ends.size > 0
  }

  #wakeAt(time: number): void {
    this.#next = Math.min(this.#next ?? Infinity, time)
  }

  #planTurn(name: string): boolean {
    const set = this.sets.get(name)
    if (set === undefined) return false
    const memo = this.#memos.get(name) ?? new ReadingMemo()
    this.#memos.set(name, memo)
    const { holds, apiServer } = this.#objects
    const permits = new Map([...this.permits].filter(([, p]) => p.spec.requester.uid === set.metadata.uid))
    const made = plan(
      {
        set,
        revisions: this.#revisions.filter((r) => r.metadata.ownerReferences?.some((o) => o.uid === set.metadata.uid)),
        machines: [...this.machines.values()],
        nodes: this.nodes,
        permits,
        refusedFor: this.#ended.observe(set.metadata.uid ?? '', [...permits.values()].filter(isRefused)),
        holds,
        machineSets: this.#machineSets,
        sets: [...this.sets.values()],
        components: this.#components,
        configs: this.#configs,
        memo,
        ...defined({ apiServer }),
      },
      this.now,
    )
    for (const action of made.actions) this.#act(action)
    if (made.requeueAfter !== undefined) this.#wakeAt(this.now + Math.max(1, made.requeueAfter))
    const isSame = jsonEqual(set.status, made.status)
    if (!isSame) this.sets.set(name, { ...set, status: made.status })
    return !isSame || made.actions.some((a) => a.kind !== 'RenewPermit')
  }

  #act(action: SetAction): void {
    switch (action.kind) {
      case 'CreateRevision':
        this.#revisions = [...this.#revisions, withUid(action.revision)]
        return
      case 'RenumberRevision':
        this.#replace(action.revision)
        return
      case 'KeepEvidence':
        this.#annotate(action.revision, { [ANNOTATIONS.blocked]: action.evidence })
        return
      case 'KeepCompleted':
        this.#annotate(action.revision, { [ANNOTATIONS.completed]: action.completed })
        return
      case 'DeleteRevision':
        this.#revisions = this.#revisions.filter((r) => r.metadata.name !== action.revision.metadata.name)
        return
      case 'CreateConfig':
        this.#configs.add(action.config.metadata.name ?? '')
        return
      case 'RequestPermit':
        this.permits.set(action.permit, {
          apiVersion: API_GROUP_VERSION,
          kind: 'OperationPermit',
          metadata: {
            name: action.permit,
            uid: `forecast-${this.#asked++}`,
            creationTimestamp: timestamp(this.now),
          },
          spec: action.request as OperationPermit['spec'],
        })
        return
      case 'Report': {
        const permit = this.permits.get(action.permit.metadata.name ?? '')
        if (permit === undefined) return
        const results = Object.fromEntries(action.results.map((r) => [r.uid, r.result]))
        this.#putPermit({ ...permit, spec: { ...permit.spec, results: { ...results, ...permit.spec.results } } })
        return
      }
      // A live requester's lease never expires; inspection pods do not run here.
      case 'RenewPermit':
      case 'StartProbePod':
      case 'EndProbePod':
        return
      default:
        assertNever(action)
    }
  }

  #annotate({ metadata: { name } }: ControllerRevision, added: Readonly<Record<string, string>>): void {
    this.#revisions = this.#revisions.map((r) =>
      r.metadata.name === name
        ? { ...r, metadata: { ...r.metadata, annotations: { ...r.metadata.annotations, ...added } } }
        : r,
    )
  }

  #replace(revision: ControllerRevision): void {
    this.#revisions = this.#revisions.map((r) => (r.metadata.name === revision.metadata.name ? revision : r))
  }

  #putPermit(permit: OperationPermit): void {
    this.permits.set(permit.metadata.name ?? '', permit)
  }

  #defenderTurn(): boolean {
    const { holds, approvals, policies, cluster, maintenance = [] } = this.#objects
    const open = [...this.permits.values()].filter(isOpen)
    const isFree = ({ spec }: OperationPermit) => this.#isWithoutDisruption(spec.component)
    const snapshot: Snapshot = {
      permits: open,
      policies,
      holds,
      approvals,
      fleet: this.#fleet,
      hosts: new Map(),
      unknown: undefined,
      cluster,
      wall: this.now,
      leasesOver: NOTHING,
      deletedPermits: NOTHING,
      deletedTargets: NOTHING,
      maintenance: eventsBetween(maintenance, this.now, this.now, this.#begin),
      suspicions: [],
      retried: NOTHING,
      rules: NO_RULES,
      isIdle: () => true,
      isRecovery: ({ spec }) => spec.recovery,
      isWithoutDisruption: (permit) => permit.spec.operations.every((o) => o === 'SwitchComponent') && isFree(permit),
    }
    const { ledger, permits, retryAfterMs } = decide(snapshot, this.#ledger, { now: this.now, leader: LEADER })
    if (ledger !== undefined) this.#ledger = ledger
    if (retryAfterMs !== undefined) this.#wakeAt(this.now + Math.max(1, retryAfterMs))
    let isChanged = false
    for (const decision of permits) {
      const { permit } = decision
      const status = permitStatus(decision, [], { now: this.now, expiresAt: undefined })
      if (permit.status?.phase !== status.phase || permit.status?.granted !== status.granted) isChanged = true
      this.#putPermit({ ...permit, status })
    }
    return isChanged
  }

  #isWithoutDisruption(component: OperationPermit['spec']['component']): boolean {
    if (component?.version === undefined) return false
    return this.#components.get(componentObjectName(component.name, component.version))?.spec.disruption === 'None'
  }

  /** Only machines of open slices and permits: the others get no new orders. */
  #machinesTurn(): boolean {
    const named = new Set<string>()
    for (const { status } of this.sets.values())
      for (const slice of status?.slices ?? [])
        if (slice.phase !== 'Passed') activeMachines(slice).forEach((m) => named.add(m))
    for (const key of this.#ends.keys()) named.add(key.slice(0, key.indexOf('\n')))
    const byTarget = new Map<string, OperationPermit[]>()
    for (const permit of this.permits.values())
      if (isOpen(permit))
        for (const { uid } of permit.spec.targets) byTarget.set(uid, [...(byTarget.get(uid) ?? []), permit])
    let isChanged = false
    for (const name of named) {
      const before = this.machines.get(name)
      if (before === undefined || isOutOfReach(before)) continue
      const after = this.#machineTurn(before, byTarget.get(before.metadata.uid ?? '') ?? [])
      if (jsonEqual([before.spec.components, before.status], [after.spec.components, after.status])) continue
      isChanged = true
      this.machines.set(name, after)
      this.#fleet.putMachine(name, after)
    }
    return isChanged
  }

  #machineTurn(machine: Machine, permits: readonly OperationPermit[]): Machine {
    const name = machine.metadata.name ?? ''
    const claims = [...this.sets.values()].flatMap(
      (set) => claimOf(set, machine, (n) => this.#revisions.find((r) => r.metadata.name === n)) ?? [],
    )
    const reports = machine.status?.components ?? []
    const current = machine.spec.components ?? []
    const marks = [] as const
    const desired = desiredComponents({ machine: name, isClosed: false, current, reports, claims, marks })
    const definitions = desired.flatMap((c) => this.#components.get(componentObjectName(c.name, c.version)) ?? [])
    const { components } = planOrders({
      machine: name,
      machineUid: machine.metadata.uid ?? '',
      components: desired,
      reports,
      claims,
      marks,
      permits,
      definitions,
      // The recorded duration of such a switch includes the drain.
      isDrained: true,
    })
    const before = new Map(current.map((c) => [c.name, c.config]))
    const next = this.#agentTurn(name, { ...machine, spec: { ...machine.spec, components } }, { permits, before })
    const isBusy =
      hasOpenSwitch({ spec: { ...machine.spec, components }, status: { components: next } }) ||
      next.some((r) => isSwitching(r.state))
    const { phase } = machine.status ?? {}
    const isWorking = phase === 'Ready' || phase === 'Updating'
    return {
      ...machine,
      spec: { ...machine.spec, components },
      status: { ...machine.status, components: next, ...(isWorking && { phase: isBusy ? 'Updating' : 'Ready' }) },
    }
  }

  /** Stages at once, because that disrupts nothing; then the switch takes its time. */
  #agentTurn(name: string, machine: Machine, { permits, before }: Orders): readonly ComponentStatus[] {
    const reports = machine.status?.components ?? []
    const uid = machine.metadata.uid ?? ''
    return (machine.spec.components ?? []).map((order): ComponentStatus => {
      const report = reports.find((r) => r.name === order.name)
      const key = `${name}\n${order.name}`
      const end = this.#ends.get(key)
      if (report !== undefined && isSwitching(report.state)) {
        if (end === undefined) this.#ends.set(key, this.now + this.#switchMs(order.setRef ?? '', order.name))
        if (end === undefined || end > this.now) return report
        this.#ends.delete(key)
        const { drifted: _, ...fresh } = report
        return {
          ...fresh,
          ...(report.desired && { version: report.desired }),
          since: timestamp(this.now),
          state: 'Healthy',
        }
      }
      const isKnown = report?.desired === order.version && report.attempt === order.attempt
      const base = { name: order.name, desired: order.version, attempt: order.attempt, since: timestamp(this.now) }
      const running = report?.version === undefined ? {} : { version: report.version }
      // Another configuration is a switch too.
      const isRunning = report?.version === order.version && before.get(order.name) === order.config
      if (!isKnown) return { ...base, ...running, state: isRunning ? 'Healthy' : 'Staged' }
      if (report.state === 'Fetching') return { ...report, state: 'Staged', since: timestamp(this.now) }
      const isOrdered = order.switch?.attempt === order.attempt && isGranted(permits, order.switch.permit, uid)
      if (report.state !== 'Staged' || !isOrdered) return report
      this.#ends.set(key, this.now + this.#switchMs(order.setRef ?? '', order.name))
      return { ...report, state: 'Switching', since: timestamp(this.now) }
    })
  }
}

interface Orders {
  readonly permits: readonly OperationPermit[]
  /** Previously ordered configurations, by component. */
  readonly before: ReadonlyMap<string, string | undefined>
}

const isGranted = (permits: readonly OperationPermit[], name: string, uid: string): boolean =>
  permitAnswer(
    permits.find((p) => p.metadata.name === name),
    uid,
  ).kind === 'Granted'

/** Orders cannot reach it. */
const isOutOfReach = ({ status, metadata }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined ||
  status?.conditions?.some((c) => c.type === 'AgentReachable' && c.status !== 'True') === true

const withUid = (r: ControllerRevision): ControllerRevision => ({
  ...r,
  metadata: { ...r.metadata, uid: `forecast-${r.metadata.name}` },
})
