// Decides the agent's next action for one repair job. Only steps whose turn it is, only under a permit that was read in this pass, and never again a
// step that may already have run.
import { defined } from '#lib/defined.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { type Operation, factsOf, isOfAgent, operationName } from '#api/protocol/operations.ts'
import type { PermitReading } from '../components/permit-reading.ts'
import type { JobRecord, StepRecord } from './record.ts'

export type JobOperation = Operation

export interface JobSeen {
  readonly job: RemedyOperationJob
  readonly record: JobRecord | undefined
  readonly machine: string
  readonly nodeUid: string | undefined
  readonly bootId: string
  readonly permit: PermitReading | undefined
  /** The step that this process is running. */
  readonly busy: number | undefined
  /** This process has requested a reboot. */
  readonly isRebootAsked: boolean
  readonly isNodeFrozen: boolean
  /** How long the machine has run. */
  readonly upMs: number
}

export type JobAction =
  | { readonly kind: 'ReadPermit'; readonly permit: string; readonly reason: string }
  | { readonly kind: 'Begin'; readonly step: StepRecord; readonly operation: JobOperation; readonly reason: string }
  | { readonly kind: 'Conclude'; readonly step: StepRecord; readonly reason: string }

export interface JobPlan {
  readonly action: JobAction | undefined
  readonly waiting?: string
  readonly requeueAfterMs?: number
}

const MAX_ATTEMPTS = 3
const RETRY_MS = 5_000
const NODE_IS_FROZEN = 'the node is frozen by a file on the node'

const wait = (waiting: string, requeueAfterMs?: number): JobPlan => ({
  action: undefined,
  waiting,
  ...defined({ requeueAfterMs }),
})

export function planJob(seen: JobSeen): JobPlan {
  const { job, machine, nodeUid, record } = seen
  const cut = cutOff(seen)
  if (cut !== undefined) return cut
  if (job.spec.machine !== machine) return wait('the job is for another machine')
  if (nodeUid === undefined || job.spec.node.uid !== nodeUid)
    return wait('the job is for another node, or the name of this node is not known yet')
  if (record !== undefined && record.uid !== job.metadata.uid) return wait('an earlier job had the same name')
  if (job.status?.phase !== 'Running') return wait(`the job is ${job.status?.phase ?? 'Pending'}`)
  if (job.spec.dryRun) return wait('the job is a dry run')
  const lost = withoutJournal(seen)
  if (lost !== undefined) return lost
  const index = job.spec.operations.findIndex((_, n) => !isEnded(seen, n))
  const operation = job.spec.operations[index]
  if (operation === undefined) return wait('every step has ended')
  if (job.spec.operations.some((_, n) => n < index && !isEndedWell(seen, n))) return wait('an earlier step failed')
  return planStep(seen, index, operation)
}

/** The step started but has not ended: run by this process, or by a previous one that died. */
function cutOff(seen: JobSeen): JobPlan | undefined {
  const { record, busy, bootId } = seen
  const open = record?.steps.find((s) => s.outcome === undefined)
  if (open === undefined) return undefined
  if (open.index === busy) return wait('waiting for the running step')
  if (open.operation === 'reboot') {
    if (open.bootId === bootId) return rebootStill(seen, open)
    const step: StepRecord = { ...open, outcome: 'Succeeded', output: `booted: ${open.bootId} → ${bootId}` }
    return { action: { kind: 'Conclude', step, reason: 'the boot ID differs from the recorded one' } }
  }
  const step: StepRecord = { ...open, outcome: 'Unknown', output: 'the agent restarted while the step was running' }
  return { action: { kind: 'Conclude', step, reason: 'the outcome of the step is unknown' } }
}

