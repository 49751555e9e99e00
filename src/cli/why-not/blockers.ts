// What holds back the repair of one node, and the command that lifts it. Pure; a row of the table for each reason that the controllers and the Defender give.
import type { Reason } from '#api/catalogue.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { RepairsSeen, RuleSeen } from './look.ts'
import { type PolicyGate, type Verdict, policyPatch } from './policy-patch.ts'

export interface Blocker {
  /** One word, the same for the same cause. */
  readonly id: string
  /** The rule or job that is held back. */
  readonly of: string
  readonly text: string
  /** Lifts it. Absent: only what is said in the text does. */
  readonly command?: string
  /** What git declares comes back with the next commit unless it is changed there too. */
  readonly isDeclared?: boolean
}

type Row = (reason: {
  readonly rule: RuleSeen
  readonly text: string
  readonly seen: RepairsSeen
}) => Omit<Blocker, 'of'>

const patch = (plural: string, name: string, spec: object): string =>
  `kubectl patch ${plural}.kubenode.io ${name} --type merge -p '${JSON.stringify({ spec })}'`
const patchRule = ({ remedier }: RuleSeen, spec: object): string =>
  patch('noderemediers', remedier.metadata.name ?? '', spec)
const retry = (node: string): string => `kubenode repair node/${node} --reason "looked at by a person"`

/** Twice as much is enough to go on, and little enough to notice. */
const doubled = (n: number): number => 2 * n

const limit =
  (field: 'perHour' | 'perDay', id: string): Row =>
  ({ rule, text }) => ({
    id,
    text: `${text}; it goes on by itself when the first is long enough ago`,
    command: patchRule(rule, { limits: { [field]: doubled(rule.remedier.spec.limits[field]) } }),
    isDeclared: true,
  })

/** Reasons for which the remedy controller makes no job. */
const OF_RULES: Partial<Readonly<Record<Reason, Row>>> = {
  ShadowOnly: ({ rule, text }) =>
    rule.remedier.spec.mode === 'Shadow'
      ? { id: 'Shadow', text, command: patchRule(rule, { mode: 'Enforce' }), isDeclared: true }
      : { id: 'Share', text, command: patchRule(rule, { share: 100 }), isDeclared: true },
  DryRunOnly: ({ rule, text }) => ({
    id: 'DryRun',
    text,
    command: patchRule(rule, { mode: 'Enforce' }),
    isDeclared: true,
  }),
  ObservedOnly: ({ text, seen }) => ({
    id: 'Observed',
    text,
    command: patch('machines', seen.machine ?? seen.node, { channel: 'Agent' }),
    isDeclared: true,
  }),
  HoldPause: ({ text, seen }) => heldBy(text, seen),
  HoldAbort: ({ text, seen }) => ({ id: 'Aborted', text, command: retry(seen.node) }),
  LadderExhausted: ({ text, seen }) => ({ id: 'LadderExhausted', text, command: retry(seen.node) }),
  Cooldown: ({ text, seen }) => ({ id: 'Cooldown', text, command: retry(seen.node) }),
  PerNodeLimit: ({ text, seen }) => ({ id: 'PerNodeLimit', text, command: retry(seen.node) }),
  HourlyLimit: limit('perHour', 'HourlyLimit'),
  DailyLimit: limit('perDay', 'DailyLimit'),
  InFlightLimit: ({ rule, text }) => ({
    id: 'InFlightLimit',
    text: `${text}; it goes on when one of them ends`,
    command: patchRule(rule, { limits: { maxInFlight: more(rule.remedier.spec.limits.maxInFlight) } }),
    isDeclared: true,
  }),
  WaitingForOther: ({ rule, text }) =>
    text.startsWith('the rule must hold')
      ? { id: 'HoldDown', text, command: patchRule(rule, { for: '0s' }), isDeclared: true }
      : {
          id: 'HigherRule',
          text,
          command: patchRule(rule, { priority: 1_000 }),
          isDeclared: true,
        },
  CohortBlamed: ({ text }) => ({ id: 'MassFault', text: `${text}; look for the change that they share` }),
  ZoneOutage: ({ text }) => ({ id: 'MassSilence', text: `${text}; it goes on when they are heard of again` }),
  JobRunning: ({ text }) => ({ id: 'OtherJob', text: `${text}; it is this rule's turn after it` }),
}

