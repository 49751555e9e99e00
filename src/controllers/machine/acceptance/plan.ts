// Decides about the acceptance of a Node that takes no pods yet: order an attempt, judge its result, order the next one, or give up. Pure. Each order is
// recorded in the status before anyone acts on it, so a controller that starts in between continues with it. Without a result, nothing ever passes.
import type { AcceptanceReport, AcceptanceStatus, Machine, MachineAcceptance } from '#api/kinds/machine.ts'
import { ACCEPTANCE_NAMESPACE } from '#api/names.ts'
import { acceptanceRun, currentAcceptance, isAccepted } from '#api/protocol/acceptance.ts'
import { acceptanceText } from '#api/protocol/operations.ts'
import { isBeingDeleted, uidOf } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { shortened } from '#lib/shortened.ts'
import { isNodeFrozen } from '#permits/holds/in-force.ts'
import type { AcceptancePlan, Waiting } from '../actions.ts'
import { isBeating } from '../heartbeats/heartbeats.ts'
import { type Seen, isClosed } from '../seen.ts'
import {
  MAX_MESSAGE,
  POD_ENDS_REQUEUE_MS,
  POD_REQUEUE_MS,
  TEMPLATE_REQUEUE_MS,
  noTemplate,
  podStep,
  podToEnd,
} from './pod.ts'

/** An agent that is heard reports an end within this time after the timeout of the attempt. */
const REPORT_WITHIN_MS = 120_000
/** A fault that passes, such as a registry that is away, should not use up all attempts. */
const RETRY_AFTER_MS = 60_000
/** Times are whole seconds, and two controllers may differ a little. */
const SKEW_MS = 5_000

type About = Pick<Seen, 'machine' | 'node' | 'hold' | 'agentHeartbeat' | 'acceptancePod'>

/** `isInstalled`: everything else that keeps the startup taint is done. */
export function acceptancePlan(seen: About, isInstalled: boolean, now: number): AcceptancePlan {
  const next = nextAttempt(seen, isInstalled, now)
  const ends = podToEnd(seen, next.record)
  if (ends.length === 0) return next
  const before = seen.machine.status?.acceptance
  // Its record is the only thing that names the pod: it goes after it.
  return next.record?.run === before?.run
    ? { ...next, actions: ends }
    : { ...kept(before), actions: ends, requeueAfter: POD_ENDS_REQUEUE_MS }
}

function nextAttempt(seen: About, isInstalled: boolean, now: number): AcceptancePlan {
  const { machine, node } = seen
  const { acceptance } = machine.spec
  const before = machine.status?.acceptance
  // A Node that was deleted comes back as another one. Until then, the last result is still worth reading.
  if (acceptance === undefined || node === undefined) return kept(acceptance === undefined ? undefined : before)
  if (!isClosed(seen)) return kept(before?.phase === 'Passed' || before?.phase === 'Failed' ? before : undefined)
  const record = notAhead(currentAcceptance(machine, uidOf(node)), now)
  if (record === undefined)
    return mayStart(seen, isInstalled) ? ordered(seen, acceptance, 1, now) : untilTemplate(seen, undefined)
  switch (record.phase) {
    case 'Passed':
      return kept(record)
    case 'Failed':
    case 'Waiting': {
      // A person may have allowed more attempts.
      if (record.attempt > acceptance.retries) return kept({ ...record, phase: 'Failed' })
      const dueMs = Date.parse(record.finishedAt ?? '') + RETRY_AFTER_MS - now
      if (dueMs > 0) return { ...kept({ ...record, phase: 'Waiting' }), requeueAfter: dueMs }
      return mayStart(seen, isInstalled)
        ? ordered(seen, acceptance, record.attempt + 1, now)
        : untilTemplate(seen, record)
    }
    case 'Running':
      return judged(seen, acceptance, record, now)
    default:
      return record.phase satisfies never
  }
}

/** After the clock was set back, times of the record are in the future, and its waits would take as much longer. They start again. */
function notAhead(record: AcceptanceStatus | undefined, now: number): AcceptanceStatus | undefined {
  const at = record?.finishedAt ?? record?.since
  if (record === undefined || at === undefined || Date.parse(at) <= now + SKEW_MS) return record
  return { ...record, [record.finishedAt === undefined ? 'since' : 'finishedAt']: timestamp(now) }
}

const kept = (record: AcceptanceStatus | undefined): AcceptancePlan => ({ record, notices: [], actions: [] })

/** Templates are not watched. */
const untilTemplate = ({ acceptancePod }: About, record: AcceptanceStatus | undefined): AcceptancePlan => ({
  ...kept(record),
  ...(acceptancePod !== undefined && acceptancePod.template === undefined && { requeueAfter: TEMPLATE_REQUEUE_MS }),
})

/** Nothing starts on a machine that is held, frozen, silent or about to go. What has started continues. A pod needs its kubelet, and no agent. */
const mayStart = ({ machine, hold, agentHeartbeat, acceptancePod }: About, isInstalled: boolean): boolean =>
  isInstalled &&
  hold === undefined &&
  !isNodeFrozen(machine) &&
  !isBeingDeleted(machine) &&
  (machine.spec.acceptance?.pod === undefined
    ? isBeating(agentHeartbeat) === true
    : acceptancePod?.template !== undefined)

function ordered({ node }: About, acceptance: MachineAcceptance, attempt: number, now: number): AcceptancePlan {
  const uid = node === undefined ? '' : uidOf(node)
  const wanted = wantedText(acceptance)
  const record: AcceptanceStatus = {
    run: acceptanceRun(acceptance, uid, attempt),
    node: uid,
    wanted,
    phase: 'Running',
    attempt,
    since: timestamp(now),
  }
  const message = `attempt ${attempt} of ${acceptance.retries + 1}: ${wanted}`
  return { record, notices: [{ reason: 'AcceptanceStarted', message }], actions: [], requeueAfter: limitMs(acceptance) }
}