/** The job says that it started, and the journal of the host does not know it: a disk lost it. It may have run. */
function withoutJournal(seen: JobSeen): JobPlan | undefined {
  const begun = seen.job.status?.steps?.find(
    (s) =>
      s.executor === 'Agent' &&
      s.startedAt !== undefined &&
      s.outcome === undefined &&
      ownStep(seen, s.index) === undefined,
  )
  if (begun?.startedAt === undefined) return undefined
  const { index, operation, attempts, bootID = '', startedAt } = begun
  const open: StepRecord = { index, operation, attempts, bootId: bootID, startedAt: Date.parse(startedAt) }
  const hasBooted = operation === 'reboot' && bootID !== '' && bootID !== seen.bootId
  const step: StepRecord = hasBooted
    ? { ...open, outcome: 'Succeeded', output: `booted: ${bootID} → ${seen.bootId}` }
    : { ...open, outcome: 'Unknown', output: 'the host lost its record of the step' }
  return { action: { kind: 'Conclude', step, reason: 'the step started, and the host has no record of it' } }
}

/** Started in this boot: already requested, or the agent died before the request. Two requests in one boot are one reboot. */
function rebootStill(seen: JobSeen, open: StepRecord): JobPlan {
  const operation = seen.job.spec.operations[open.index]
  const limitMs = parseDuration(operation?.reboot?.timeout ?? '10m')
  if (open.startedUpMs !== undefined && seen.upMs - open.startedUpMs > limitMs) {
    const output = `the node did not reboot within ${formatDuration(limitMs)}`
    return { action: { kind: 'Conclude', step: { ...open, outcome: 'Failed', output }, reason: 'no reboot happened' } }
  }
  if (seen.isRebootAsked || operation?.reboot === undefined) return wait('waiting for the reboot', RETRY_MS)
  if (seen.isNodeFrozen) return wait(NODE_IS_FROZEN, RETRY_MS)
  const permit = seen.job.status?.permitRef
  if (permit === undefined) return wait('waiting for the permit', RETRY_MS)
  if (seen.permit?.permit !== permit)
    return { action: { kind: 'ReadPermit', permit, reason: 'the reboot was interrupted' } }
  if (seen.permit.kind !== 'Granted') return wait(`permit ${permit}: ${seen.permit.why}`, RETRY_MS)
  return { action: { kind: 'Begin', step: open, operation, reason: 'the agent ended before it requested the reboot' } }
}

const stepOf = ({ job }: JobSeen, index: number) => job.status?.steps?.find((s) => s.index === index)
const ownStep = ({ record }: JobSeen, index: number) => record?.steps.find((s) => s.index === index)

function outcomeOf(seen: JobSeen, index: number): StepRecord['outcome'] | undefined {
  return ownStep(seen, index)?.outcome ?? stepOf(seen, index)?.outcome
}

function isEnded(seen: JobSeen, index: number): boolean {
  const outcome = outcomeOf(seen, index)
  if (outcome !== 'Unknown') return outcome !== undefined
  const own = ownStep(seen, index)
  if (own?.isUndone === true) return false
  // Steps that are safe to repeat run again.
  return (
    own === undefined ||
    own.attempts >= MAX_ATTEMPTS ||
    !isOfAgent(own.operation) ||
    !factsOf(own.operation).isSafeToRepeat
  )
}

const isEndedWell = (seen: JobSeen, index: number): boolean =>
  ['Succeeded', 'Skipped'].includes(outcomeOf(seen, index) ?? '')

function planStep(seen: JobSeen, index: number, operation: JobOperation): JobPlan {
  const name = operationName(operation)
  const current = stepOf(seen, index)
  if (name === undefined || !isOfAgent(name) || (current !== undefined && current.executor !== 'Agent'))
    return wait(`waiting for step ${index}, which a controller runs`)
  if (seen.isNodeFrozen) return wait(NODE_IS_FROZEN, RETRY_MS)
  const permit = seen.job.status?.permitRef
  if (permit === undefined) return wait('waiting for the permit')
  const reading = seen.permit?.permit === permit ? seen.permit : undefined
  if (reading === undefined) return { action: { kind: 'ReadPermit', permit, reason: `required by step ${index}` } }
  if (reading.kind !== 'Granted') return wait(`permit ${permit}: ${reading.why}`, RETRY_MS)
  const attempts = (ownStep(seen, index)?.attempts ?? current?.attempts ?? 0) + 1
  const step: StepRecord = {
    index,
    operation: name,
    attempts,
    bootId: seen.bootId,
    startedAt: 0,
    startedUpMs: seen.upMs,
  }
  return { action: { kind: 'Begin', step, operation, reason: `step ${index} under permit ${permit}` } }
}
