// An in-memory copy of one cluster, in which the controllers' own plans and the Defender's decisions take effect at once. Agents finish their orders after as
// long as such a switch took before. A forecast runs it undisturbed; a simulation breaks nodes, switches and the API on the way. It touches nothing outside.
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import { componentObjectName } from '#lib/names.ts'
import { without } from '#lib/without.ts'
import type { SetAction } from '#controllers/componentset/actions.ts'
import { ReadingMemo } from '#controllers/componentset/members/members.ts'
import { plan } from '#controllers/componentset/plan.ts'
import type { ControllerRevision } from '#controllers/componentset/revisions/revisions.ts'
import type { CompiledPolicy } from '#defender/compile-policy.ts'
import { Fleet } from '#defender/fleet.ts'
import { oldPermits } from '#defender/old-permits.ts'
import { isOpen } from '#defender/permit-phase.ts'
import { decide, isReported } from '#defender/plan.ts'
import { permitStatus } from '#defender/status.ts'
import type { Snapshot } from '#defender/snapshot.ts'
import { eventsBetween } from '../booked.ts'
import type { Node } from '#nodes/objects.ts'
import { EndedPermits, isRefused } from '#permits/ended-for.ts'
import type { Inventory } from '../inventory.ts'
import { Agents, type Switches } from './agents.ts'
import { renewed, requestedPermit, revisionsAfter, withResults } from './effects.ts'
import { rebootMs } from './reboot-time.ts'
import { MachineTurns } from './machine-turns.ts'

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

interface Planned {
  readonly version: number
  readonly at: number
  readonly until: number
}

/** Of one requester. */
interface AskedPermits {
  /** Without those that have ended and that nothing names any more, which the Defender deletes after a day: a rollout has thousands. */
  readonly all: Map<string, OperationPermit>
  readonly refused: Map<string, OperationPermit>
  /** Those of `all` that have ended, and that refused nothing. */
  readonly ended: Set<string>
}

const LEADER = 'forecast'
const AT_REST_MS = 60_000
/** As the Defender does. */
const SWEEP_MS = 60_000
/** Facts of custom policy rules are unknown in advance, so such rules count as not true. */
const NO_RULES: Snapshot['rules'] = new Map()
const NOTHING: ReadonlySet<string> = new Set()

export class World {
  now: number
  readonly #begin: number
  readonly machines: Map<string, Machine>
  readonly nodes: Map<string, Node>
  readonly sets: Map<string, MachineComponentSet>
  readonly permits = new Map<string, OperationPermit>()
  /** Work on hosts, which budgets count. */
  readonly maintenance: MaintenanceEvent[]
  /** Machines of which a component is between two versions. */
  readonly updating = new Set<string>()
  /** Machines that do nothing and report nothing. */
  readonly stalled = new Set<string>()
  /** The API cannot be reached: no controller acts, and no agent reports. */
  isCut = false
  readonly #objects: WorldObjects
  readonly #components: ReadonlyMap<string, MachineComponent>
  readonly #machineSets: ReadonlyMap<string, MachineSet>
  readonly #memos = new Map<string, ReadingMemo>()
  readonly #ended = new EndedPermits({ now: () => this.now, monotonic: () => this.now })
  /** Those that wait or run: ended ones are the more the longer a rollout lasts. */
  readonly #open = new Map<string, OperationPermit>()
  /** By the UID of the requester. */
  readonly #asked = new Map<string, AskedPermits>()
  readonly #fleet = new Fleet()
  readonly #agents: Agents
  readonly #turns: MachineTurns
  readonly #configs = new Set<string>()
  #revisions: readonly ControllerRevision[]
  #ledger: LedgerSpec | undefined
  #permitCount = 0
  #sweptAt: number
  /** Of what plans read. */
  #version = 0
  /** By set: of which version its last plan is, and until when time alone changes nothing about it. */
  readonly #planned = new Map<string, Planned>()
  /** When time alone makes the next plan or decision due. */
  #next: number | undefined

