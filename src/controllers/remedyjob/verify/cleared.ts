// Decides whether a repair helped, from what its rung verifies. Pure. Unknown is not cleared.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { certainStatus, findCondition } from '#kube/conditions.ts'
import type { ActiveRule } from '#nodes/faults/active-rule.ts'
import type { NodeView } from '#nodes/faults/node-view.ts'
import { ageMs } from '#policy/reading.ts'
import type { FaultReading } from '../seen.ts'

/** The rung's requirement must be observed: a condition cleared, or the rule false; and a healthy component, if it names one. */
export function clearedReading({ job, view, active, fault, isReporting }: ClearedInput, now: number): FaultReading {
  const verify = active.spec.ladder[job.spec.rung]?.verify
  const type = verify?.conditionCleared
  const byCondition =
    type === undefined || view.standing.kind !== 'Readable' ? fault : conditionReading(view, type, now)
  const component = verify?.probe?.component
  if (byCondition.kind !== 'Absent' || component === undefined) return byCondition
  const status = view.machine?.status?.components?.find((c) => c.name === component)
  if (status === undefined) return { kind: 'Unknown', why: `component ${component} is not reported` }
  if (status.state !== 'Healthy') return { kind: 'Present' }
  return isReporting
    ? byCondition
    : { kind: 'Unknown', why: `component ${component} has not been probed since the repair` }
}

interface ClearedInput {
  readonly job: RemedyOperationJob
  readonly view: NodeView
  readonly active: ActiveRule
  readonly fault: FaultReading
  readonly isReporting: boolean
}

function conditionReading(view: NodeView, type: string, now: number): FaultReading {
  const condition = findCondition(view.node.status?.conditions, type)
  const status = certainStatus(view.node.status?.conditions, type)
  if (status === 'True') return { kind: 'Present' }
  if (condition === undefined || status !== 'False')
    return { kind: 'Unknown', why: `${type} is ${status ?? 'not reported'}` }
  const age = ageMs(condition.lastTransitionTime, now)
  return { kind: 'Absent', since: age === undefined ? undefined : now - age }
}
