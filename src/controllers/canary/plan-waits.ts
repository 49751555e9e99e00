// Decides what a canary waits for. The status tracks since when. Pure.
import type { CanaryPhase } from '#api/protocol/canary.ts'
import { counted } from '#lib/counted.ts'
import { holdOf } from '#permits/holds/in-force.ts'
import { askAgainInMs } from '#permits/ended-for.ts'
import { endedWait, permitWait } from '#permits/permit-wait.ts'
import { stagingRefusal } from '#nodes/placement/staging-refusal.ts'
import { isOpen } from '#permits/permits.ts'
import { refusedOf } from './plan-batches.ts'
import type { Fit } from './trials/compatibility.ts'
import type { Assessment } from './trials/assessment.ts'
import type { Seen } from './seen.ts'
import type { Trial, Wait } from './trials/trial.ts'
import { shortened } from '#lib/shortened.ts'

/** The Defender's reason for the pending batch, or for the last refusal. */
function batchWait({ permits, refusedFor }: Seen): Wait | undefined {
  const waiting = permits.find((p) => isOpen(p) && p.status?.phase !== 'Granted')
  const refused = refusedOf(permits)
  const permit = waiting ?? (askAgainInMs(refused, refusedFor) > 0 ? refused : undefined)
  if (permit === undefined) return undefined
  return waiting === undefined ? endedWait(permit) : permitWait(permit)
}

/** None of the canary's remaining components fits on its machines. */
function unmetWait(trials: readonly Trial[], fit: Fit): Wait | undefined {
  const waiting = trials.filter((t) => t.standing === 'Waiting')
  const why = waiting.map(({ machine, wanted }) => ({ machine, wanted, why: fit.now(machine, wanted) }))
  const [first] = why
  if (first === undefined || why.some((w) => w.why === undefined)) return undefined
  return {
    predicate: 'RequirementUnmet',
    seen: shortened(`${first.machine.metadata.name}: ${first.wanted.name} ${first.wanted.version}: ${first.why}`, 200),
    unblock: 'its dependencies run on the machine, or the canary tries a compatible version',
  }
}

/** A machine that does not accept the component never switched, so it has not failed either. */
function refusedWait(trials: readonly Trial[]): Wait | undefined {
  for (const { machine, wanted, standing } of trials) {
    const report = machine.status?.components?.find((c) => c.name === wanted.name)
    const refusal = standing === 'Waiting' && report?.desired === wanted.version ? stagingRefusal(report) : undefined
    if (refusal !== undefined)
      return {
        predicate: refusal.reason,
        seen: shortened(`${machine.metadata.name}: ${refusal.message}`, 200),
        unblock: `${refusal.reason === 'FetchFailed' ? `a person publishes ${wanted.name} ${wanted.version} at one of its URLs` : 'a person removes the cause'}, or a commit gives the canary another version: kubenode describe machine/${machine.metadata.name ?? ''}`,
      }
  }
  return undefined
}

/** No machine will start to match on its own. */
const NO_MATCH = 'a commit corrects spec.selector, or machines get its labels: kubenode get machines --show-labels'

export function waitOf(
  seen: Seen,
  phase: CanaryPhase,
  { picked, trials, holds, problem, fit }: Assessment,
): Wait | undefined {
  const pause = holdOf(holds, 'Pause', 'Freeze')
  switch (phase) {
    case 'Pending':
    case 'Rolling':
      if (pause !== undefined)
        return {
          predicate: 'HoldPause',
          seen: `hold ${pause.metadata.name}`,
          unblock: `the hold is deleted or expires at ${pause.spec.until}`,
        }
      if (problem !== undefined)
        return {
          predicate: problem.reason,
          seen: problem.message.slice(0, 200),
          unblock: problem.unblock ?? 'a commit corrects the canary',
        }
      if (phase === 'Pending')
        return {
          predicate: picked.isMisfit === true ? 'RequirementUnmet' : 'NoMachines',
          seen: picked.lack ?? 'the selector matches no machine',
          unblock: picked.isWithout === true ? NO_MATCH : 'enough machines are healthy, or spec.pick is changed',
        }
      return (
        batchWait(seen) ??
        unmetWait(trials, fit) ??
        refusedWait(trials) ?? {
          predicate: 'Progressing',
          seen: `${trials.filter((t) => t.standing === 'Healthy').length} of ${counted(trials.length, 'trial is', 'trials are')} healthy`,
          unblock: 'the Defender grants the permits and the machines switch',
        }
      )
    case 'Observing':
      return {
        predicate: 'Soaking',
        seen: `observing until ${seen.canary.status?.observeUntil ?? 'the duration is over'}`,
        unblock: 'the machines stay healthy until then',
      }
    case 'Passed':
      return {
        predicate: 'WaitingForOther',
        seen: 'no set declares these versions yet',
        unblock: `a commit promotes the version: kubenode canary promote ${seen.canary.metadata.name ?? ''}`,
      }
    case 'Promoted':
    case 'Lapsed':
    case 'Failed':
    case 'Aborted':
      return undefined
    default:
      return phase satisfies never
  }
}
