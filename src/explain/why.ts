// Explains the state of an object: what it waits for, since when, what unblocks it, and which other objects are involved. Pure.
import type { ClusterStatus } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { REASONS, runbookPath } from '#api/catalogue.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { commitText } from '#api/protocol/commit-title.ts'
import { activeMachines, fullPartName, partOfPermit, sliceName } from '#api/protocol/part.ts'
import { shortWord } from '#api/nouns.ts'
import { HOLD_REASONS } from '#permits/holds/names.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import { fieldsOf, objectsIn } from '#lib/fields.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { isGoodCondition } from './conditions.ts'
import { shownPhase } from './cluster-phase.ts'
import { maintenanceStory } from './maintenance-story.ts'
import { endOfRefusal } from './refused-commit.ts'
import { phaseWords } from './phase-words.ts'
import { thawOnNode } from './repairs/blocker.ts'
import { repairStory, repairSummary } from './repair-story.ts'
import { causeOf, type Finding, notesOf, type Story, storyLines } from './finding.ts'
import { sinceText, waitFindings } from './wait.ts'
import { verdictNote } from './verdict.ts'
import { peopleSentence } from './ways-out.ts'

type Fields = Readonly<Record<string, unknown>>

const text = (v: unknown): string =>
  typeof v === 'string' ? v : typeof v === 'number' || typeof v === 'boolean' ? String(v) : ''

const since = (stamp: unknown, now: number): string => sinceText(text(stamp), now)

interface Moment {
  readonly now: number
  /** Ends this object's hold; absent if no hold on the object itself is known. */
  readonly holdEnds?: Pick<Finding, 'command'>
  /** Used for the titles of commits. */
  readonly releases?: readonly Release[]
}

/** Accepts any object, also one written by a later version. */
function waitOf(waiting: unknown, moment: Moment, word: string, part?: string): readonly Finding[] {
  const w = fieldsOf(waiting)
  const wait = {
    predicate: text(w['predicate']),
    since: text(w['since']),
    seen: text(w['seen']),
    unblock: text(w['unblock']),
  }
  return waitFindings(wait, moment, word, part)
}

const isGood = (kind: string, c: Fields): boolean =>
  isGoodCondition(kind, { type: text(c['type']), status: text(c['status']), reason: text(c['reason']) })

/** Errors of a source: one commit may have several, each longer than a condition's message. */
function errorsOf({ status }: KubeObject): readonly string[] {
  const errors = fieldsOf(status)['renderErrors']
  return Array.isArray(errors) ? errors.map(text) : []
}

/** A condition has only the beginning of the error. */
const wholeOf = (message: string, errors: readonly string[]): string =>
  (message.endsWith('…') && errors.find((e) => e.startsWith(message.slice(0, -1)))) || message

/** A release that a newer one replaced, and that waits for nothing, is history and needs no action. */
const REPLACED = 'NewerRelease'

/** Used when none of the object's waits names who must act. The explanation must not recommend itself. */
function peopleEnd(reason: string, word: string): Pick<Finding, 'ends'> {
  const sentence = peopleSentence(reason, word)?.replace(`: kubenode why ${word}`, '')
  return sentence === undefined ? {} : { ends: sentence }
}

function endOfReason(object: KubeObject, reason: string): Pick<Finding, 'ends'> {
  const ends = object.kind === 'FleetSource' ? endOfRefusal((object as FleetSource).status ?? {}, reason) : undefined
  return ends === undefined ? peopleEnd(reason, wordOf(object)) : { ends }
}

/** A file on the node is no hold: only removing it there lifts it. */
function endOfFreezeFile({ kind, status }: KubeObject, type: string): Pick<Finding, 'ends'> | undefined {
  if (kind !== 'Machine' || type !== 'Frozen') return undefined
  const folder = text(fieldsOf(fieldsOf(status)['agent'])['folder'])
  return { ends: `a person lifts the freeze, on the node itself: ${thawOnNode(folder === '' ? undefined : folder)}` }
}