  constructor(objects: WorldObjects, now: number, switches: Switches) {
    const nameOf = (o: { readonly metadata: { readonly name?: string } }) => o.metadata.name ?? ''
    this.#objects = objects
    this.now = now
    this.#begin = now
    this.#sweptAt = now
    this.#agents = new Agents({
      ...switches,
      ms: (set, component, machine) =>
        switches.ms(set, component, machine) + rebootMs(this.#components, this.machines.get(machine), component),
    })
    this.maintenance = [...(objects.maintenance ?? [])]
    this.machines = new Map(objects.machines.map((m) => [nameOf(m), m]))
    this.nodes = new Map(objects.nodes.map((n) => [nameOf(n), n]))
    this.sets = new Map(objects.sets.map((s) => [nameOf(s), s]))
    this.#components = new Map(objects.components.map((c) => [nameOf(c), c]))
    this.#machineSets = new Map(objects.machineSets.map((s) => [nameOf(s), s]))
    this.#turns = new MachineTurns(this.#agents, this.#components)
    this.#revisions = objects.revisions
    this.#ledger = objects.ledger
    for (const [name, machine] of this.machines) this.putMachine(name, machine)
    for (const [name, node] of this.nodes) this.#fleet.putNode(name, node)
    for (const permit of objects.permits) this.#keepPermit(permit)
  }

  get holds(): WorldObjects['holds'] {
    return this.#objects.holds
  }

  /** The current state of the cluster. */
  objects(): WorldObjects {
    const [machines, sets] = [[...this.machines.values()], [...this.sets.values()]]
    return { ...this.#objects, machines, sets, revisions: this.#revisions, permits: [], ledger: this.#ledger }
  }

  /** One turn of machines, sets and Defender. Returns whether anything but time changed. */
  turn(): boolean {
    if (this.isCut) return false
    this.#next = undefined
    // First: what machines report by now is what the plans are about.
    const moved = this.#machinesTurn()
    const plans = [...this.sets.keys()].map((name) => this.#planTurn(name))
    const decided = this.#defenderTurn()
    return [...plans, decided, moved].includes(true)
  }

  /** Advances to the next moment when something can change; false if there is none. */
  advance(): boolean {
    const next = this.nextAt
    if (next === undefined) return false
    this.now = next
    return true
  }

  /** The next moment when something can change by itself. */
  get nextAt(): number | undefined {
    if (this.isCut) return undefined
    let next = Infinity
    for (const at of this.#agents.ends) if (at > this.now) next = Math.min(next, at)
    if (this.#next !== undefined && this.#next > this.now) next = Math.min(next, this.#next)
    return next === Infinity ? undefined : next
  }

  putNode(name: string, node: Node): void {
    this.nodes.set(name, node)
    this.#fleet.putNode(name, node)
    this.#version++
  }

  putMachine(name: string, machine: Machine): void {
    this.machines.set(name, machine)
    this.#fleet.putMachine(name, machine)
    this.#turns.machineChanged(name)
    this.#version++
    if (machine.status?.phase === 'Updating') this.updating.add(name)
    else this.updating.delete(name)
  }

  /** Whether a machine is switching: if not, only time can help. */
  get isAnyUnderWay(): boolean {
    return this.#agents.isAnySwitching
  }

  #wakeAt(time: number): void {
    this.#next = Math.min(this.#next ?? Infinity, time)
  }

  #planTurn(name: string): boolean {
    const set = this.sets.get(name)
    if (set === undefined) return false
    const planned = this.#planned.get(name)
    if (planned !== undefined && this.now < planned.until && planned.version === this.#version) {
      this.#wakeAt(planned.until)
      return false
    }
    // Faults and repairs change machines all the time, and nothing of it concerns a set at rest within a minute.
    if (planned !== undefined && isAtRest(set) && this.now < planned.at + AT_REST_MS) {
      this.#wakeAt(planned.at + AT_REST_MS)
      return false
    }
    const version = this.#version
    const memo = this.#memos.get(name) ?? new ReadingMemo()
    this.#memos.set(name, memo)
    const { holds, apiServer } = this.#objects
    const { all: permits, refused } = this.#askedBy(set.metadata.uid)
    const made = plan(
      {
        set,
        revisions: this.#revisions.filter((r) => r.metadata.ownerReferences?.some((o) => o.uid === set.metadata.uid)),
        machines: [...this.machines.values()],
        nodes: this.nodes,
        permits,
        refusedFor: this.#ended.observe(set.metadata.uid ?? '', refused.values()),
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
    const until = made.requeueAfter === undefined ? Infinity : this.now + Math.max(1, made.requeueAfter)
    this.#planned.set(name, { version, at: this.now, until })
    this.#wakeAt(until)
    const { actions, status } = made
    const isSame = jsonEqual(set.status, status)
    const isMoved = !isSame && !jsonEqual(decisionsOf(set.status), decisionsOf(status))
    if (!isSame) {
      const after = { ...set, status }
      this.sets.set(name, after)
      this.#turns.setChanged(set, after)
      this.#forgetEnded(this.#askedBy(set.metadata.uid), status)
    }
    if (isMoved) this.#version++
    return isMoved || actions.some((a) => a.kind !== 'RenewPermit')
  }

  #forgetEnded({ all, ended }: AskedPermits, { slices = [] }: NonNullable<MachineComponentSet['status']>): void {
    if (ended.size === 0) return
    const named = new Set(slices.map((s) => (s.phase === 'Passed' ? undefined : s.permit)))
    for (const name of ended.difference(named)) {
      all.delete(name)
      ended.delete(name)
    }
  }

  #act(action: SetAction): void {
    if ('revision' in action) return this.#setRevisions(revisionsAfter(this.#revisions, action))
    switch (action.kind) {
      case 'CreateConfig':
        this.#configs.add(action.config.metadata.name ?? '')
        this.#version++
        return
      case 'RequestPermit':
        return this.putPermit(requestedPermit(action, `forecast-${this.#permitCount++}`, this.now))
      case 'Report': {
        const permit = this.permits.get(action.permit.metadata.name ?? '')
        return permit === undefined ? undefined : this.putPermit(withResults(permit, action))
      }
      case 'RenewPermit': {
        // Only its requester reads the time.
        const permit = this.permits.get(action.permit.metadata.name ?? '')
        return permit === undefined ? undefined : this.#keepPermit(renewed(permit, this.now))
      }
      // Inspection pods do not run here.
      case 'StartProbePod':
      case 'EndProbePod':
        return
      default:
        assertNever(action)
    }
  }

  #setRevisions(revisions: readonly ControllerRevision[]): void {
    this.#revisions = revisions
    this.#version++
    this.#turns.revisionsChanged(this.sets.values())
  }

  /** The same one again changes nothing. */
  putPermit(permit: OperationPermit): void {
    const name = permit.metadata.name ?? ''
    const before = this.permits.get(name)
    if (before !== undefined && before.spec === permit.spec && jsonEqual(before.status, permit.status)) return
    this.#keepPermit(permit)
    this.#turns.permitChanged(before, permit)
    this.#version++
  }

  removePermit(name: string): void {
    const permit = this.permits.get(name)
    if (permit === undefined) return
    this.permits.delete(name)
    this.#open.delete(name)
    const { all, refused, ended } = this.#askedBy(permit.spec.requester.uid)
    all.delete(name)
    refused.delete(name)
    ended.delete(name)
  }

  #keepPermit(permit: OperationPermit): void {
    const name = permit.metadata.name ?? ''
    const { all, refused, ended } = this.#askedBy(permit.spec.requester.uid)
    this.permits.set(name, permit)
    all.set(name, permit)
    if (isOpen(permit) || isRefused(permit)) ended.delete(name)
    else ended.add(name)
    if (isOpen(permit)) this.#open.set(name, permit)
    else this.#open.delete(name)
    if (isRefused(permit)) refused.set(name, permit)
    else refused.delete(name)
  }

  #sweep(): void {
    if (this.now - this.#sweptAt < SWEEP_MS) return
    this.#sweptAt = this.now
    const old = oldPermits([...this.permits.values()], this.#ledger?.grants ?? [], this.now)
    for (const { metadata } of old) this.removePermit(metadata.name ?? '')
  }

  #askedBy(uid = ''): AskedPermits {
    const known = this.#asked.get(uid)
    if (known !== undefined) return known
    const none = { all: new Map(), refused: new Map(), ended: new Set<string>() }
    this.#asked.set(uid, none)
    return none
  }

  #defenderTurn(): boolean {
    const { holds, approvals, policies, cluster } = this.#objects
    const open = [...this.#open.values()]
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
      maintenance: eventsBetween(this.maintenance, this.now, this.now, this.#begin),
      suspicions: [],
      retried: NOTHING,
      rules: NO_RULES,
      isIdle: () => true,
      isRecovery: ({ spec }) => spec.recovery,
      isWithoutDisruption: (permit) => permit.spec.operations.every((o) => o === 'SwitchComponent') && isFree(permit),
    }
    const { ledger, permits, retryAfterMs } = decide(snapshot, this.#ledger, { now: this.now, leader: LEADER })
    if (ledger !== undefined) this.#ledger = ledger
    this.#sweep()
    if (retryAfterMs !== undefined) this.#wakeAt(this.now + Math.max(1, retryAfterMs))
    let isChanged = false
    for (const decision of permits) {
      if (isReported(decision)) continue
      const { permit } = decision
      const status = permitStatus(decision, [], { now: this.now, expiresAt: undefined })
      if (permit.status?.phase !== status.phase || permit.status?.granted !== status.granted) isChanged = true
      this.putPermit({ ...permit, status })
    }
    return isChanged
  }

  #isWithoutDisruption(component: OperationPermit['spec']['component']): boolean {
    if (component?.version === undefined) return false
    return this.#components.get(componentObjectName(component.name, component.version))?.spec.disruption === 'None'
  }

  #machinesTurn(): boolean {
    const { machines, stalled, sets, now } = this
    const changed = this.#turns.turn({ machines, stalled, sets, revisions: this.#revisions, open: this.#open, now })
    for (const [name, machine] of changed) this.putMachine(name, machine)
    return changed.length > 0
  }
}

/** Of the status of a set, what its next plan decides by. The rest tells people how far it is: planning again at the same time would tell them the same. */
function decisionsOf(status: MachineComponentSet['status']): object | undefined {
  if (status === undefined) return undefined
  const {
    slices,
    waitingFor: _w,
    conditions: _c,
    counts: _n,
    coverage: _v,
    consistency: _y,
    skipped: _s,
    ...rest
  } = status
  return { ...rest, slices: slices?.map((slice) => without(slice, 'waitingFor')) }
}

/** Complete, with nothing under way. */
const isAtRest = ({ metadata, status }: MachineComponentSet): boolean =>
  status?.phase === 'Complete' &&
  status.observedGeneration === metadata.generation &&
  (status.slices ?? []).every((s) => s.phase === 'Passed')
