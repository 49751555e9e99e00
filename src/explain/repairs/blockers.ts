// What blocks one node's repair, and the command that unblocks it. Pure. Every reason of the controllers and the Defender has a text.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { counted } from '#lib/counted.ts'
import { type Blocker, type Cause, frozenByFile, heldBy, massFault } from './blocker.ts'
import { OF_GATES, gateText } from './gate-blockers.ts'
import { linesOf, type Finding } from '../finding.ts'
import { phaseWords } from '../phase-words.ts'
import type { RepairsSeen, RuleSeen } from './observe.ts'
import { OF_RULES } from './rule-blockers.ts'
import { someOf } from '#lib/some-of.ts'

/** Reasons with their own text here; any other would appear only as its reason. */
export const COVERED: { readonly reasons: readonly string[]; readonly gates: readonly string[] } = {
  reasons: Object.keys(OF_RULES),
  gates: Object.keys(OF_GATES),
}

export function blockers(seen: RepairsSeen): readonly Blocker[] {
  const { standing, rules, job } = seen
  const general: Blocker[] =
    standing.kind === 'Leaving'
      ? [{ id: 'Leaving', of: `node/${seen.node}`, text: `${standing.why}: no repair is wanted` }]
      : standing.kind === 'Silent'
        ? [
            {
              id: 'Silent',
              of: `node/${seen.node}`,
              text: `${standing.why}: the conditions that it reported may be out of date, so only rules about silent nodes are evaluated`,
            },
          ]
        : []
  const frozen = seen.frozen === undefined ? [] : [{ of: `node/${seen.node}`, ...frozenByFile(seen) }]
  const found = [
    ...general,
    ...frozen,
    ...rules.flatMap((r) => ofRule(r, seen)),
    ...(job === undefined ? ofDenial(seen) : ofJob(job, seen)),
  ]
  // A job and its rule, or a gate and the node, may wait for the same thing.
  return [...new Map(found.map((b) => [`${b.id} ${b.command ?? b.of}`, b])).values()]
}

/** The last repair was refused for good. Causes that were removed since no longer block. */
function ofDenial(seen: RepairsSeen): readonly Blocker[] {
  const verdict = seen.denied?.status?.verdicts?.find((v) => v.verdict === 'Denied')
  const row = verdict && OF_GATES[verdict.gate]
  if (verdict === undefined || row === undefined || (verdict.gate === 'Protect' && isUnprotected(seen))) return []
  const blocker = row(verdict, seen)
  if (verdict.gate !== 'Protect' && blocker.command === undefined && verdict.policy !== undefined) return []
  return [{ of: `permit/${seen.denied?.metadata.name}`, ...blocker }]
}

const isUnprotected = ({ holds, node, now }: RepairsSeen): boolean =>
  holds.some(
    ({ spec: { effect, target, until } }) =>
      effect === 'Unprotect' && Date.parse(until) > now && (target.kind === 'Cluster' || target.name === node),
  )

function ofRule(one: RuleSeen, seen: RepairsSeen): readonly Blocker[] {
  const { remedier, fault, broken } = one
  const of = `noderemedier/${remedier.metadata.name}`
  if (broken !== undefined)
    return [
      {
        id: 'RuleBroken',
        of,
        text: `no valid version of the rule: ${broken}; correct it in git; for details, run kubenode lint`,
      },
    ]
  const row = fault?.reason === undefined ? undefined : OF_RULES[fault.reason]
  if (row === undefined) return []
  return [{ of, ...row({ rule: one, text: fault?.waitingFor ?? '', by: fault?.by, seen }) }]
}