const more = (max: number | string): number | string =>
  typeof max === 'number' ? doubled(max) : `${Math.min(100, doubled(Number.parseInt(max, 10)))}%`

/** The controllers and the Defender begin with the name of the hold. */
function heldBy(text: string, { holds }: RepairsSeen): Omit<Blocker, 'of'> {
  const [name = ''] = text.replace(/^hold /, '').split(/[:;]/, 1)
  const hold = holds.find((h) => h.metadata.name === name)
  const isAll = hold?.spec.effect === 'Freeze' && hold.spec.target.kind === 'Cluster'
  return {
    id: hold?.spec.effect === 'Freeze' ? 'Frozen' : 'Paused',
    text: `${text}${hold === undefined ? '' : ` (${hold.spec.author}, until ${hold.spec.until})`}`,
    command: isAll ? 'kubenode thaw --all' : `kubectl delete operationalholds.kubenode.io ${name}`,
  }
}

/** The built-in policy has no name: it goes once a policy of somebody decides. */
function raising(
  gate: PolicyGate,
  verdict: Verdict,
  { policies }: RepairsSeen,
): Pick<Blocker, 'command' | 'isDeclared'> {
  const policy = policies.find((p) => p.metadata.name === verdict.policy)
  const spec = policy && policyPatch(gate, verdict, policy)
  return spec === undefined ? {} : { command: patch('defenderpolicies', verdict.policy ?? '', spec), isDeclared: true }
}

type GateRow = (verdict: Verdict, seen: RepairsSeen) => Omit<Blocker, 'of'>

const said = ({ gate, seen = 'waiting', limit: at, policy }: Verdict): string =>
  `the Defender's gate ${gate} says: ${seen}${at === undefined ? '' : `, limit ${at}`}${policy === undefined ? '' : ` (policy ${policy})`}`

/** Gates that the Defender names. */
const OF_GATES: Readonly<Record<string, GateRow>> = {
  Hold: (v, seen) =>
    seen.frozen === undefined ? { ...heldBy(v.seen ?? '', seen), text: said(v) } : frozenByFile(seen),
  Protect: (v, seen) => ({
    id: 'Protected',
    text: said(v),
    command: `kubenode repair node/${seen.node} --unprotect --reason "looked at by a person"`,
  }),
  Window: (v, seen) => ({
    id: 'Window',
    text: `${said(v)}; it goes on by itself when times allow it`,
    ...raising('Window', v, seen),
  }),
  HealthFloor: (v, seen) =>
    v.policy === undefined && v.seen?.includes('silent') === true
      ? { id: 'MassSilence', text: `${said(v)}; it goes on when they are heard of again` }
      : { id: 'HealthFloor', text: said(v), ...raising('HealthFloor', v, seen) },
  Budget: (v, seen) => ({
    id: 'Budget',
    text: `${said(v)}; it goes on when others end`,
    ...raising('Budget', v, seen),
  }),
  Rate: (v, seen) => ({
    id: 'Rate',
    text: `${said(v)}; it goes on when the window has passed`,
    ...raising('Rate', v, seen),
  }),
  Breaker: (v, seen) => ({
    id: 'Breaker',
    text: `${said(v)}; it lets one through to see after its pause`,
    ...raising('Breaker', v, seen),
  }),
  Approval: (v, seen) => ({
    id: 'Approval',
    text: said(v),
    ...(seen.permit !== undefined && { command: `kubenode approve operationpermit/${seen.permit.metadata.name}` }),
  }),
  Rule: (v, seen) => ({ id: 'PolicyRule', text: said(v), ...raising('Rule', v, seen) }),
  Blame: (v, seen) => {
    const set = seen.setRefs.get(/^until (\S+) is taken back/.exec(v.limit ?? '')?.[1] ?? '')
    const text = `${said(v)}; what they share is looked at first: repairs one by one would not help`
    return set === undefined
      ? { id: 'Blamed', text }
      : { id: 'Blamed', text, command: `kubenode rollout retry ${set} --reason "looked at by a person"` }
  },
  Ledger: (v) => ({ id: 'Ledger', text: `${said(v)}; it goes on when grants end` }),
  Target: (v) => ({ id: 'TargetUnknown', text: said(v) }),
}

