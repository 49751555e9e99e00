// Explains the state of an object: what it waits for, since when, what unblocks it, and which other objects are involved. Pure.
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { CONDITIONS, REASONS, runbookPath } from '#api/catalogue.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { shortWord } from '#api/nouns.ts'
import { counted } from '#lib/counted.ts'
import { formatDuration } from '#lib/duration.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import { maintenanceStory } from './maintenance-story.ts'
import { repairStory, repairSummary } from './repair-story.ts'
import { unblockLine } from './unblock-line.ts'

type Fields = Readonly<Record<string, unknown>>

const fields = (v: unknown): Fields => (isObject(v) ? v : {})
const list = (v: unknown): readonly Fields[] => (Array.isArray(v) ? v.filter(isObject) : [])
const text = (v: unknown): string =>
  typeof v === 'string' ? v : typeof v === 'number' || typeof v === 'boolean' ? String(v) : ''

const since = (stamp: unknown, now: number): string => {
  const at = Date.parse(text(stamp))
  return Number.isFinite(at) ? ` for ${formatDuration(Math.max(0, now - at))}` : ''
}

/** Failures block until a user or a commit acts; everything else ends when its condition holds. */
const stateOf = (predicate: string): string =>
  predicate === 'Progressing' ? 'In progress' : /(Failed|Blocked|Denied)$/.test(predicate) ? 'Blocked' : 'Waiting'

/** Every wait has the same four parts. `what` names the part of the object that waits. */
function waitLines(waiting: unknown, now: number, what?: string): string[] {
  const w = fields(waiting)
  const predicate = text(w['predicate'])
  if (predicate === '') return []
  const state = stateOf(predicate)
  const head = what === undefined ? state : `${what}: ${state.toLowerCase()}`
  return [
    `${head}${since(w['since'], now)}: ${predicate}`,
    ...(text(w['seen']) === '' ? [] : [`  observed: ${text(w['seen'])}`]),
    ...(text(w['unblock']) === '' ? [] : [`  ${unblockLine(text(w['unblock']))}`]),
  ]
}

/** A Node's other conditions are problems that a detector found. */
const isProblemOfNode = (c: Fields): boolean => text(c['type']) !== 'Ready' && text(c['status']) === 'True'

const isGood = (kind: string, c: Fields): boolean => {
  if (kind === 'Node' && text(c['type']) !== 'Ready') return !isProblemOfNode(c)
  const known = CONDITIONS[text(c['type']) as keyof typeof CONDITIONS]
  // A released permit is no longer granted, as intended.
  if (kind === 'OperationPermit' && text(c['reason']) === 'AsDeclared') return true
  return known === undefined || text(c['status']) === known.good
}

/** A message of several conditions, or of a condition and a wait, is shown once. */
function conditionLines(object: KubeObject, now: number): string[] {
  const bad = list(fields(object['status'])['conditions']).filter((c) => !isGood(object.kind, c))
  const { predicate, seen } = fields(fields(object['status'])['waitingFor'])
  const [messages, reasons] = [new Set([`${text(predicate)}: ${text(seen)}`]), new Set<string>()]
  return bad.flatMap((c) => {
    const [reason, message] = [text(c['reason']), text(c['message'])]
    const known = reasons.has(reason) ? undefined : REASONS[reason as keyof typeof REASONS]
    const isTold = messages.has(`${reason}: ${message}`)
    reasons.add(reason)
    messages.add(`${reason}: ${message}`)
    return [
      `${text(c['type'])} is ${text(c['status'])}${since(c['lastTransitionTime'], now)}: ${reason}${isTold ? '' : `: ${message}`}`,
      ...(known === undefined ? [] : [`  ${known.doc} See ${runbookPath(known.runbook)}.`]),
    ]
  })
}

