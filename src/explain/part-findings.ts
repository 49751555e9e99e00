// Parts of a status that wait or fail on their own: slices of a rollout, stages and clusters of a release, verdicts of a permit, components of a machine,
// steps of a repair. Pure.
import type { KubeObject } from '#api/schema/object.ts'
import { activeMachines, sliceName } from '#api/protocol/part.ts'
import { counted } from '#lib/counted.ts'
import { fieldsOf, objectsIn } from '#lib/fields.ts'
import { type Fields, type Moment, since, text, waitOf, wordOf } from './any-object.ts'
import { type Finding, notesOf } from './finding.ts'
import { verdictNote } from './verdict.ts'

export function partFindings(object: KubeObject, moment: Moment): readonly Finding[] {
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
  return [
    ...slices,
    ...stages,
    ...clusters,
    ...commits,
    ...prunes,
    ...verdictFindings(object),
    ...componentFindings(object, now),
    ...acceptanceFindings(fieldsOf(status['acceptance'])),
    ...stepFindings(object, now),
  ]
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

function verdictFindings(object: KubeObject): readonly Finding[] {
  return objectsIn(fieldsOf(object['status'])['verdicts'])
    .filter((v) => text(v['verdict']) !== 'Granted')
    .map((v): Finding => ({
      text: `Gate ${text(v['gate'])}: ${text(v['verdict'])}: ${verdictNote({ seen: text(v['seen']), limit: text(v['limit']) })}`,
      urgency: 'Waiting',
      ...(isAsked(object, v) && { command: { line: `kubenode approve ${wordOf(object)} --reason WHY` } }),
    }))
}

function componentFindings(object: KubeObject, now: number): readonly Finding[] {
  return (
    objectsIn(fieldsOf(object['status'])['components'])
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
  )
}

function stepFindings({ status }: KubeObject, now: number): readonly Finding[] {
  return objectsIn(fieldsOf(status)['steps'])
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
