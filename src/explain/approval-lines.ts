// Lines about what an approval opens, and what it does not open: stages of a release, and gates that ask something else than people. Pure.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import { stagePart } from '#api/protocol/part.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { isApprovalText, type Stage } from '#sync/release/gates.ts'
import { verdictNote } from './verdict.ts'

type StageStatus = NonNullable<NonNullable<Release['status']>['stages']>[number]

/** "Window: closed (policy nights)"; gates that wait for approvals are left out. */
export const otherVerdicts = ({ status }: Pick<OperationPermit, 'status'>): readonly string[] => [
  ...new Set(
    [...(status?.gates ?? []), ...(status?.verdicts ?? [])]
      .filter(({ gate, verdict }) => gate !== 'Approval' && verdict !== 'Granted')
      .map(({ gate, seen, limit, policy }) => `${gate}: ${verdictNote(defined({ seen, limit, policy }))}`),
  ),
]

/** "gate ready of stage prod: 3 of 5 machines are Ready, 98% are needed". */
export const otherGates = (stages: readonly StageStatus[]): readonly string[] =>
  stages.flatMap(({ name: stage, gates = [] }) =>
    gates
      .filter(({ phase, seen = '' }) => phase !== 'Passed' && !isApprovalText(seen))
      .map(({ name, seen = 'waiting' }) => `gate ${name} of ${stagePart(stage)}: ${seen}`),
  )

/** "Stage prod (Waiting): 2 clusters to change, 1 at a time, then 15m of soak". */
export function stageLine({ name, phase }: StageStatus, clusters: number, declared: Stage | undefined): string {
  const pace =
    clusters === 0 || declared === undefined
      ? ''
      : `, ${declared.maxConcurrency} at a time, then ${declared.minSuccessTime} of soak`
  return `Stage ${name} (${phase}): ${counted(clusters, 'cluster')} to change${pace}`
}