/** Where to start when a rollout has stopped. */
function failedSlice(slice: Fields): string[] {
  const machines = Array.isArray(slice['machines']) ? slice['machines'].map(text) : []
  if (text(slice['phase']) !== 'Failed' || machines.length === 0) return []
  const what = `${text(slice['component'])} ${text(slice['version'])}`.trimEnd()
  const failed = `${text(slice['failed']) || '0'} of ${counted(machines.length, 'machine')}`
  return [`${what}, step ${Number(slice['step']) + 1} failed on ${failed}: ${machines.join(', ')}`]
}

/** Slices of one step that wait for the same are one entry, with the time of the first. */
function waitingSlices(slices: readonly Fields[], now: number): string[] {
  const nameOf = (w: Fields) =>
    `${text(w['component'])} ${text(w['version'])}, step ${Number(w['step']) + 1} (${text(w['phase'])})`
  const same = Map.groupBy(slices, (w) => {
    const { predicate, seen, unblock } = fields(w['waitingFor'])
    return JSON.stringify([nameOf(w), predicate, seen, unblock])
  })
  return [...same.values()].flatMap((group) => {
    const [first] = group.toSorted((a, b) => startOf(a) - startOf(b))
    if (first === undefined) return []
    const count = group.length === 1 ? '' : `, ${group.length} slices`
    return waitLines(first['waitingFor'], now, `${nameOf(first)}${count}`)
  })
}

const startOf = (w: Fields): number => Date.parse(text(fields(w['waitingFor'])['since']))

const limitOf = (limit: string): string => (limit === '' ? '' : /^\d/.test(limit) ? `, limit ${limit}` : `; ${limit}`)

/** Parts of a status that wait separately: slices of a rollout, stages and clusters of a release, verdicts of a permit. */
function partLines(object: KubeObject, now: number): string[] {
  const status = fields(object['status'])
  const slices = [...waitingSlices(list(status['slices']), now), ...list(status['slices']).flatMap(failedSlice)]
  const stages = list(status['stages']).flatMap((s) => waitLines(s['waitingFor'], now, `Stage ${text(s['name'])}`))
  const clusters = list(status['clusters']).flatMap((c) => [
    ...waitLines(c['waitingFor'], now, `Cluster ${text(c['name'])}`),
    ...approveLines(object, c['prune']),
  ])
  const prunes = list(status['prunes']).flatMap((p) => approveLines(object, p['held']))
  const refused = fields(status['refused'])
  const commits = text(refused['message']) === '' ? [] : [text(refused['message']), ...approveLines(object, refused)]
  const verdicts = list(status['verdicts'])
    .filter((v) => text(v['verdict']) !== 'Granted')
    .flatMap((v) => [
      `Gate ${text(v['gate'])}: ${text(v['verdict'])}: ${text(v['seen'])}${limitOf(text(v['limit']))}`,
      ...(isAsked(object, v) ? [`  ${unblockLine(`kubenode approve ${wordOf(object)} --reason WHY`)}`] : []),
    ])
  const components = list(status['components'])
    .filter((c) => !['Healthy', ''].includes(text(c['state'])))
    .flatMap((c) => [
      `Component ${text(c['name'])} ${text(c['version'])} → ${text(c['desired'])} is ${text(c['state'])}${since(c['since'], now)}${[
        text(c['reason']),
        text(c['message']),
      ]
        .filter((w) => w !== '')
        .map((w) => `: ${w}`)
        .join('')}`,
      ...text(c['output'])
        .split('\n')
        .filter((l) => l !== '')
        .map((l) => `  | ${l}`),
    ])
  const steps = list(status['steps'])
    .filter((s) => text(s['outcome']) !== 'Succeeded')
    .map(
      (s) =>
        `Step ${text(s['index'])} ${text(s['operation'])} by ${text(s['executor'])}: ${text(s['outcome']) || `running${since(s['startedAt'], now)}`}${text(s['output']) === '' ? '' : `: ${text(s['output'])}`}`,
    )
  return [...slices, ...stages, ...clusters, ...commits, ...prunes, ...verdicts, ...components, ...steps]
}

