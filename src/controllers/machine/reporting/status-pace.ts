// Decides whether a status write can wait. A switch takes a few seconds. Writing each step would be most of a rollout's writes, and no one would read
// them. So progress is written once it has lasted, and its end at once, like every other change.
import type { Machine } from '#api/kinds/machine.ts'
import { isSwitchOpen } from '#api/protocol/component-order.ts'
import { jsonEqual } from '#lib/json.ts'
import type { MachineAction, MachinePlan } from '../actions.ts'
import type { OwnStatus } from '../status.ts'

/**
 * A user does not need shorter changes, and controllers read the components themselves. A hundred machines of a slice that switch at once on a busy
 * server take ten seconds or more. Reporting each would cost that server another write per machine, and make the slice slower.
 */
export const UNDER_WAY_MS = 30_000

/** Conditions that report progress. The rest are about other things. */
const PROGRESS: ReadonlySet<string> = new Set(['Ready', 'Reconciling'])
const AT_WORK: ReadonlySet<string | undefined> = new Set(['Ready', 'NotReady', 'Updating'])
const IN_TROUBLE: ReadonlySet<string> = new Set(['Degraded', 'Failed'])
const ON_ITS_WAY: ReadonlySet<string> = new Set(['Fetching', 'Staged', 'Switching', 'Probing'])

/** Only the progress of a component change differs, and it is not finished. Pure. */
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
    return isSwitchOpen(order, report) || report?.attempt !== order.attempt || ON_ITS_WAY.has(report?.state ?? '')
  })
}

/** Since when each machine's status differs from the last write. */
export class StatusPace {
  readonly #monotonic: () => number
  readonly #since = new Map<string, number>()

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Milliseconds until the write is due. */
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

/** A provider may answer differently each time, and each report wakes its Machine, which asks again. Repeated reports wait at least this long. */
const SAME_ANSWER_MS = 10_000

/** The last reported host answer of each machine, by reason, so that flapping answers do not cause a loop of writes and requests. */
export class HostReportPace {
  readonly #monotonic: () => number
  readonly #reported = new Map<string, Map<string, number>>()
  readonly #addresses = new Map<string, number>()

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Milliseconds until the write may happen: 0 for a new answer, and if nothing about the host changed. */
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

  /** The plan without the address write, if an address was written recently. Everything else continues. Changes nothing itself. */
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

/** Before the join, the phase depends on the provider's answer. */
const OF_ITS_HOST: ReadonlySet<string | undefined> = new Set(['Provisioning', 'Joining'])

function hostReport({
  phase,
  conditions,
}: OwnStatus): { readonly reason: string; readonly message: string } | undefined {
  const found = conditions?.find((c) => c.type === 'InfrastructureReady')
  const order = OF_ITS_HOST.has(phase) ? ` ${phase}` : ''
  return found && { reason: `${found.status} ${found.reason}${order}`, message: found.message }
}
