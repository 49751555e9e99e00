// Who counts a user's Approval and who does not: the gates that a release still waits for, the policies that a permit waits for, or a source that
// verifies commits. Pure.
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { stagePart } from '#api/protocol/part.ts'
import { ANY_APPROVER, rulesFor } from '#defender/approvals.ts'
import type { Person } from '#kube/current-person.ts'
import { type ApprovalAsk, type Gate, groupOf, isAskedAs, isFrom, namesOf, type Stage } from '#sync/release/gates.ts'
import { isOfRiskGate, RISK_ASKS } from '#sync/release/risk.ts'

/** A gate, a policy or a source that waits for approvals. */
export interface Asker {
  /** "gate board of stage prod". */
  readonly name: string
  /** The accepted approvers, or why they are unknown. */
  readonly asks: ApprovalAsk | string
}

type StageStatus = NonNullable<NonNullable<Release['status']>['stages']>[number]

const isOver = ({ phase }: StageStatus): boolean => phase === 'Succeeded' || phase === 'Skipped'

/**
 * The approval gates that the release still has to pass. If its commit changes the pipeline, the gates from before the commit apply. The status has
 * sync's result; a gate that differs from the pipeline on the hub is quoted, not judged.
 */
export function askersOfRelease({ status }: Release, pipeline: ReleasePipeline | undefined): readonly Asker[] {
  const stages = pipeline?.spec.stages ?? []
  const known = status?.stages ?? []
  const names = new Set([...known.map((s) => s.name), ...stages.map((s) => s.name)])
  return [...names].flatMap((name) => {
    const its = known.find((s) => s.name === name)
    if (its !== undefined && isOver(its)) return []
    return askersOfStage(
      name,
      its?.gates ?? [],
      stages.find((s) => s.name === name),
    )
  })
}

function askersOfStage(
  stage: string,
  records: NonNullable<StageStatus['gates']>,
  declared: Stage | undefined,
): readonly Asker[] {
  const moments = { Before: declared?.before, During: declared?.gates, After: declared?.after } as const
  const gates = Object.entries(moments).flatMap(([when, all = []]) => all.map((gate): [string, Gate] => [when, gate]))
  const asking = gates.flatMap(([when, { name: gate, approval: asks }]): readonly Asker[] => {
    const record = records.find((r) => r.when === when && r.name === gate)
    if (asks === undefined || record?.phase === 'Passed') return []
    const name = `gate ${gate} of ${stagePart(stage)}`
    const { seen } = record ?? {}
    return [{ name, asks: seen === undefined || isAskedAs(asks, seen) ? asks : beforeCommit(seen) }]
  })
  const others = records.flatMap(({ when, name, phase, seen = '' }): readonly Asker[] => {
    const isDeclared = gates.some(([moment, gate]) => moment === when && gate.name === name)
    if (isDeclared || phase === 'Passed' || !isAskedAs(undefined, seen)) return []
    const asks = isOfRiskGate(name, seen) ? RISK_ASKS : beforeCommit(seen)
    return [{ name: `gate ${name} of ${stagePart(stage)}`, asks }]
  })
  return [...asking, ...others]
}

const beforeCommit = (seen: string): string =>
  `the commit changes the pipeline, and the gates from before it bind; this one was last read as: ${seen}`

/** The policies whose approvals the permit waits for, by the Defender's last report. Empty when any user may approve. */
export function askersOfPermit(
  { spec, status }: OperationPermit,
  policies: readonly DefenderPolicy[],
): readonly Asker[] {
  const waiting = [...(status?.gates ?? []), ...(status?.verdicts ?? [])].filter(
    (v) => v.gate === 'Approval' && v.verdict !== 'Granted',
  )
  if (waiting.some(({ limit }) => limit?.endsWith(ANY_APPROVER) === true)) return []
  const names = new Set(waiting.map((v) => v.policy))
  return policies
    .filter(({ metadata }) => names.has(metadata.name))
    .flatMap(({ metadata, spec: policy }) =>
      rulesFor(policy.approvals ?? [], spec).map((asks) => ({ name: `policy ${metadata.name ?? ''}`, asks })),
    )
}

/** Other signers approve a commit, each with the user name that is their principal. */
export function askersOfCommit({ spec: { verify } }: FleetSource): readonly Asker[] {
  const name = 'the verification of commits'
  if (verify?.signersFile !== undefined)
    return [{ name, asks: `the signers are also in the file ${verify.signersFile.path} of the repository` }]
  const people = (verify?.signers ?? []).filter((s) => s.sync !== true && s.forge !== true && s.reverts !== true)
  return people.length === 0 ? [] : [{ name, asks: { from: people.map((s) => s.principal), count: 1 } }]
}

/** Groups whose members count as approvers. */
export const groupsAsked = (askers: readonly Asker[]): readonly string[] =>
  askers.flatMap(({ asks }) => (typeof asks === 'string' ? [] : asks.from.flatMap((f) => groupOf(f) ?? [])))

/** The limit of the kind. */
const MOST_GROUPS = 64

/** The groups that an Approval names. If the user is in more groups than it can hold, the ones that count come first. */
export const groupsToName = (groups: readonly string[], asked: readonly string[]): readonly string[] =>
  groups
    .toSorted()
    .toSorted((a, b) => Number(asked.includes(b)) - Number(asked.includes(a)))
    .slice(0, MOST_GROUPS)
    .toSorted()

export interface Counts {
  readonly isCounted: boolean
  readonly lines: readonly string[]
}

/** `command`: the line that other users would run. */
export function countsOf(askers: readonly Asker[], { name: by, groups }: Person, command: string): Counts {
  const found = askers.map(({ name, asks }) => {
    if (typeof asks === 'string')
      return { isCounted: true, line: `it is not known whether ${name} counts this: ${asks}` }
    if (isFrom({ by, groups }, asks.from)) return { isCounted: true }
    const who = `${asks.count} of: ${namesOf(asks.from)}`
    return { isCounted: false, line: `this does not count for ${name}, which asks for ${who}; they run ${command}` }
  })
  return {
    isCounted: found.length === 0 || found.some((f) => f.isCounted),
    lines: found.flatMap(({ line = [] }) => line),
  }
}