function ofJob(job: RemedyOperationJob, seen: RepairsSeen): readonly Blocker[] {
  const of = `remedyoperationjob/${job.metadata.name}`
  const waiting = job.status?.waitingFor
  if (waiting === undefined) return []
  const { predicate, seen: text = '' } = waiting
  switch (predicate) {
    case 'HoldPause':
      return [{ of, ...heldBy(waiting.hold, text, seen) }]
    case 'HoldFreeze':
      return [{ of, ...frozenByFile(seen) }]
    case 'PermitRequested':
      return [{ of, ...ofPermit(seen, text) }]
    case 'MaintenanceUnderWay':
      return [{ of, id: 'Maintenance', text: `${text}; repairs continue when it ends` }]
    case 'CohortBlamed':
      return [{ of, ...massFault(text) }]
    case 'SafetyReadingUnknown':
      return [{ of, id: 'NodeUnknown', text: `${text}; it continues when the node reports again` }]
    case 'ReferenceMissing':
      return [{ of, id: 'MachineMissing', text, command: abort(job) }]
    case 'ReconcileFailed':
      return [{ of, id: 'Failing', text: `${text}; ${waiting.unblock}` }]
    case 'WaitingForOther':
      return [{ of, id: 'StepAtWork', text: `${text}; ${waiting.unblock}` }]
    default:
      return []
  }
}

const abort = (job: RemedyOperationJob): string =>
  `kubectl delete remedyoperationjobs.kubenode.io ${job.metadata.name} --wait=false`

function ofPermit(seen: RepairsSeen, text: string): Cause {
  const [verdict] = (seen.permit?.status?.verdicts ?? []).filter((v) => v.verdict !== 'Granted')
  if (verdict === undefined)
    return {
      id: 'DefenderSilent',
      text: `${text}; start it where it does not run`,
      command: 'kubenode run --roles defender --kubeconfig FILE',
    }
  const row = Object.hasOwn(OF_GATES, verdict.gate) ? OF_GATES[verdict.gate] : undefined
  return row === undefined ? { id: verdict.gate, text: gateText(verdict) } : row(verdict, seen)
}

/** Text from objects and nodes must not look like a KubeNode line with a command. */
const oneLine = (text: string): string => text.replace(/[\n\u2028\u2029]+/g, ' ')

export const blockerFindings = (seen: RepairsSeen): readonly Finding[] => [
  ...foundFindings(seen),
  ...unknownLines(seen).map((text) => ({ text: oneLine(text) })),
]

export const blockerLines = (seen: RepairsSeen): readonly string[] => blockerFindings(seen).flatMap(linesOf)

/** Rules with the same cause share a line: a node without a detector would have one for every rule. */
function unknownLines({ rules }: RepairsSeen): readonly string[] {
  const unknown = rules.flatMap(({ remedier, unknownBecause: why }) =>
    why === undefined ? [] : [{ name: remedier.metadata.name ?? '', why }],
  )
  const groups = [...Map.groupBy(unknown, (u) => u.why)].toSorted(([, a], [, b]) => b.length - a.length)
  return [
    ...groups.slice(0, MOST_CAUSES).map(([why, of]) => {
      const names = of.map((u) => u.name)
      const which = `${names.length === 1 ? 'rule' : 'rules'} ${someOf(names, MOST_RULES)}`
      return `${which}: unknown (${why}), no action`
    }),
    ...(groups.length > MOST_CAUSES
      ? [`and ${counted(groups.slice(MOST_CAUSES).flatMap(([, of]) => of).length, 'rule')} with other causes`]
      : []),
  ]
}

/** Limit of rule names per cause, and of causes: `rules simulate` shows every rule. */
const MOST_RULES = 3
const MOST_CAUSES = 3

function foundFindings(seen: RepairsSeen): readonly Finding[] {
  const found = blockers(seen)
  if (found.length > 0)
    return found.map(({ id, of, text, command, isDeclared }) => ({
      text: oneLine(`${id} (${of}): ${text}`),
      ...(command !== undefined && { command: { line: oneLine(command), does: 'lift it' } }),
      ...(isDeclared === true && {
        below: [{ text: 'declared in git, so the next sync restores it: change it there as well' }],
      }),
    }))
  return [{ text: oneLine(nothingText(seen)) }]
}

function nothingText({ job, rules, node }: RepairsSeen): string {
  if (job !== undefined)
    return `nothing blocks the repair: remedyoperationjob/${job.metadata.name} ${phaseWords('RemedyOperationJob', job.status?.phase ?? 'Pending')}`
  return rules.some((r) => r.fault !== undefined)
    ? 'nothing blocks the repair: a job is about to be created'
    : `no rule is true for node/${node}, so there is nothing to repair; to see the inputs of each rule, run kubenode rules simulate`
}
