// What is on a hollow node's disk when its process starts. A hollow node has no disk, so its Machine's status is used instead. Pure.
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import type { ComponentOrder, ComponentStatus, Machine } from '#api/kinds/machine.ts'
import type { Attempt } from '#api/protocol/component-order.ts'
import type { ComponentRecord, OpenSwitch, Slot } from '../components/record.ts'

/** The version in use, and the version that was being staged. */
export interface AdoptRequest {
  readonly report: ComponentStatus
  readonly inUse: Attempt | undefined
  readonly wanted: Attempt | undefined
  /** The component was waiting for a reboot from this boot, under this permit. */
  readonly reboot: Pick<OpenSwitch, 'permit' | 'reboot'> | undefined
}

export const adoptRequests = ({ spec, status }: Machine, upMs: number): readonly AdoptRequest[] =>
  (status?.components ?? []).map((report) => {
    const order = spec.components?.find((c) => c.name === report.name)
    const at = (version: string | undefined) => version && targetOf(version, report, order)
    const reboot = rebootOf(report, { from: status?.bootID, permit: order?.switch?.permit, upMs })
    return { report, inUse: at(report.version) || undefined, wanted: at(report.desired) || undefined, reboot }
  })

function rebootOf(
  { rebootingSince, state }: ComponentStatus,
  {
    from,
    permit,
    upMs,
  }: { readonly from: string | undefined; readonly permit: string | undefined; readonly upMs: number },
): AdoptRequest['reboot'] {
  if (rebootingSince === undefined || from === undefined || state !== 'Switching') return undefined
  const since = Date.parse(rebootingSince) || 0
  return { ...defined({ permit }), reboot: { from, since, requestedAt: since, upMs } }
}

/** A report does not name the configuration. If it describes the ordered attempt, it has the ordered configuration. */
function targetOf(version: string, { attempt }: ComponentStatus, order: ComponentOrder | undefined): Attempt {
  const config = order?.version === version ? order.config : undefined
  return { version, attempt: attempt ?? order?.attempt ?? 1, ...defined({ config }) }
}

/** Undefined: nothing worth keeping is known, so the component is installed as on a new node. */
export function recordOf(
  { report, inUse, wanted, reboot }: AdoptRequest,
  current: Slot | undefined,
  next: Slot | undefined,
): ComponentRecord | undefined {
  const target = wanted ?? inUse
  if (target === undefined) return undefined
  const base: Omit<ComponentRecord, 'state'> = {
    format: 1,
    component: report.name,
    since: Date.parse(report.since ?? '') || 0,
    target,
    pins: [],
    ...defined({ message: report.message, current, healthy: report.healthyBefore }),
  }
  switch (report.state) {
    case 'Switching':
    case 'Probing':
      // Interrupted in between: the agent resumes from its journal, which names the previous slot.
      if (next === undefined) return { ...base, state: 'Fetching' }
      return {
        ...base,
        state: 'Switching',
        open: { to: next, phase: 'Switching', ...defined({ from: current }), ...reboot },
      }
    case 'RolledBack':
    case 'Failed':
      return {
        ...base,
        state: report.state,
        pins: next === undefined ? [] : [{ ...target, digest: next.digest }],
      }
    case 'Fetching':
    case 'Staged':
      // Staging again costs nothing here.
      return { ...base, state: 'Fetching' }
    case 'Healthy':
    case 'Degraded':
      return current === undefined ? undefined : { ...base, state: report.state }
    default:
      return assertNever(report.state)
  }
}