/** What has words of its own here; the rest would be told by its reason alone. */
export const TOLD: { readonly reasons: readonly string[]; readonly gates: readonly string[] } = {
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
              text: `${standing.why}: what it said may be long over, so only rules about silence are asked`,
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
  // A job and its rule, or a gate and the node, may wait for the same.
  return [...new Map(found.map((b) => [`${b.id} ${b.command ?? b.of}`, b])).values()]
}

/** Only on the node itself, since it must work while no server does. */
function frozenByFile({ frozen = '' }: RepairsSeen): Omit<Blocker, 'of'> {
  const folder = /^by (\/.*)\/[^/]+ on the node/.exec(frozen)?.[1] ?? '/var/lib/kubenode'
  return {
    id: 'FrozenByFile',
    text: `every disruption of the node is forbidden ${frozen}; whoever put the file there had a reason; run this on the node itself`,
    command: `kubenode thaw --node-folder ${folder}`,
  }
}

/** The last repair was refused for good. What was lifted since is no blocker any more. */
function ofDenial(seen: RepairsSeen): readonly Blocker[] {
  const verdict = seen.denied?.status?.verdicts?.find((v) => v.verdict === 'Denied')
  const row = verdict && OF_GATES[verdict.gate]
  if (verdict === undefined || row === undefined || (verdict.gate === 'Protect' && isUnprotected(seen))) return []
  const blocker = row(verdict, seen)
  if (verdict.gate !== 'Protect' && blocker.command === undefined && verdict.policy !== undefined) return []
  return [{ of: `operationpermit/${seen.denied?.metadata.name}`, ...blocker }]
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
        text: `no version of the rule is asked: ${broken}; correct it in git, kubenode lint says more`,
      },
    ]
  const row = fault?.reason === undefined ? undefined : OF_RULES[fault.reason]
  if (row === undefined) return []
  return [{ of, ...row({ rule: one, text: fault?.waitingFor ?? '', seen }) }]
}

function ofJob(job: RemedyOperationJob, seen: RepairsSeen): readonly Blocker[] {
  const of = `remedyoperationjob/${job.metadata.name}`
  const waiting = job.status?.waitingFor
  if (waiting === undefined) return []
  const { predicate, seen: text = '' } = waiting
  switch (predicate) {
    case 'HoldPause':
      return [{ of, ...heldBy(text, seen) }]
    case 'HoldFreeze':
      return [{ of, ...frozenByFile(seen) }]
    case 'PermitRequested':
      return [{ of, ...ofPermit(seen, text) }]
    case 'CohortBlamed':
      return [{ of, id: 'MassFault', text: `${text}; look for the change that they share` }]
    case 'SafetyReadingUnknown':
      return [{ of, id: 'NodeUnknown', text: `${text}; it goes on when the node is heard of again` }]
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

function ofPermit(seen: RepairsSeen, text: string): Omit<Blocker, 'of'> {
  const [verdict] = (seen.permit?.status?.verdicts ?? []).filter((v) => v.verdict !== 'Granted')
  if (verdict === undefined)
    return {
      id: 'DefenderSilent',
      text: `${text}; start it where it does not run`,
      command: 'kubenode run --roles defender --kubeconfig FILE',
    }
  const row = Object.hasOwn(OF_GATES, verdict.gate) ? OF_GATES[verdict.gate] : undefined
  return row === undefined ? { id: verdict.gate, text: said(verdict) } : row(verdict, seen)
}

export function blockerLines(seen: RepairsSeen): readonly string[] {
  const found = blockers(seen)
  const trueRules = seen.rules.filter((r) => r.fault !== undefined)
  if (found.length > 0)
    return found.flatMap(({ id, of, text, command, isDeclared }) => [
      `${id} (${of}): ${text}`,
      ...(command === undefined ? [] : [`  to lift it: ${command}`]),
      ...(isDeclared === true ? ['  what git declares comes back with the next sync: change it there as well'] : []),
    ])
  if (seen.job !== undefined)
    return [
      `nothing holds it back: remedyoperationjob/${seen.job.metadata.name} is ${seen.job.status?.phase ?? 'Pending'}`,
    ]
  return trueRules.length > 0
    ? ['nothing holds it back: a job is about to be made']
    : [
        `no rule is true for node/${seen.node}, so there is nothing to repair; kubenode rules simulate shows what each looks at`,
      ]
}
