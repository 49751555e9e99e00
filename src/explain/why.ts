// Explains the state of an object: what it waits for, since when, what unblocks it, and which other objects are involved. Pure.
import type { Reason } from '#api/catalogue.ts'
import type { ClusterStatus } from '#api/kinds/cluster.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { commitText } from '#api/protocol/commit-title.ts'
import { fullPartName, partOfPermit } from '#api/protocol/part.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import { fieldsOf } from '#lib/fields.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type Moment, text, waitOf, wordOf } from './any-object.ts'
import { shownPhase } from './cluster-phase.ts'
import { conditionFindings } from './condition-findings.ts'
import { maintenanceStory } from './maintenance-story.ts'
import { partFindings } from './part-findings.ts'
import { phaseWords } from './phase-words.ts'
import { repairStory, repairSummary } from './repair-story.ts'
import { type Finding, notesOf, type Story, storyLines } from './finding.ts'

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
  const isRefused = text(fieldsOf(fieldsOf(status)['waitingFor'])['predicate']) === ('ActionRefused' satisfies Reason)
  // Its wait names the refusal, and what ends it.
  const ends = isRefused
    ? undefined
    : 'its controller reconciles it; if this does not end, the log of the controllers names the error'
  const of = `this state is of generation ${observed}, its spec of generation ${generation}`
  return [
    { text: `Its controller has not observed the latest spec yet: ${of}`, urgency: 'Waiting', ...defined({ ends }) },
  ]
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