/** A message that several conditions, or a condition and a wait, share is shown once. */
function conditionFindings(object: KubeObject, { now, holdEnds }: Moment): readonly Finding[] {
  const bad = objectsIn(fieldsOf(object['status'])['conditions']).filter((c) => !isGood(object.kind, c))
  const { predicate, seen } = fieldsOf(fieldsOf(object['status'])['waitingFor'])
  const wait = [`${text(predicate)}: ${text(seen)}`, `${text(predicate)}: waiting for ${text(seen)}`]
  const [messages, reasons] = [new Set(wait), new Set<string>()]
  const errors = errorsOf(object)
  return bad.flatMap((c) => {
    const reason = text(c['reason'])
    const message = wholeOf(text(c['message']), errors)
    const known = reasons.has(reason) ? undefined : REASONS[reason as keyof typeof REASONS]
    const isOver = reason === REPLACED && predicate === undefined
    const isShown = messages.has(`${reason}: ${message}`)
    reasons.add(reason)
    messages.add(`${reason}: ${message}`)
    const runbook = known === undefined ? undefined : runbookPath(known.runbook)
    return {
      cause: causeOf(wordOf(object), reason),
      text: `${text(c['type'])} is ${text(c['status'])}${since(c['lastTransitionTime'], now)}: ${reason}${isShown ? '' : `: ${message}`}`,
      // A condition that is bad when True, such as a node fault, is a finding; a pause is a wait.
      ...(!isOver && { urgency: text(c['type']) === 'Paused' ? ('Waiting' as const) : ('Failed' as const) }),
      ...(known !== undefined && {
        below: notesOf([
          ...(isShown ? [] : errors.slice(errors.indexOf(message) + 1 || errors.length)),
          isOver ? known.doc : `${known.doc} See ${runbook}.`,
        ]),
      }),
      ...(runbook !== undefined && !isOver && { runbook }),
      // A hold over the cluster is not lifted by the command that the reason has for a hold on this object.
      ...(text(c['type']) === 'Paused' && HOLD_REASONS.has(reason) && holdEnds !== undefined
        ? holdEnds
        : (endOfFreezeFile(object, text(c['type'])) ??
          (known !== undefined && !isOver && predicate === undefined && endOfReason(object, reason)))),
    }
  })
}

const textsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(text) : [])

const sliceIn = (slice: Fields) => ({
  component: text(slice['component']),
  version: text(slice['version']),
  step: Number(slice['step']),
  number: Number(slice['number']),
})

/** Where to start when a rollout has stopped. */
function failedSlice(slice: Fields): readonly Finding[] {
  const machines = activeMachines({ machines: textsIn(slice['machines']), released: textsIn(slice['released']) })
  if (text(slice['phase']) !== 'Failed' || machines.length === 0) return []
  const failed = `${text(slice['failed']) || '0'} of ${counted(machines.length, 'machine')}`
  return [
    {
      text: `${sliceName(sliceIn(slice))} failed on ${failed}: ${machines.join(', ')}`,
      urgency: 'Failed',
    },
  ]
}

/** Slices of one step with the same wait are one entry, with the earliest time. */
function waitingSlices(slices: readonly Fields[], moment: Moment, word: string): readonly Finding[] {
  const stepOf = (w: Fields) => `${text(w['component'])} ${text(w['version'])} step ${Number(w['step']) + 1}`
  const same = Map.groupBy(slices, (w) => {
    const { predicate, seen, unblock } = fieldsOf(w['waitingFor'])
    return JSON.stringify([stepOf(w), w['phase'], predicate, seen, unblock])
  })
  return [...same.values()].flatMap((group) => {
    const [first] = group.toSorted((a, b) => startOf(a) - startOf(b))
    if (first === undefined) return []
    const name = group.length === 1 ? sliceName(sliceIn(first)) : `${stepOf(first)}, ${group.length} slices`
    return waitOf(first['waitingFor'], moment, word, `${name} (${text(first['phase'])})`)
  })
}

const waitKey = (waiting: unknown, of = ''): string => {
  const { predicate, seen } = fieldsOf(waiting)
  return JSON.stringify([text(predicate), `${of}${text(seen)}`])
}

/**
 * Stages and clusters with the same wait are one entry. A wait that a larger part already shows is not repeated: a stage that waits for one cluster
 * repeats that cluster's wait with the cluster's name in front, and so does the Release.
 */
