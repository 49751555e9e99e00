// Decides the phase of a canary with its state machine. Events that end it are tried before events that advance it. Pure.
import type { DeclaredComponent } from '#api/kinds/component-config.ts'
import { type CanaryEvent, type CanaryFacts, type CanaryPhase, nextCanaryPhase } from '#api/protocol/canary.ts'
import { timestamp } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { jsonEqual } from '#lib/json.ts'
import { holdOf } from '#permits/holds/in-force.ts'
import { selects } from '#nodes/placement/selecting.ts'
import { type Assessment, isHeld } from './trials/assessment.ts'
import type { Seen } from './seen.ts'
import { type Trial, failedMachines } from './trials/trial.ts'

export interface Move {
  readonly phase: CanaryPhase
  readonly observeUntil: string | undefined
  readonly promotedBy: string | undefined
}

/** Order matters: events that end a canary come before events that advance it. */
const EVENTS: readonly CanaryEvent[] = ['abort', 'fail', 'promote', 'lapse', 'unsettle', 'pass', 'observe', 'roll']

export function nextPhase(seen: Seen, before: CanaryPhase, { picked, trials, holds, now, problem }: Assessment): Move {
  const { spec, status } = seen.canary
  const allHealthy = trials.length > 0 && trials.every((t) => t.standing === 'Healthy')
  const until = Date.parse(status?.observeUntil ?? '')
  const promotedBy = declaringSet(seen, trials)
  const facts: CanaryFacts = {
    machinesPicked: picked.lack === undefined && picked.machines.length > 0,
    componentsExist: problem === undefined,
    notHeld: !isHeld(holds),
    allHealthy,
    someUnhealthy: !allHealthy,
    failuresAbove: failedMachines(trials).size > allowedFailures(seen, picked.machines.length),
    durationOver: now >= until,
    setDeclares: promotedBy !== undefined,
    promotionOverdue: now >= until + parseDuration(spec.promoteWithin),
    abortWanted: spec.abort || holdOf(holds, 'Abort') !== undefined,
  }
  for (const event of EVENTS) {
    const step = nextCanaryPhase(before, event, facts)
    if (!step.ok) continue
    // The soak restarts whenever a machine was unhealthy in between.
    const watch =
      event === 'observe'
        ? timestamp(Math.ceil((now + parseDuration(spec.duration)) / 1_000) * 1_000)
        : status?.observeUntil
    return {
      phase: step.state,
      observeUntil: event === 'unsettle' ? undefined : watch,
      promotedBy: event === 'promote' ? promotedBy : status?.promotedBy,
    }
  }
  return { phase: before, observeUntil: status?.observeUntil, promotedBy: status?.promotedBy }
}

function allowedFailures({ canary }: Seen, picked: number): number {
  const { maxFailures } = canary.spec.strategy
  return typeof maxFailures === 'number' ? maxFailures : Math.floor((picked * Number(maxFailures.slice(0, -1))) / 100)
}

/** Promoted means that every picked machine would keep the versions without the canary. */
function declaringSet({ sets }: Seen, trials: readonly Trial[]): string | undefined {
  const declares = ({ machine, wanted }: Trial) =>
    sets
      .filter((s) => selects(s.spec.selector, machine.metadata.labels))
      .find((s) => s.spec.components.some((c) => isSameAs(c, wanted)))?.metadata.name
  const found = trials.map(declares)
  return found.includes(undefined) ? undefined : found[0]
}

/** A canary without values tests the version alone. */
function isSameAs(declared: DeclaredComponent, { name, version, values, secretRefs }: DeclaredComponent): boolean {
  if (declared.name !== name || declared.version !== version) return false
  if (values === undefined && secretRefs === undefined) return true
  return jsonEqual([declared.values, declared.secretRefs], [values, secretRefs])
}
