// Events in both their forms: stored once as core Events, seen through events.k8s.io under other field names.
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { ageText } from '../table/age.ts'
import { qualifiedNameProblems } from '#api/schema/name-problems.ts'
import { text } from './core-columns.ts'
import { immutable, invalid, required, type FieldProblem } from './field-problem.ts'
import type { BuiltinKind, BuiltinSchema, Column } from './kind.ts'
import * as s from './shape.ts'

const reference = (always_: boolean): BuiltinSchema =>
  s.objectReference({ 'x-kubernetes-map-type': 'atomic', 'x-go-field': always_ ? 'always' : 'pointer' })
const source = s.struct('EventSource', { component: s.str, host: s.str })
const series = s.struct(
  'EventSeries',
  { count: s.int32, lastObservedTime: s.always(s.microTime) },
  { 'x-go-field': 'pointer' },
)

type Fields = Readonly<Record<string, unknown>>
const at = (o: KubeObject, field: string): Fields => {
  const v = o[field]
  return isObject(v) ? v : {}
}
const word = (v: unknown): string => (typeof v === 'string' ? v : '')

/** core → events.k8s.io. */
const RENAMED: Readonly<Record<string, string>> = {
  involvedObject: 'regarding',
  message: 'note',
  source: 'deprecatedSource',
  firstTimestamp: 'deprecatedFirstTimestamp',
  lastTimestamp: 'deprecatedLastTimestamp',
  count: 'deprecatedCount',
  reportingComponent: 'reportingController',
}
const BACK: Readonly<Record<string, string>> = Object.fromEntries(Object.entries(RENAMED).map(([a, b]) => [b, a]))

function renamed(o: KubeObject, names: Readonly<Record<string, string>>, apiVersion: string): KubeObject {
  const out: Record<string, unknown> = {}
  for (const [k, v] of Object.entries(o)) out[names[k] ?? k] = v
  return { ...out, kind: 'Event', apiVersion, metadata: o.metadata }
}

/** Empty words that one form always writes and the other leaves out. */
function withoutEmpty(o: KubeObject, keys: readonly string[]): KubeObject {
  const out: Record<string, unknown> = { ...o }
  for (const k of keys) if (out[k] === '' || out[k] === null || out[k] === undefined) delete out[k]
  return out as KubeObject
}

function toCore(o: KubeObject): KubeObject {
  const core: Record<string, unknown> = renamed(o, BACK, 'v1')
  return {
    ...core,
    kind: 'Event',
    apiVersion: 'v1',
    metadata: o.metadata,
    involvedObject: core['involvedObject'] ?? {},
    source: core['source'] ?? {},
    firstTimestamp: core['firstTimestamp'] ?? null,
    lastTimestamp: core['lastTimestamp'] ?? null,
    eventTime: core['eventTime'] ?? null,
    reportingComponent: core['reportingComponent'] ?? '',
    reportingInstance: core['reportingInstance'] ?? '',
  }
}

function fromCore(o: KubeObject): KubeObject {
  const out = renamed(o, RENAMED, 'events.k8s.io/v1')
  return withoutEmpty(
    { ...out, eventTime: out['eventTime'] ?? null, deprecatedSource: out['deprecatedSource'] ?? {} },
    ['reportingController', 'reportingInstance', 'note', 'action', 'reason', 'type'],
  )
}

function namespaceProblems(o: KubeObject, involved: Fields): FieldProblem[] {
  const namespace = word(involved['namespace'])
  const own = o.metadata.namespace ?? ''
  if (namespace === '')
    return own === 'default' || own === 'kube-system'
      ? []
      : own === ''
        ? []
        : [invalid('involvedObject.namespace', namespace, 'does not match event.namespace')]
  return namespace === own ? [] : [invalid('involvedObject.namespace', namespace, 'does not match event.namespace')]
}

const MAX_WORD = 128
const MAX_MESSAGE = 1024

const wordProblems = (field: string, value: string): FieldProblem[] => {
  if (value === '') return [required(field)]
  return value.length > MAX_WORD ? [invalid(field, '', `can have at most ${MAX_WORD} characters`)] : []
}

/** Required fields of an event with an eventTime, in either form. */
function timedProblems(o: KubeObject, [controller, message]: readonly [string, string]): FieldProblem[] {
  if ((o['eventTime'] ?? null) === null) return []
  const by = word(o[controller])
  const out: FieldProblem[] = by === '' ? [required(controller)] : []
  if (by !== '') out.push(...qualifiedNameProblems(by).map((p) => invalid(controller, by, p)))
  for (const field of ['reportingInstance', 'action', 'reason']) out.push(...wordProblems(field, word(o[field])))
  if (word(o[message]).length > MAX_MESSAGE)
    out.push(invalid('message', '', `can have at most ${MAX_MESSAGE} characters`))
  return out
}

/** Required fields of events in the new form only. */
function newFormProblems(o: KubeObject): FieldProblem[] {
  const out: FieldProblem[] = []
  if ((o['eventTime'] ?? null) === null) out.push(required('eventTime'))
  if (!['Normal', 'Warning'].includes(word(o['type'])))
    out.push(invalid('type', '', `has invalid value: ${word(o['type'])}`))
  return out
}