function partWaits(
  what: 'Stage' | 'Cluster',
  parts: readonly Fields[],
  shownWaits: Set<string>,
  object: KubeObject,
  moment: Moment,
): readonly Finding[] {
  const isShown = (p: Fields) =>
    shownWaits.has(waitKey(p['waitingFor'])) || shownWaits.has(waitKey(p['waitingFor'], `${text(p['name'])}: `))
  const [before, fresh] = [parts.filter(isShown), parts.filter((p) => !isShown(p))]
  for (const p of fresh) shownWaits.add(waitKey(p['waitingFor']))
  // Each cluster has its own content to approve.
  const groups = Map.groupBy(fresh, (p) => JSON.stringify([waitKey(p['waitingFor']), fieldsOf(p['prune'])['digest']]))
  const waits = [...groups.values()].flatMap((group) => {
    const names = group.map((p) => text(p['name'])).join(', ')
    const [first = {}] = group
    const wait = waitOf(first['waitingFor'], moment, wordOf(object), `${what}${group.length === 1 ? '' : 's'} ${names}`)
    return withApproval(object, wait, first['prune'])
  })
  return [...waits, ...before.flatMap((p) => withApproval(object, [], p['prune']))]
}

const startOf = (w: Fields): number => Date.parse(text(fieldsOf(w['waitingFor'])['since']))

/** Parts of a status that wait separately: slices of a rollout, stages and clusters of a release, verdicts of a permit. */
function partFindings(object: KubeObject, moment: Moment): readonly Finding[] {
  const { now } = moment
  const status = fieldsOf(object['status'])
  const slices = [
    ...waitingSlices(objectsIn(status['slices']), moment, wordOf(object)),
    ...objectsIn(status['slices']).flatMap(failedSlice),
  ]
  const shownWaits = new Set([waitKey(status['waitingFor'])])
  const stages = partWaits('Stage', objectsIn(status['stages']), shownWaits, object, moment)
  const clusters = partWaits('Cluster', objectsIn(status['clusters']), shownWaits, object, moment)
  const prunes = objectsIn(status['prunes']).flatMap((p) => withApproval(object, [], p['held']))
  const refused = fieldsOf(status['refused'])
  const commits =
    text(refused['message']) === ''
      ? []
      : withApproval(object, [{ text: text(refused['message']), urgency: 'Waiting' }], refused)
  const verdicts = objectsIn(status['verdicts'])
    .filter((v) => text(v['verdict']) !== 'Granted')
    .map((v): Finding => ({
      text: `Gate ${text(v['gate'])}: ${text(v['verdict'])}: ${verdictNote({ seen: text(v['seen']), limit: text(v['limit']) })}`,
      urgency: 'Waiting',
      ...(isAsked(object, v) && { command: { line: `kubenode approve ${wordOf(object)} --reason WHY` } }),
    }))
  const components = objectsIn(status['components'])
    // A healthy one with a message cannot begin what it is ordered.
    .filter((c) => text(c['state']) !== '' && (text(c['state']) !== 'Healthy' || text(c['message']) !== ''))
    .map((c): Finding => ({
      text: `Component ${text(c['name'])} ${versionsOf(c)} is ${text(c['state'])}${since(c['since'], now)}${[
        text(c['reason']),
        text(c['message']),
      ]
        .filter((w) => w !== '')
        .map((w) => `: ${w}`)
        .join('')}`,
      ...(HAS_FAILED.has(text(c['state'])) && { urgency: 'Failed' }),
      below: notesOf([...orderedBy(object, text(c['name'])), ...outputLines(c['output'])]),
    }))
  const steps = objectsIn(status['steps'])
    .filter((s) => text(s['outcome']) !== 'Succeeded')
    .map((s): Finding => {
      const how = text(s['outcome']) || `running${since(s['startedAt'], now)}`
      const output = outputLines(s['output'])
      const isShort = output.length <= 1
      return {
        text: `Step ${text(s['index'])} ${text(s['operation'])} by ${text(s['executor'])}: ${how}${isShort && output.length > 0 ? `: ${text(s['output']).trim()}` : ''}`,
        ...(!isShort && { below: notesOf(output) }),
      }
    })
  const acceptance = acceptanceFindings(fieldsOf(status['acceptance']))
  return [...slices, ...stages, ...clusters, ...commits, ...prunes, ...verdicts, ...components, ...acceptance, ...steps]
}

/** What a program printed, line by line. */
const outputLines = (output: unknown): readonly string[] =>
  text(output)
    .split('\n')
    .filter((l) => l.trim() !== '')
    .map((l) => `| ${l}`)

/** The wait of the machine has the last line only. */
function acceptanceFindings({ phase, wanted, attempt, output }: Fields): readonly Finding[] {
  const lines = outputLines(output)
  if ((phase !== 'Failed' && phase !== 'Waiting') || lines.length === 0) return []
  return [{ text: `Attempt ${text(attempt)} of ${text(wanted)} did not pass`, below: notesOf(lines) }]
}

