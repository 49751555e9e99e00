// Decides a canary: which machines to mark, which permits to request, and when it has passed or failed. It does not write machines: the machine
// controller reads the marks. Pure.
import { configObject, renderedConfig } from '#api/kinds/component-config.ts'
import { defined } from '#lib/defined.ts'
import { parseDuration } from '#lib/duration.ts'
import { BEHIND_REQUEUE_MS } from '#declared/committed.ts'
import { withEdit } from '#declared/edited-status.ts'
import { firstEnd } from '#permits/holds/in-force.ts'
import { holdsOver, holdTarget } from '#permits/holds/reach.ts'
import { LEASES } from '#permits/leases.ts'
import type { Plan } from '#runtime/reconcile-with.ts'
import { SECRET_REQUEUE_MS, hasSecretRefs } from '#identity/secrets/secret-refs.ts'
import type { CanaryAction } from './actions.ts'
import { nextBatch, renewals, results } from './plan-batches.ts'
import { fitOf, problemOf } from './trials/compatibility.ts'
import { isHeld } from './trials/assessment.ts'
import { nextPhase } from './plan-phase.ts'
import { pickMachines } from './trials/selection.ts'
import type { Seen, Status } from './seen.ts'
import { standingOf } from './trials/machine-state.ts'
import { statusOf } from './status.ts'
import { MARKING, REASON_OF, type Trial } from './trials/trial.ts'
import { waitOf } from './plan-waits.ts'

export interface CanaryPlan extends Plan<CanaryAction> {
  readonly status: Status
}

const AT_WORK_MS = (LEASES.renewed * 1_000) / 4
const AFTER_MS = 50

export function plan(seen: Seen, now: number): CanaryPlan {
  const { canary, edit } = seen
  if (seen.isHeld === true) {
    const status = withEdit<Status>(canary.status ?? {}, canary.status, edit, now)
    return { actions: [], notices: [], status, ...(edit === undefined && { requeueAfter: BEHIND_REQUEUE_MS }) }
  }
  const before = canary.status?.phase ?? 'Pending'
  const targets = [holdTarget('ComponentCanary', canary)]
  const holds = [
    ...holdsOver(seen.holds, { effects: ['Pause', 'Freeze'], targets, cluster: { name: undefined }, now }),
    ...holdsOver(seen.holds, { effects: ['Abort'], targets, now }),
  ]
  const fit = fitOf(seen)
  const problem = problemOf(seen)
  const picked =
    before === 'Pending' ? pickMachines(seen, fit, now) : { machines: canary.status?.machines ?? [], lack: undefined }
  const trials = trialsOf(seen, picked.machines)
  const assessment = { picked, trials, holds, now, problem, fit }
  const move = nextPhase(seen, before, assessment)
  const isMarking = MARKING.has(move.phase)
  const actions = [
    ...(isMarking ? missingConfigs(seen) : []),
    ...results(seen, isMarking && !isHeld(holds)),
    ...(isMarking ? nextBatch(seen, move.phase, assessment) : []),
    ...renewals(seen, now),
  ]
  const status = statusOf(seen, {
    phase: move.phase,
    machines: move.phase === 'Pending' ? [] : picked.machines,
    trials: move.phase === 'Pending' ? [] : trials,
    observeUntil: move.observeUntil,
    promotedBy: move.promotedBy,
    asked: actions.flatMap((a) => (a.kind === 'RequestPermit' ? [a.permit] : [])),
    wait: waitOf(seen, move.phase, assessment),
    isPaused: isHeld(holds),
    now,
  })
  const notices = move.phase === before ? [] : [{ reason: REASON_OF[move.phase], message: readyMessage(status) }]
  const next = nextReconcileMs(status, canary.spec.promoteWithin, now)
  const isWaitingForSecrets = hasSecretRefs(canary.spec.components) && (move.phase === 'Pending' || isMarking)
  // A machine that is held now may be picked when the hold ends.
  const holdEnds = move.phase === 'Pending' ? firstEnd(seen.holds, now) : undefined
  const moments = [next, isWaitingForSecrets ? SECRET_REQUEUE_MS : undefined, holdEnds && holdEnds - now + AFTER_MS]
  const known = moments.filter((ms) => ms !== undefined)
  const requeueAfter = known.length === 0 ? undefined : Math.min(...known)
  return {
    actions,
    notices,
    status: withEdit(status, canary.status, edit, now),
    ...defined({ requeueAfter }),
  }
}

/** The event repeats the status message. */
const readyMessage = ({ phase, conditions = [] }: Status): string =>
  conditions.find((c) => c.type === 'Ready')?.message ?? `the canary is ${phase ?? 'Pending'}`

/** A deleted machine is no longer a trial: neither healthy nor failed. */
function trialsOf({ canary, machines }: Seen, picked: readonly string[]): readonly Trial[] {
  const names = new Set(picked)
  return machines
    .filter((m) => names.has(m.metadata.name ?? ''))
    .toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
    .flatMap((machine) =>
      canary.spec.components.map((wanted) => ({ machine, wanted, standing: standingOf(machine, wanted) })),
    )
}

/** The configurations for the marked machines. They are created before any machine references them. */
function missingConfigs({ canary, configs }: Seen): readonly CanaryAction[] {
  return canary.spec.components.flatMap((wanted) => {
    const rendered = renderedConfig(wanted)
    if (rendered === undefined || !rendered.isWhole || configs.get(rendered.object) !== undefined) return []
    const config = configObject(wanted.name, rendered)
    return [{ kind: 'CreateConfig' as const, reason: `new values for ${wanted.name}`, config }]
  })
}

function nextReconcileMs({ phase, observeUntil }: Status, promoteWithin: string, now: number): number | undefined {
  if (phase === 'Rolling') return AT_WORK_MS
  if (observeUntil === undefined || (phase !== 'Observing' && phase !== 'Passed')) return undefined
  const at = Date.parse(observeUntil) + (phase === 'Passed' ? parseDuration(promoteWithin) : 0)
  return Math.max(AFTER_MS, at - now + AFTER_MS)
}