const limitMs = ({ timeout }: MachineAcceptance): number => parseDuration(timeout) + REPORT_WITHIN_MS

function judged(seen: About, acceptance: MachineAcceptance, record: AcceptanceStatus, now: number): AcceptancePlan {
  const leftMs = Date.parse(record.since) + limitMs(acceptance) - now
  if (acceptance.pod !== undefined) {
    const step = podStep(seen, acceptance, record, leftMs)
    if (step.kind === 'Ended') return concluded(acceptance, step.record, step.result, now)
    const actions = step.action === undefined ? [] : [step.action]
    return { ...kept(step.record), actions, requeueAfter: Math.min(POD_REQUEUE_MS, leftMs) }
  }
  const report = seen.machine.status?.acceptanceReport
  const result = report?.run === record.run ? report : undefined
  if (result?.outcome !== undefined) return concluded(acceptance, record, result, now)
  if (leftMs > 0) return { ...kept(record), requeueAfter: leftMs }
  // A silent agent may still be at it, or report later what it did.
  if (isBeating(seen.agentHeartbeat) !== true) return kept(record)
  const message = `no result within ${formatDuration(limitMs(acceptance))}${result === undefined ? '; its agent did not start it, and may be too old for it' : ''}`
  return concluded(acceptance, record, { outcome: 'Unknown', output: message }, now)
}

function concluded(
  { retries }: MachineAcceptance,
  { message: _m, output: _o, ...record }: AcceptanceStatus,
  { outcome, output }: Pick<AcceptanceReport, 'outcome' | 'output'>,
  now: number,
): AcceptancePlan {
  const finishedAt = timestamp(now)
  if (outcome === 'Succeeded')
    return {
      record: { ...record, phase: 'Passed', finishedAt, ...defined({ output }) },
      notices: [{ reason: 'Accepted', message: `passed: ${record.wanted}` }],
      actions: [],
    }
  const last = (output ?? '').trimEnd().split('\n').at(-1) ?? ''
  const how = outcome === 'Failed' ? 'failed' : 'has no result'
  const message = shortened(`${record.wanted} ${how}${last === '' ? '' : `: ${last}`}`, MAX_MESSAGE)
  const isLast = record.attempt > retries
  return {
    record: { ...record, phase: isLast ? 'Failed' : 'Waiting', finishedAt, message, ...defined({ output }) },
    notices: [{ reason: 'AcceptanceFailed', message: `attempt ${record.attempt} of ${retries + 1}: ${message}` }],
    actions: [],
    ...(!isLast && { requeueAfter: RETRY_AFTER_MS }),
  }
}

const wantedText = ({ script, pod }: MachineAcceptance): string =>
  shortened(acceptanceText(defined({ runScript: script, runPod: pod })), MAX_MESSAGE)

/** For a machine whose components are installed. Undefined: it is accepted. */
export function acceptanceWait({
  machine,
  node,
  acceptancePod,
}: Pick<Seen, 'machine' | 'node' | 'acceptancePod'>): Waiting | undefined {
  const { acceptance } = machine.spec
  const uid = node === undefined ? undefined : uidOf(node)
  if (acceptance === undefined || isAccepted(machine, uid)) return undefined
  const record = currentAcceptance(machine, uid)
  const predicate = 'NodeAccepted'
  const tries = `attempt ${record?.attempt ?? 1} of ${acceptance.retries + 1}`
  const phase = record?.phase
  switch (phase) {
    case 'Failed':
      return {
        predicate,
        seen: shortened(`the node was not accepted: ${record?.message ?? ''}`, MAX_MESSAGE),
        unblock: `a person repairs or replaces the machine, or raises spec.acceptance.retries for another attempt: ${describe(machine)}`,
        because: 'AcceptanceFailed',
      }
    case 'Waiting':
      return {
        predicate,
        seen: shortened(`${tries} did not pass: ${record?.message ?? ''}`, MAX_MESSAGE),
        unblock: `the next attempt passes; it starts ${formatDuration(RETRY_AFTER_MS)} after the last one`,
      }
    case 'Running':
    case 'Passed':
    case undefined:
      return {
        predicate,
        seen: record === undefined ? notOrdered(acceptance, acceptancePod) : runsText(record, tries),
        unblock: 'it passes; the startup taint stays until then',
      }
    default:
      return phase satisfies never
  }
}

function notOrdered(acceptance: MachineAcceptance, seen: Seen['acceptancePod']): string {
  const text = `${wantedText(acceptance)} is not ordered yet`
  const { pod } = acceptance
  return pod === undefined || seen === undefined || seen.template !== undefined
    ? text
    : shortened(`${text}: ${noTemplate(pod.template)}`, MAX_MESSAGE)
}

function runsText({ wanted, since, pod, message }: AcceptanceStatus, tries: string): string {
  const what = pod === undefined ? wanted : `${wanted} (${ACCEPTANCE_NAMESPACE}/${pod.name})`
  if (message !== undefined) return shortened(`${what}, ${tries}: ${message}`, MAX_MESSAGE)
  return `${what} runs on the node since ${since} (${tries})`
}

const describe = ({ metadata }: Machine): string => `kubenode describe machine/${metadata.name ?? ''}`

/** What its Stalled condition says. */
export function acceptanceStall(seen: Pick<Seen, 'machine' | 'node' | 'acceptancePod'>): string | undefined {
  if (!isClosed(seen)) return undefined
  const wait = acceptanceWait(seen)
  return wait?.because === 'AcceptanceFailed' ? `${wait.seen}; its startup taint stays` : undefined
}