/** A permit that waits for people. A verdict of before stays in a permit that ended. */
const isAsked = ({ kind, status }: KubeObject, verdict: Fields): boolean =>
  kind === 'OperationPermit' &&
  text(fields(status)['phase']) === 'Requested' &&
  text(verdict['gate']) === 'Approval' &&
  text(verdict['verdict']) === 'Waiting'

/** Deletions that the guard blocks: what an Approval has to name, and the command that creates it. */
function approveLines({ kind, metadata }: KubeObject, prune: unknown): string[] {
  const digest = text(fields(prune)['digest'])
  const noun = kind === 'FleetSource' ? 'source' : kind.toLowerCase()
  return digest === ''
    ? []
    : [`  digest to approve: ${digest}`, `  kubenode approve ${noun}/${metadata.name ?? ''} --reason WHY`]
}

export interface Related {
  readonly label: string
  readonly object: KubeObject
}

/** Sync reports in the status which request it handled last. */
function askedToRead({ metadata, status }: KubeObject, now: number): readonly string[] {
  const asked = metadata.annotations?.[ANNOTATIONS.reconcile] ?? ''
  const age = now - Date.parse(asked)
  return age >= 0 && fields(status)['lastHandledReconcileAt'] !== asked
    ? [`sync was asked ${formatDuration(age)} ago to read it, and has not yet`]
    : []
}

/** A node with a problem is repaired, or its repair is blocked. */
function wayOn({ kind, metadata, status }: KubeObject): readonly string[] {
  const isBad = kind === 'Node' && list(fields(status)['conditions']).some((c) => !isGood(kind, c))
  return isBad ? [`  kubenode why-not node/${metadata.name ?? ''} shows what blocks its repair`] : []
}

/** As people type it. */
const wordOf = ({ kind, metadata }: KubeObject): string => shortWord(`${kind.toLowerCase()}/${metadata.name ?? ''}`)

/** Related objects that report nothing but their heads. */
const isQuiet = (others: readonly string[]): boolean => !others.some((line) => line.startsWith('  '))

function storyLines(object: KubeObject, now: number): readonly string[] {
  if (object.kind === 'RemedyOperationJob') return repairStory(object as RemedyOperationJob, now)
  if (object.kind === 'MaintenanceEvent') return maintenanceStory(object as MaintenanceEvent)
  return partLines(object, now)
}

/** What is said of a related object before its waits. */
function summaryLines(object: KubeObject, now: number): readonly string[] {
  if (object.kind === 'RemedyOperationJob') return [repairSummary(object as RemedyOperationJob, now)]
  if (object.kind === 'MaintenanceEvent') return maintenanceStory(object as MaintenanceEvent)
  return []
}

/** Lines for users. `related` are objects that block this one or change it, `more` what other objects report of it. */
export function whyLines(
  object: KubeObject,
  related: readonly Related[],
  now: number,
  more: readonly string[] = [],
): readonly string[] {
  const status = fields(object['status'])
  const phase = text(status['phase'])
  const own = [
    ...askedToRead(object, now),
    ...waitLines(status['waitingFor'], now),
    ...conditionLines(object, now),
    ...storyLines(object, now),
    ...wayOn(object),
    ...more,
  ]
  const others = related.flatMap(({ label, object: o }) => {
    const summary = summaryLines(o, now)
    const lines = [...summary, ...waitLines(fields(o['status'])['waitingFor'], now), ...partLines(o, now)]
    const head = `${label} ${wordOf(o)}${text(fields(o['status'])['phase']) === '' ? '' : ` (${text(fields(o['status'])['phase'])})`}`
    return [head, ...lines.map((l) => `  ${l}`)]
  })
  const head = `${wordOf(object)}${phase === '' ? '' : ` is ${phase}`}`
  const rest =
    own.length > 0 ? own : [isQuiet(others) ? 'Up to date; nothing pending.' : 'Nothing of its own is pending.']
  return [head, ...rest, ...others]
}
