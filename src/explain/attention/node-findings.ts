// What is wrong with machines and their Nodes, and why it is not repaired. Many machines with the same cause are one finding. Pure.
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { isReason, REASONS, runbookPath } from '#api/catalogue.ts'
import { DETECTION_INCOMPLETE } from '#api/node-conditions.ts'
import {
  bounded,
  commandStep,
  type FleetFinding,
  finding,
  objectIn,
  objectsText,
  type Point,
  stampOf,
  stepOf,
  type Weight,
} from './finding.ts'
import { LATE_CAUSE, LATE_ENDS, LATE_TEXT, lateSince } from '../late-heartbeat.ts'
import type { Urgency, WayOn } from '../finding.ts'
import { conditionsIn } from '../rule-conditions.ts'
import { unblockOf } from '../unblock.ts'
import { peopleSentence } from '../ways-out.ts'
import { nodeNameOf, type NodeProblem, type ObservedCluster, type ObservedMachine } from './observed.ts'

const oldest = (times: readonly (string | number | undefined)[]): number | undefined => {
  const known = times.map(stampOf).filter((t) => t !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

const runbookOf = (reason: string): string | undefined =>
  isReason(reason) ? runbookPath(REASONS[reason].runbook) : undefined

/** Machine phases that only end when a user acts. */
const ENDED: ReadonlySet<string> = new Set(['Failed', 'Lost'])
/** These show up as findings of the set that switches the machine, or the job that repairs it. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set(['Ready', 'Updating', 'Repairing'])
/** The machine is being changed, and meanwhile its Node may have problems. */
const AT_WORK: ReadonlySet<string> = new Set([
  'Provisioning',
  'Joining',
  'Importing',
  'Installing',
  'Updating',
  'Repairing',
  'Draining',
  'Deleting',
])
/** Reasons that do not end by themselves. */
const NEEDS_PERSON: ReadonlySet<string> = new Set([
  'JoinCommandMissing',
  'JoinExpired',
  'AcceptanceFailed',
  'CertificateDenied',
  'HostUnsuitable',
  'ProviderError',
  'ComponentMissing',
  'DigestMismatch',
  'SignatureInvalid',
  'TrustRefused',
  'FetchFailed',
  'InstallFailed',
  'UnsupportedPlatform',
  'SkewRefused',
])

/** By a file, which stays until a user removes it. When it appeared is not observed. */
const FROZEN = 'frozen'

interface Judged {
  readonly weight: Weight
  readonly urgency: Urgency
  readonly what: string
  readonly reason: string
}

function judged({ state }: ObservedMachine): readonly Judged[] {
  const { phase, reason, silent, isFrozen } = state
  const isSilent = silent === 'Yes' && !ENDED.has(phase)
  const needsPerson = ENDED.has(phase) || phase === 'NotReady' || NEEDS_PERSON.has(reason)
  return [
    ...(isSilent ? [{ weight: 'Act', urgency: 'Failed', what: 'silent', reason: '' } as const] : []),
    ...(SHOWN_ELSEWHERE.has(phase) || (isSilent && phase === 'NotReady')
      ? []
      : [
          {
            weight: needsPerson ? 'Act' : 'Wait',
            urgency: needsPerson ? 'Failed' : 'Progressing',
            what: phase,
            reason,
          } as const,
        ]),
    ...(isFrozen ? [{ weight: 'Act', urgency: 'Waiting', what: FROZEN, reason: 'a file on its host' } as const] : []),
  ]
}

function peopleStep(reason: string, word: string): WayOn | undefined {
  const sentence = peopleSentence(reason, word)
  return sentence === undefined ? undefined : unblockOf(sentence)
}

/** `repaired`: Nodes whose repair has its own finding. */
export function machineFindings(cluster: ObservedCluster, repaired: ReadonlySet<string>): readonly FleetFinding[] {
  const same = new Map<string, { readonly judged: Judged; readonly machines: ObservedMachine[] }>()
  for (const machine of cluster.list('machines'))
    for (const one of judged(machine)) {
      if ((one.what === 'NotReady' || one.what === 'silent') && repaired.has(nodeNameOf(machine))) continue
      const key = `${one.what}/${one.reason}`
      const group = same.get(key)
      if (group === undefined) same.set(key, { judged: one, machines: [machine] })
      else group.machines.push(machine)
    }
  const found = [...same].map(([key, { judged: one, machines }]) => {
    const names = machines.map((m) => m.metadata.name ?? '').toSorted()
    const [name = ''] = names
    const are = names.length === 1 ? 'is' : 'are'
    const reason = one.reason === '' ? '' : `: ${one.reason}`
    return finding(objectIn(cluster.name, 'Machine', { name }), {
      weight: one.weight,
      urgency: one.urgency,
      ...(one.what !== 'Failed' && one.what !== 'Lost' && { part: one.what }),
      cause: `machines/${key}`,
      count: names.length,
      text: `${objectsText('machine', names)} ${are} ${one.what}${reason}`,
      since: one.what === FROZEN ? undefined : oldest(machines.map((m) => m.since * 1_000)),
      first:
        (one.weight === 'Act' ? peopleStep(one.reason, `machine/${name}`) : undefined) ??
        commandStep(`kubenode why machine/${name}`),
      runbook: runbookOf(one.reason),
    })
  })
  return bounded(found, 'states of machines')
}

/** Machines whose status may be out of date, before their agents count as silent. */
export function lateFindings({ name: cluster, list, heartbeats }: ObservedCluster): readonly FleetFinding[] {
  if (heartbeats === undefined) return []
  const late = list('machines').flatMap(({ metadata: { name = '' }, state }) => {
    const since = lateSince(state, heartbeats.renewed.get(name), heartbeats.readAt)
    return since === undefined ? [] : [{ name, since }]
  })
  const [first] = late.toSorted((a, b) => a.since - b.since)
  if (first === undefined) return []
  const names = late.map(({ name }) => name).toSorted()
  return [
    finding(objectIn(cluster, 'Machine', { name: first.name }), {
      weight: 'Wait',
      urgency: 'Waiting',
      part: 'late',
      cause: LATE_CAUSE,
      count: names.length,
      text: `no heartbeat from ${objectsText('machine', names)}: ${LATE_TEXT}`,
      since: first.since,
      first: { ends: LATE_ENDS },
    }),
  ]
}

/** Why a matching rule does nothing for a Node until a user acts. Other reasons are waits that end by themselves. */
const REFUSED: Readonly<Record<string, string>> = {
  LadderExhausted: 'ladder exhausted',
  HoldAbort: 'repair aborted',
  CohortBlamed: 'mass fault',
  ZoneOutage: 'many nodes are silent at once',
  DryRunOnly: 'mode DryRun',
  ShadowOnly: 'the rule only counts',
  ObservedOnly: 'only observed',
}
/** Reasons for which a user can let the rule retry. */
const RETRIED: ReadonlySet<string> = new Set(['LadderExhausted', 'HoldAbort'])
/** The hold itself is the finding. */
const HELD: ReadonlySet<string> = new Set(['HoldPause', 'HoldFreeze'])

type Matching = NonNullable<NonNullable<NodeRemedier['status']>['matching']>[number]

/** Nodes that match a rule but have no job. */
function matchingFindings(cluster: ObservedCluster, isHeld: boolean): readonly FleetFinding[] {
  return cluster.list('rules').flatMap(({ metadata, status }) => {
    const { name: rule = '' } = metadata
    const waiting = (status?.matching ?? []).filter(
      ({ reason }) => reason !== undefined && !(isHeld && HELD.has(reason)) && reason !== 'JobRunning',
    )
    const groups = Map.groupBy(waiting, ({ reason = '' }) => reason)
    return [...groups].map(([reason, matching]) => matchingFinding(cluster.name, rule, reason, matching))
  })
}

function matchingFinding(cluster: string, rule: string, reason: string, matching: readonly Matching[]): FleetFinding {
  const refused = REFUSED[reason]
  const nodes = matching.map(({ node }) => node)
  const [node = ''] = nodes
  const why = matching[0]?.waitingFor
  return finding(objectIn(cluster, 'Node', { name: node }), {
    weight: refused === undefined ? 'Wait' : 'Act',
    urgency: refused === undefined ? 'Waiting' : 'Blocked',
    part: rule,
    cause: `rules/${rule}/${reason}`,
    count: nodes.length,
    text: repairText({ nodes, rule, refused, waits: reason, why: why ?? '' }),
    since: oldest(matching.map(({ since }) => since)),
    first: commandStep(
      RETRIED.has(reason) ? `kubenode repair node/${node} --reason WHY` : `kubenode why-not node/${node}`,
    ),
    ...(!RETRIED.has(reason) && { runbook: runbookOf(reason) }),
  })
}

interface RepairTexts {
  readonly nodes: readonly string[]
  readonly rule: string
  readonly refused: string | undefined
  readonly waits: string
  readonly why: string
}

function repairText({ nodes, rule, refused, waits, why }: RepairTexts): string {
  const objects = objectsText('node', nodes)
  const what =
    refused === undefined
      ? `repair of ${objects} by rule ${rule} waits (${waits})`
      : `${objects} not repaired by rule ${rule} (${refused})`
  return why === '' ? what : `${what}: ${why}`
}

/** Rules that are not evaluated as declared: an older version of the rule runs, or none. */
const brokenRules = (cluster: ObservedCluster): readonly FleetFinding[] =>
  cluster.list('rules').flatMap(({ metadata, status }) => {
    const broken = status?.conditions?.find((c) => c.type === 'RuleActive' && c.status === 'False')
    const { name = '' } = metadata
    return broken === undefined
      ? []
      : [
          finding(objectIn(cluster.name, 'NodeRemedier', { name }), {
            weight: 'Act',
            urgency: 'Failed',
            text: `rule/${name} is not active as declared: ${broken.message}`,
            since: broken.lastTransitionTime,
            first: commandStep(`kubenode why rule/${name}`),
            runbook: runbookOf(broken.reason),
          }),
        ]
  })

/** Reasons why a started repair waits until a user acts. */
const STUCK_JOB: Readonly<Record<string, string>> = {
  CohortBlamed: 'mass fault',
  ReferenceMissing: 'its machine is missing',
  ReconcileFailed: 'failing',
}

/** `asked`: permits that wait for a user; their jobs are not reported again. */
function jobFindings(cluster: ObservedCluster, asked: ReadonlySet<string>, isHeld: boolean): readonly FleetFinding[] {
  const open = cluster.list('jobs').filter(({ metadata, spec, status }) => {
    if (status?.phase === 'Done' || spec.dryRun) return false
    if (isHeld && HELD.has(status?.waitingFor?.predicate ?? '')) return false
    return !asked.has(status?.permitRef ?? metadata.name ?? '')
  })
  const groups = Map.groupBy(open, ({ spec, status }) =>
    [spec.remedierRef.name, status?.waitingFor?.predicate ?? status?.phase ?? 'Pending'].join('\n'),
  )
  return [...groups.values()].flatMap((jobs) => {
    const [job] = jobs
    if (job === undefined) return []
    const wait = job.status?.waitingFor
    const { predicate = '', seen = '' } = wait ?? {}
    const stuck = STUCK_JOB[predicate]
    const nodes = jobs.map(({ spec }) => spec.node.name).toSorted()
    const rule = job.spec.remedierRef.name
    const phase = job.status?.phase ?? 'Pending'
    const isRunning = predicate === ''
    const text = isRunning
      ? `${objectsText('node', nodes)} under repair by rule ${rule} (${phase})`
      : repairText({ nodes, rule, refused: stuck, waits: predicate, why: seen })
    return [
      finding(objectIn(cluster.name, 'Node', { name: nodes[0] ?? '' }), {
        weight: stuck === undefined ? 'Wait' : 'Act',
        urgency: stuck !== undefined ? 'Blocked' : isRunning ? 'Progressing' : 'Waiting',
        part: `job/${rule}/${predicate}`,
        cause: `jobs/${rule}/${predicate}`,
        count: nodes.length,
        text,
        since: oldest(jobs.map(({ status, metadata }) => status?.waitingFor?.since ?? metadata.creationTimestamp)),
        first:
          stepOf(wait, `job/${job.metadata.name ?? ''}`) ??
          // A running repair is not blocked.
          commandStep(`kubenode ${isRunning ? 'why' : 'why-not'} node/${nodes[0] ?? ''}`),
      }),
    ]
  })
}

export interface RepairFindings {
  readonly findings: readonly FleetFinding[]
  /** Nodes with such a finding, or a job. */
  readonly nodes: ReadonlySet<string>
  /** `NODE\nTYPE` of the conditions that the findings cover. */
  readonly conditions: ReadonlySet<string>
}

export function repairFindings(cluster: ObservedCluster, asked: ReadonlySet<string>, isHeld: boolean): RepairFindings {
  const nodes = new Set<string>()
  const conditions = new Set<string>()
  for (const { spec, status } of cluster.list('rules')) {
    // A rule that was stored past its schema may have none.
    const when = (spec as Partial<typeof spec> | undefined)?.when
    const types = (status?.matching ?? []).length === 0 || when === undefined ? [] : conditionsIn(when)
    for (const { node } of status?.matching ?? []) {
      nodes.add(node)
      for (const type of types) conditions.add(`${node}\n${type}`)
    }
  }
  for (const { spec, status } of cluster.list('jobs')) if (status?.phase !== 'Done') nodes.add(spec.node.name)
  const findings = [
    ...matchingFindings(cluster, isHeld),
    ...brokenRules(cluster),
    ...jobFindings(cluster, asked, isHeld),
  ]
  return { findings: bounded(findings, 'repairs'), nodes, conditions }
}

const DETECTION_PAGE = 'docs/concepts/detection.md'

/** Conditions that no repair finding covers, and cordons by users. */
export function nodeFindings(cluster: ObservedCluster, covered: ReadonlySet<string>): readonly FleetFinding[] {
  const phases = new Map(cluster.list('machines').map((m) => [nodeNameOf(m), m.state.phase]))
  const same = new Map<string, { readonly isAtWork: boolean; readonly nodes: string[]; readonly all: NodeProblem[] }>()
  const cordoned: string[] = []
  for (const { metadata, problems, isCordoned } of cluster.list('nodes')) {
    const { name = '' } = metadata
    if (isCordoned) cordoned.push(name)
    const phase = phases.get(name)
    for (const problem of problems) {
      // A managed Node is covered by its Machine.
      if (problem.type === 'Ready' && phase !== undefined) continue
      if (covered.has(`${name}\n${problem.type}`)) continue
      const isAtWork = AT_WORK.has(phase ?? '') && problem.type !== DETECTION_INCOMPLETE
      const key = `${problem.type}\n${isAtWork}`
      const group = same.get(key)
      if (group === undefined) same.set(key, { isAtWork, nodes: [name], all: [problem] })
      else {
        group.nodes.push(name)
        group.all.push(problem)
      }
    }
  }
  const found = [...same.values()].map(({ isAtWork, nodes, all }) => {
    const [problem] = all
    const type = problem?.type ?? ''
    const point: Point = {
      weight: isAtWork ? 'Wait' : 'Act',
      urgency: isAtWork ? 'Waiting' : 'Failed',
      part: type,
      cause: `conditions/${type}/${isAtWork}`,
      count: nodes.length,
      text: `${type === 'Ready' ? 'NotReady' : type} on ${objectsText('node', nodes)}${problemText(problem)}`,
      since: oldest(all.map(({ since }) => since)),
      first: commandStep(`kubenode why node/${nodes[0] ?? ''}`),
      runbook: type === DETECTION_INCOMPLETE ? DETECTION_PAGE : undefined,
    }
    return finding(objectIn(cluster.name, 'Node', { name: nodes[0] ?? '' }), point)
  })
  return [...bounded(found, 'conditions of nodes'), ...cordonFindings(cluster.name, cordoned)]
}

const problemText = (problem: NodeProblem | undefined): string => {
  // A server omits empty fields.
  const [text] = [problem?.message, problem?.reason].filter((t) => t !== undefined && t !== '')
  return text === undefined ? '' : `: ${text}`
}

const cordonFindings = (cluster: string, nodes: readonly string[]): readonly FleetFinding[] =>
  nodes.length === 0
    ? []
    : [
        finding(objectIn(cluster, 'Node', { name: nodes[0] ?? '' }), {
          weight: 'Act',
          urgency: 'Waiting',
          part: 'cordoned',
          cause: 'nodes/cordoned',
          count: nodes.length,
          text: `${objectsText('node', nodes)} cordoned by a user: no new pods`,
          first: commandStep(`kubectl uncordon ${nodes[0] ?? ''}`),
        }),
      ]