const FROZEN: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  reason: 'reason',
  note: 'message',
  type: 'type',
  eventTime: 'eventTime',
  action: 'action',
  related: 'related',
  reportingController: 'reportingController',
  reportingInstance: 'reportingInstance',
}

/** Field names of the core form, as the real server reports them. */
const frozenProblems = (o: KubeObject, old: KubeObject): FieldProblem[] =>
  Object.entries(FROZEN)
    .filter(([k]) => !jsonEqual(o[k] ?? null, old[k] ?? null))
    .map(([k, field]) => immutable(field, o[k]))

const since = (t: unknown, now: number): string => {
  const ms = Date.parse(word(t))
  return Number.isNaN(ms) ? '<unknown>' : ageText((now - ms) / 1_000)
}

const firstOf = (o: KubeObject): unknown => o['firstTimestamp'] ?? o['eventTime'] ?? o['deprecatedFirstTimestamp']
const lastOf = (o: KubeObject): unknown =>
  at(o, 'series')['lastObservedTime'] ?? o['lastTimestamp'] ?? o['deprecatedLastTimestamp'] ?? firstOf(o)
const objectText = (o: KubeObject): string => {
  const ref = { ...at(o, 'regarding'), ...at(o, 'involvedObject') }
  return `${word(ref['kind']).toLowerCase()}/${word(ref['name'])}`
}
const sourceText = (o: KubeObject): string => {
  const s = { ...at(o, 'deprecatedSource'), ...at(o, 'source') }
  const parts = [
    word(s['component']) || word(o['reportingComponent']) || word(o['reportingController']),
    word(s['host']) || word(o['reportingInstance']),
  ]
  return parts.filter((p) => p !== '').join(', ')
}

const columns: readonly Column[] = [
  { name: 'Last Seen', type: 'string', cell: (o, now) => since(lastOf(o), now) },
  text('Type', (o) => word(o['type'])),
  text('Reason', (o) => word(o['reason'])),
  text('Object', objectText),
  text('Subobject', (o) => word({ ...at(o, 'regarding'), ...at(o, 'involvedObject') }['fieldPath']), 1),
  text('Source', sourceText, 1),
  text('Message', (o) => (word(o['message']) || word(o['note'])).trim()),
  { name: 'First Seen', type: 'string', priority: 1, cell: (o, now) => since(firstOf(o), now) },
  {
    name: 'Count',
    type: 'string',
    priority: 1,
    cell: (o) => Number(at(o, 'series')['count'] ?? o['count'] ?? o['deprecatedCount'] ?? 1),
  },
  { name: 'Name', type: 'string', format: 'name', priority: 1, cell: (o) => o.metadata.name ?? '' },
]

/** Selectors by the object that the event is about, in the two forms of the same event. */
const eventSelectors = (about: 'involvedObject' | 'regarding', reporter: string) => ({
  ...Object.fromEntries(involvedFields.map((f) => [`${about}.${f}`, (o: KubeObject) => word(at(o, about)[f])])),
  reason: (o: KubeObject) => word(o['reason']),
  [reporter]: (o: KubeObject) => word(o[reporter]),
  type: (o: KubeObject) => word(o['type']),
})

const involvedFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']

const coreEvent: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true },
  shortNames: ['ev'],
  createOnUpdate: true,
  schema: s.struct('Event', {
    involvedObject: reference(true),
    reason: s.str,
    message: s.str,
    source: s.always(source),
    firstTimestamp: s.always(s.time),
    lastTimestamp: s.always(s.time),
    count: s.int32,
    type: s.str,
    eventTime: s.always(s.microTime),
    series,
    action: s.str,
    related: reference(false),
    reportingComponent: s.always(s.str),
    reportingInstance: s.always(s.str),
  }),
  columns,
  selectableFields: {
    ...eventSelectors('involvedObject', 'reportingComponent'),
    source: (o) => word(at(o, 'source')['component']) || word(o['reportingComponent']),
  },
  validate: (o, old) => [
    ...namespaceProblems(o, at(o, 'involvedObject')),
    ...(old === undefined ? timedProblems(o, ['reportingComponent', 'message']) : []),
  ],
}

const newEvent: BuiltinKind = {
  type: { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', namespaced: true },
  shortNames: ['ev'],
  createOnUpdate: true,
  schema: s.struct('Event', {
    eventTime: s.always(s.microTime),
    series,
    reportingController: s.str,
    reportingInstance: s.str,
    action: s.str,
    reason: s.str,
    regarding: reference(true),
    related: reference(false),
    note: s.str,
    type: s.str,
    deprecatedSource: s.always(source),
    deprecatedFirstTimestamp: s.always(s.time),
    deprecatedLastTimestamp: s.always(s.time),
    deprecatedCount: s.int32,
  }),
  columns,
  selectableFields: eventSelectors('regarding', 'reportingController'),
  storedAs: { group: '', plural: 'events', toStored: toCore, fromStored: fromCore },
  validate: (o, old) => [
    ...namespaceProblems(o, at(o, 'regarding')),
    ...(old === undefined
      ? [...timedProblems(o, ['reportingController', 'note']), ...newFormProblems(o)]
      : frozenProblems(o, old)),
  ],
}

export const eventKinds = [coreEvent, newEvent] as const