/** A component that fails at the version it should have has no other one. */
function versionsOf(component: Fields): string {
  const [version, desired] = [text(component['version']), text(component['desired'])]
  return version === desired ? version : `${version} → ${desired}`
}

/** The slice or batch that ordered the machine's current work on a component. */
function orderedBy({ spec }: KubeObject, component: string): readonly string[] {
  const order = objectsIn(fieldsOf(spec)['components']).find((c) => c['name'] === component)
  const part = text(order?.['part'])
  return part === '' ? [] : [`ordered by ${part}`]
}

const HAS_FAILED: ReadonlySet<string> = new Set(['Failed', 'RolledBack'])

/** A permit that waits for users. An ended permit keeps its old verdict. */
const isAsked = ({ kind, status }: KubeObject, verdict: Fields): boolean =>
  kind === 'OperationPermit' &&
  text(fieldsOf(status)['phase']) === 'Requested' &&
  text(verdict['gate']) === 'Approval' &&
  text(verdict['verdict']) === 'Waiting'

/** Deletions that the guard blocks: what an Approval must name, and the command that creates it. */
function withApproval(object: KubeObject, waits: readonly Finding[], prune: unknown): readonly Finding[] {
  const digest = text(fieldsOf(prune)['digest'])
  if (digest === '') return waits
  const naming = { text: `digest to approve: ${digest}` }
  const command = { line: `kubenode approve ${wordOf(object)} --reason WHY` }
  const last = waits.at(-1)
  if (last === undefined) return [{ ...naming, urgency: 'Waiting', command }]
  return [...waits.slice(0, -1), { ...last, below: [...(last.below ?? []), naming], command }]
}

export interface Related {
  readonly label: string
  readonly object: KubeObject
}

/** sync reports in the status which request it handled last. */
function askedToRead({ metadata, status }: KubeObject, now: number): readonly Finding[] {
  const asked = metadata.annotations?.[ANNOTATIONS.reconcile] ?? ''
  const age = now - Date.parse(asked)
  return age >= 0 && fieldsOf(status)['lastHandledReconcileAt'] !== asked
    ? notesOf([`sync was asked ${formatDuration(age)} ago to read it, and has not yet`])
    : []
}

/** Kinds that people declare and a controller reports on. Programs renew the specs of the others between two reports. */
const DECLARED: ReadonlySet<string> = new Set(['MachineComponentSet', 'MachineSet', 'ComponentCanary', 'Cluster'])

/** All else in the status is about an earlier spec, such as while an admission webhook refuses what the controller writes. */
function unobserved({ kind, metadata, status }: KubeObject): readonly Finding[] {
  const { observedGeneration: observed } = fieldsOf(status)
  const { generation } = metadata
  if (!DECLARED.has(kind) || typeof observed !== 'number' || generation === undefined || observed >= generation)
    return []
  const ends = 'its controller reconciles it; if this does not end, the log of the controllers names the error'
  const of = `this state is of generation ${observed}, its spec of generation ${generation}`
  return [{ text: `Its controller has not observed the latest spec yet: ${of}`, urgency: 'Waiting', ends }]
}

/** KubeNode cordons with its own taint. This is what kubectl cordon sets, and only a user removes it. */
function cordonFindings({ kind, metadata, spec }: KubeObject): readonly Finding[] {
  if (kind !== 'Node' || fieldsOf(spec)['unschedulable'] !== true) return []
  const command = { line: `kubectl uncordon ${metadata.name ?? ''}`, does: 'let it take pods again' }
  return [{ text: 'cordoned by a user: it takes no new pods', urgency: 'Waiting', command }]
}

/** A repair without a wait is not blocked. */
const isRunningRepair = ({ object: { kind, status } }: Related): boolean =>
  kind === 'RemedyOperationJob' && fieldsOf(status)['phase'] !== 'Done' && fieldsOf(status)['waitingFor'] === undefined

/** A node's problem is being repaired, or its repair is blocked. */
function withWayOn(
  { kind, metadata }: KubeObject,
  conditions: readonly Finding[],
  related: readonly Related[],
): readonly Finding[] {
  const last = conditions.at(-1)
  if (kind !== 'Node' || last === undefined || related.some(isRunningRepair)) return conditions
  const command = { line: `kubenode why-not node/${metadata.name ?? ''}`, does: 'see what blocks its repair' }
  return [...conditions.slice(0, -1), { ...last, command }]
}

