// Decides whether a status write may wait. A switch takes a few seconds: written at each of its steps, "under way" would be most of what a rollout writes, and
// no one would read it. So progress is written once it has lasted, and its end at once, like every other change.
import type { Machine } from '#api/kinds/machine.ts'
import { jsonEqual } from '#lib/json.ts'
import type { MachineAction, MachinePlan } from '../actions.ts'
import type { OwnStatus } from '../status.ts'

/**
 * A change that is over sooner is no news for a user, and controllers read the components themselves. A hundred machines of a slice that switch at once on a
 * busy server take ten seconds and more: reported by then, each of them would cost that server a write more, and the slice would take longer still.
 */
export const UNDER_WAY_MS = 30_000

/** Says that something is under way, or that it is over; the rest is about other things. */
const PROGRESS: ReadonlySet<string> = new Set(['Ready', 'Reconciling'])
const AT_WORK: ReadonlySet<string | undefined> = new Set(['Ready', 'NotReady', 'Updating'])
const IN_TROUBLE: ReadonlySet<string> = new Set(['Degraded', 'Failed'])
const ON_ITS_WAY: ReadonlySet<string> = new Set(['Fetching', 'Staged', 'Switching', 'Probing'])

/** Nothing differs but how far a change of components has come, and it is not over. Pure. */
export function isPassing(machine: Machine, before: OwnStatus, after: OwnStatus): boolean {
  if (!AT_WORK.has(before.phase) || !AT_WORK.has(after.phase)) return false
  return isUnderWay(machine) && jsonEqual(restOf(before), restOf(after))
}

function restOf({ nodeRef, commit, components, conditions }: OwnStatus): unknown {
  const others = conditions
    ?.filter((c) => !PROGRESS.has(c.type))
    .map(({ type, status, reason }) => [type, status, reason])
  return [nodeRef, commit, components, others]
}

function isUnderWay({ spec, status }: Machine): boolean {
  const reports = status?.components ?? []
  if (reports.some((r) => IN_TROUBLE.has(r.state))) return false
  return (spec.components ?? []).some((order) => {
    const report = reports.find((r) => r.name === order.name)
    return order.switch !== undefined || report?.attempt !== order.attempt || ON_ITS_WAY.has(report?.state ?? '')
  })
}

/** Since when the status of each machine is not what was last written. */
export class StatusPace {
  readonly #monotonic: () => number
  readonly #since = new Map<string, number>()

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Milliseconds until it has to be written. */
  left(machine: string): number {
    const now = this.#monotonic()
    const since = this.#since.get(machine) ?? now
    this.#since.set(machine, since)
    return Math.max(0, since + UNDER_WAY_MS - now)
  }

  /** The status was written, is up to date, or its machine was deleted. */
  over(machine: string): void {
    this.#since.delete(machine)
  }
}

/** A provider may answer otherwise each time, and each report wakes its Machine, which asks again: what was reported so lately waits. */
const SAME_ANSWER_MS = 10_000

/** What was last reported about the host of each machine, by reason, so that answers that flip are not written and asked again without a pause. */
export class HostReportPace {
  readonly #monotonic: () => number
  readonly #reported = new Map<string, Map<string, number>>()
  readonly #addresses = new Map<string, number>()

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Milliseconds until it may be written: 0 for what is new, and for what says nothing else about the host. */
  left(machine: string, before: OwnStatus, after: OwnStatus): number {
    const next = hostReport(after)
    if (next === undefined || jsonEqual(hostReport(before), next)) return 0
    const at = this.#reported.get(machine)?.get(next.reason)
    return at === undefined ? 0 : Math.max(0, at + SAME_ANSWER_MS - this.#monotonic())
  }

  written(machine: string, before: OwnStatus, after: OwnStatus): void {
    const reports = [hostReport(before), hostReport(after)]
    if (jsonEqual(reports[0], reports[1])) return
    const known = this.#reported.get(machine) ?? new Map<string, number>()
    for (const report of reports) if (report !== undefined) known.set(report.reason, this.#monotonic())
    this.#reported.set(machine, known)
  }

  /** The plan, without the write of an address where one was written so lately; everything else continues. Changes nothing. */
  paced(plan: MachinePlan, machine: Machine): MachinePlan {
    const isAddress = (action: MachineAction): boolean => isAddressOnly(action, machine)
    if (!plan.actions.some(isAddress)) return plan
    const left =
      (this.#addresses.get(machine.metadata.name ?? '') ?? Number.NEGATIVE_INFINITY) +
      SAME_ANSWER_MS -
      this.#monotonic()
    if (left <= 0) return plan
    const actions = plan.actions.filter((action) => !isAddress(action))
    return { ...plan, actions, requeueAfter: Math.min(plan.requeueAfter ?? left, left) }
  }

  addressWritten(machine: string): void {
    this.#addresses.set(machine, this.#monotonic())
  }

  /** Its machine was deleted. */
  over(machine: string): void {
    this.#addresses.delete(machine)
    this.#reported.delete(machine)
  }
}

export const isAddressOnly = (action: MachineAction, { spec }: Machine): boolean =>
  action.kind === 'WriteHost' && action.providerID === spec.providerID

/** Until it has joined, its phase follows from what the provider says. */
const OF_ITS_HOST: ReadonlySet<string | undefined> = new Set(['Provisioning', 'Joining'])

function hostReport({
  phase,
  conditions,
}: OwnStatus): { readonly reason: string; readonly message: string } | undefined {
  const found = conditions?.find((c) => c.type === 'InfrastructureReady')
  const order = OF_ITS_HOST.has(phase) ? ` ${phase}` : ''
  return found && { reason: `${found.status} ${found.reason}${order}`, message: found.message }
}
