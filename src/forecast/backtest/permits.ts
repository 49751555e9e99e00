// The Defender of one side, replayed: its own decision over the fleet of each moment, for the repairs of the side and for the recorded requests of everyone else.
import type { Approval } from '#api/kinds/approval.ts'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { requestFor } from '#controllers/remedyjob/plan-permit.ts'
import type { CompiledPolicy } from '#defender/compile-policy.ts'
import { Fleet } from '#defender/fleet.ts'
import type { GateVerdict } from '#defender/gate.ts'
import { isOpen } from '#defender/permit-phase.ts'
import { decide } from '#defender/plan.ts'
import { ruleVerdicts } from '#defender/rule-verdicts.ts'
import type { Snapshot } from '#defender/snapshot.ts'
import { permitStatus } from '#defender/status.ts'
import { timestamp } from '#lib/clock.ts'
import { nodeType } from '#nodes/objects.ts'

/** Unavailability changes without an event of a permit. */
const LOOK_AGAIN_MS = 60_000
const NOTHING: ReadonlySet<string> = new Set()
const LEADER = 'backtest'

/** The units of both sides. Changes are put in only before a decision. */
export class PastFleet {
  readonly #fleet = new Fleet()
  readonly #due = new Map<
    string,
    { readonly kind: string; readonly name: string; readonly object: KubeObject | undefined }
  >()

  note(kind: string, name: string, object: KubeObject | undefined): void {
    this.#due.set(`${kind}/${name}`, { kind, name, object })
  }

  now(): Fleet {
    for (const { kind, name, object } of this.#due.values())
      if (kind === 'Machine') this.#fleet.putMachine(name, object as Machine | undefined)
      else this.#fleet.putNode(name, object)
    this.#due.clear()
    return this.#fleet
  }
}

export interface PermitWorld {
  readonly fleet: PastFleet
  readonly cluster: string
  readonly holds: readonly OperationalHold[]
  readonly approvals: readonly Approval[]
  readonly maintenance: readonly MaintenanceEvent[]
  /** In a gap nothing is granted. */
  readonly isBlind: boolean
}

export interface PermitRunOptions {
  readonly policies: () => readonly CompiledPolicy[]
  readonly onGranted: (permit: OperationPermit, now: number) => void
  readonly onDenied: (permit: OperationPermit, now: number) => void
  readonly onBound: (bound: ReadonlySet<string>, now: number) => void
}

export class PermitRun {
  readonly #options: PermitRunOptions
  readonly #permits = new Map<string, OperationPermit>()
  #ledger: LedgerSpec | undefined
  /** Asked for while an ended request of the same name is not settled. */
  readonly #next: OperationPermit[] = []
  #isDue = false
  /** Whether a request waited at the last decision. */
  #isWaited = false
  #wakeAt = Infinity

  constructor(options: PermitRunOptions) {
    this.#options = options
  }

  get wakeAt(): number {
    return this.#wakeAt
  }

  get isDue(): boolean {
    return this.#isDue
  }

