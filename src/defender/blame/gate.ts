// The gate of blame. Nodes whose fault is a shared change are not repaired one by one, and the change spreads no further. Going back to the last
// healthy revision always passes.
import type { Machine } from '#api/kinds/machine.ts'
import { machine } from '#api/kinds/machine.ts'
import type { GateVerdict } from '../gate.ts'
import type { Question } from '../question.ts'
import { pass, wait } from '../verdict-of.ts'
import { type Cohort, cohortKey, cohortName, cohortsOf, isPlace } from './cohorts.ts'
import { REPAIRER, ROLLOUTS } from './failing.ts'
import { type Blame, cohortOf } from './latch.ts'
import { defined } from '#lib/defined.ts'

const REQUEUE_MS = 60_000

export function blameGate(
  question: Question,
  blames: readonly Blame[],
  retried: ReadonlySet<string>,
): readonly GateVerdict[] {
  if (blames.length === 0) return []
  const blame = blames.find((b) => isInWay(question, cohortOf(b), retried))
  if (blame === undefined) return []
  const seen = evidence(blame)
  if (question.isRecovery) return [pass('Blame', { reason: 'RecoveryExempt', seen })]
  const { component = question.permit.spec.component?.name } = cohortOf(blame)
  return [
    wait('Blame', {
      reason: 'CohortBlamed',
      seen,
      limit: wayOut(cohortOf(blame), isRollout(question)),
      ...defined({ component }),
      retryAfterMs: REQUEUE_MS,
    }),
  ]
}

const evidence = (blame: Blame): string =>
  `${cohortName(cohortOf(blame))}: ${blame.failing} of ${blame.members} fail, ${blame.failingElsewhere} of ${blame.elsewhere} elsewhere${namesOf(blame)}`

/** The ledger has the whole list. */
const NAMED = 3

const namesOf = ({ machines = [] }: Blame): string =>
  machines.length === 0 ? '' : ` (${machines.slice(0, NAMED).join(', ')}${machines.length > NAMED ? ', …' : ''})`

const wayOut = ({ component, kind }: Cohort, isOfRollout: boolean): string =>
  component === undefined
    ? `until failures in this ${kind.toLowerCase()} stop${isOfRollout ? ', or a hold permits a retry' : ''}`
    : `until a commit reverts ${component}, or a hold permits a retry`

const isRollout = ({ permit }: Question): boolean => ROLLOUTS.has(permit.spec.requester.kind ?? '')

function isInWay(question: Question, blamed: Cohort, retried: ReadonlySet<string>): boolean {
  const { permit, unit } = question
  // A rollout into a failing zone or rack cannot be distinguished from its failures. Users who know better declare a retry of the component.
  const isHeldUp = isPlace(blamed) && isRollout(question) && !retried.has(permit.spec.component?.name ?? '')
  if (permit.spec.requester.kind === REPAIRER || isHeldUp) {
    const key = cohortKey(blamed)
    return cohortsOf(unit).some((c) => cohortKey(c) === key)
  }
  const { component } = permit.spec
  if (component === undefined || component.name !== blamed.component) return false
  if (blamed.kind === 'Component') return component.version === blamed.value
  return (
    wantedConfig(unit.source.kind === machine.kind ? (unit.source as Machine) : undefined, component.name) ===
    blamed.value
  )
}

const wantedConfig = (m: Machine | undefined, component: string): string | undefined =>
  m?.spec.components?.find((c) => c.name === component)?.config