/** The object as users type it. */
const wordOf = ({ kind, metadata }: KubeObject): string => shortWord(`${kind.toLowerCase()}/${metadata.name ?? ''}`)

const isReporting = (shownWaits: Finding): boolean => (shownWaits.below ?? []).length > 0

function storyOf(object: KubeObject, moment: Moment): readonly Finding[] {
  if (object.kind === 'RemedyOperationJob') return repairStory(object as RemedyOperationJob, moment)
  if (object.kind === 'MaintenanceEvent') return notesOf(maintenanceStory(object as MaintenanceEvent))
  return partFindings(object, moment)
}

/** The lines about a related object before its waits. */
function summaryOf(object: KubeObject, now: number): readonly Finding[] {
  if (object.kind === 'RemedyOperationJob') return notesOf([repairSummary(object as RemedyOperationJob, now)])
  if (object.kind === 'MaintenanceEvent') return notesOf(maintenanceStory(object as MaintenanceEvent))
  return []
}

/** The text after the object's word: for example what a permit is for, because its name is only letters and digits. */
function titleOf(object: KubeObject): string {
  const part = object.kind === 'OperationPermit' ? partOfPermit((object as OperationPermit).spec ?? {}) : undefined
  return part === undefined ? commitOf(object) : `: ${fullPartName(part)}`
}

/** The title of the commit that a Release carries out, or that a source follows. The hash alone adds nothing to the name. */
function commitOf({ kind, spec, status }: KubeObject): string {
  const isSource = kind === 'FleetSource'
  const { commit, subject, author } = fieldsOf(isSource ? status : kind === 'Release' ? spec : undefined)
  if (text(subject) === '') return ''
  const title = { subject: text(subject), ...(text(author) !== '' && { author: text(author) }) }
  return `: ${isSource ? 'at ' : ''}commit ${commitText(text(commit), title)}`
}

export interface Around {
  /** Objects that block or change this one. */
  readonly related?: readonly Related[]
  /** What other objects report about it. */
  readonly more?: readonly Finding[]
  /** Set when a hold applies to the object. */
  readonly holdEnds?: Pick<Finding, 'command'> | undefined
  /** Used for the titles of commits. */
  readonly releases?: readonly Release[]
  /** What the reader may not read. */
  readonly gaps?: readonly Finding[]
}

/** The text of a story without findings. */
export const ALL_DONE = 'Up to date; nothing pending.'

export function whyStory(object: KubeObject, now: number, around: Around = {}): Story {
  const { related = [], more = [], holdEnds, gaps = [], releases = [] } = around
  const status = fieldsOf(object['status'])
  const phase = text(status['phase'])
  const word = wordOf(object)
  const moment: Moment = {
    now,
    releases,
    ...defined({ holdEnds }),
  }
  const own = [
    ...askedToRead(object, now),
    ...unobserved(object),
    ...waitOf(status['waitingFor'], moment, word),
    ...withWayOn(object, conditionFindings(object, moment), related),
    ...storyOf(object, moment),
    ...cordonFindings(object),
    ...more,
  ]
  const others = related.map(({ label, object: o }): Finding => {
    const itsPhase = text(fieldsOf(o['status'])['phase'])
    return {
      text: `${label} ${wordOf(o)}${itsPhase === '' ? '' : ` (${phaseOf(o)})`}${titleOf(o)}`,
      below: [
        ...summaryOf(o, now),
        ...waitOf(fieldsOf(o['status'])['waitingFor'], { now }, wordOf(o)),
        ...partFindings(o, { now }),
      ],
    }
  })
  const whole = gaps.length === 0 ? ALL_DONE : 'Nothing pending in what you may read.'
  const rest = others.some(isReporting) ? 'Nothing of its own is pending.' : whole
  return {
    object: word,
    text: `${word}${phase === '' ? '' : ` ${phaseWords(object.kind, phaseOf(object))}`}${titleOf(object)}`,
    below: [...(own.length > 0 ? own : [{ text: rest }]), ...others, ...gaps],
  }
}

/** A Cluster in phase Ready may lack something that its condition Ready names. */
const phaseOf = ({ kind, status }: KubeObject): string =>
  (kind === 'Cluster' ? shownPhase(status as ClusterStatus) : undefined) ?? text(fieldsOf(status)['phase'])

/** The same as lines. */
export const whyLines = (...about: Parameters<typeof whyStory>): readonly string[] => storyLines(whyStory(...about))