  /** Holds, approvals or policies changed. */
  wake(): void {
    if (this.#permits.size > 0) this.#isDue = true
  }

  /** For a replayed repair, as the job controller asks. */
  ask(job: RemedyOperationJob, machineUid: string | undefined, now: number): void {
    const permit = permitFor(job, machineUid, now)
    this.#isDue = true
    if (this.#permits.get(permit.metadata.name ?? '')?.spec.results === undefined) this.#put(permit)
    else this.#next.push(permit)
  }

  /** A repair that runs as it was recorded: it takes room from others, and its own request is not decided again. */
  ended(name: string, result: 'Succeeded' | 'Failed' | 'Released'): void {
    const permit = this.#permits.get(name)
    if (permit === undefined) return
    const results = Object.fromEntries(permit.spec.targets.map((t) => [t.uid, result]))
    this.#put({ ...permit, spec: { ...permit.spec, results } })
    // What did not happen counts nowhere, and a slot that no request waits for is freed by the next decision, before it decides anything.
    if (result !== 'Released' || this.#isWaited) this.#isDue = true
  }

  /** A request of someone else, in its recorded state; undefined: it was deleted. */
  recorded(name: string, permit: OperationPermit | undefined): void {
    const before = this.#permits.get(name)
    if (permit === undefined) {
      if (before !== undefined) this.ended(name, 'Released')
      return
    }
    // The requester has ended its work, whatever this side granted.
    const isEnded = permit.status?.phase !== undefined && !isOpen(permit)
    const all = Object.fromEntries(permit.spec.targets.map((t) => [t.uid, 'Released' as const]))
    const results = { ...(isEnded && all), ...permit.spec.results }
    const { status: _, ...request } = permit
    const spec = { ...permit.spec, ...(Object.keys(results).length > 0 && { results }) }
    this.#put({ ...request, spec, ...(before?.status !== undefined && { status: before.status }) })
    this.#isDue = true
  }

  async step(now: number, world: PermitWorld): Promise<void> {
    this.#isDue = false
    this.#wakeAt = Infinity
    const { onGranted, onDenied, onBound } = this.#options
    const permits = [...this.#permits.values()]
    if (permits.length === 0) return onBound(NOTHING, now)
    const {
      ledger,
      permits: decided,
      retryAfterMs,
    } = decide(await this.#snapshot(permits, now, world), this.#ledger, {
      now,
      leader: LEADER,
    })
    if (ledger !== undefined) this.#ledger = ledger
    const bound = new Set<string>()
    for (const decision of decided) {
      const { permit } = decision
      const name = permit.metadata.name ?? ''
      const status = permitStatus(decision, [], { now, expiresAt: undefined })
      const after = { ...permit, status }
      this.#permits.set(name, after)
      const wasGranted = permit.status?.phase === 'Granted'
      if (status.phase === 'Granted' && !wasGranted) onGranted(after, now)
      if (status.phase === 'Denied') onDenied(after, now)
      for (const { target, verdict } of decision.targets)
        if (verdict.verdict === 'Waiting' && permit.spec.results?.[target] === undefined) bound.add(boundText(verdict))
      if (!isOpen(after)) this.#permits.delete(name)
    }
    for (const permit of this.#next.splice(0)) {
      this.#put(permit)
      this.#isDue = true
    }
    this.#isWaited = bound.size > 0
    onBound(bound, now)
    if (bound.size > 0)
      this.#wakeAt = now + Math.max(1, Math.min(Math.max(retryAfterMs ?? LOOK_AGAIN_MS, 1_000), LOOK_AGAIN_MS))
  }

  #put(permit: OperationPermit): void {
    this.#permits.set(permit.metadata.name ?? '', permit)
  }

  async #snapshot(permits: readonly OperationPermit[], now: number, world: PermitWorld): Promise<Snapshot> {
    const policies = this.#options.policies()
    const fleet = world.fleet.now()
    return {
      permits,
      policies,
      holds: world.holds,
      approvals: world.approvals,
      fleet,
      maintenance: world.maintenance,
      hosts: new Map(),
      unknown: world.isBlind ? 'the history has a gap' : undefined,
      cluster: world.cluster,
      wall: now,
      leasesOver: NOTHING,
      deletedPermits: NOTHING,
      deletedTargets: NOTHING,
      suspicions: [],
      retried: NOTHING,
      isIdle: () => true,
      isRecovery: (permit) => permit.spec.recovery,
      isWithoutDisruption: () => false,
      rules: await ruleVerdicts(policies, fleet, this.#ledger?.grants?.length ?? 0, now),
    }
  }
}

/** The request of a job that lives in memory. */
export function permitFor(job: RemedyOperationJob, machineUid: string | undefined, now: number): OperationPermit {
  const { machine: name, node } = job.spec
  const target =
    name === undefined || machineUid === undefined
      ? { kind: nodeType.kind as 'Node', name: node.name, uid: node.uid }
      : { kind: machine.kind as 'Machine', name, uid: machineUid }
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationPermit',
    metadata: { name: job.metadata.name ?? '', uid: `permit-${job.metadata.uid}`, creationTimestamp: timestamp(now) },
    spec: requestFor(job, target) as OperationPermit['spec'],
  }
}

export const boundText = ({ policy, gate, limit, reason }: GateVerdict): string =>
  [policy === undefined ? 'Defender' : `policy ${policy}`, `${gate}${limit === undefined ? '' : ` (${limit})`}`, reason]
    .slice(0, limit === undefined ? 3 : 2)
    .join(': ')
