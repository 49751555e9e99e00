// Splits an object into facts, and builds it from them again. A fact is a part that changes on its own: a condition, a label, a component, the spec of a rule.
// Pure both ways; only fields that the shape omits are lost.
import type { KubeObject } from '#api/schema/object.ts'
import { apiVersionOf } from '#api/schema/resource.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { type Json, canonicalJson, isObject, setOwn } from '#lib/json.ts'
import { pointerTo } from '#policy/pointer.ts'
import { redactedText } from './redact.ts'
import type { Shape, SplitList } from './shapes.ts'

/** A topic is a path in the object: `status/conditions/Ready`. */
export interface Fact {
  readonly topic: string
  /** Canonical JSON. */
  readonly value: string
  /** The source's time of the change, in milliseconds since 1970; undefined if it has none. */
  readonly reported: number | undefined
}

/** The object exists. The source's time is its creation. */
export const EXISTS = 'exists'
/** Maps such as labels, where each key is a fact. */
const SPLIT_MAPS = new Set(['metadata/labels', 'metadata/annotations'])
/** Metadata that is neither a name nor the server's bookkeeping. */
const METADATA = ['labels', 'annotations', 'generation', 'deletionTimestamp', 'ownerReferences', 'finalizers']
/** Longer annotations are configurations and caches of other programs. */
const MAX_ANNOTATION = 512
/** A larger part is recorded by its length only. */
const MAX_VALUE = 65_536
/** Of one object. Nodes with hundreds of features have a tenth of it. */
export const MAX_FACTS = 10_000

const escaped = (token: string): string => pointerTo([token]).slice(1)
export const unescaped = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~')

export function factsOf(object: KubeObject, shape: Shape): readonly Fact[] {
  const out: Fact[] = []
  const omit = new Set(shape.omit)
  const add = (topic: string, value: unknown, reported?: number): void => {
    if (value === undefined || omit.has(topic) || out.length >= MAX_FACTS) return
    const json = canonicalJson(redacted(value, topic, shape))
    out.push({ topic, value: json.length > MAX_VALUE ? `{"omittedCharacters":${json.length}}` : json, reported })
  }
  const { metadata } = object
  const created = Date.parse(metadata.creationTimestamp ?? '')
  add(EXISTS, true, Number.isNaN(created) ? undefined : created)
  for (const key of METADATA) {
    const path = `metadata/${key}`
    const value = (metadata as Readonly<Record<string, unknown>>)[key]
    if (SPLIT_MAPS.has(path))
      for (const [name, text] of entriesOf(value)) if (isShort(text)) add(`${path}/${escaped(name)}`, text)
    if (!SPLIT_MAPS.has(path)) add(path, value)
  }
  for (const [section, content] of Object.entries(object)) {
    if (NAMES.has(section) || content === undefined) continue
    if ((section === 'spec' && shape.isSpecWhole === true) || !isObject(content)) add(section, content)
    else
      for (const [key, value] of Object.entries(content))
        addPart({ path: `${section}/${escaped(key)}`, value, shape, omit, add })
  }
  return out
}

const NAMES: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])
const entriesOf = (value: unknown): readonly [string, unknown][] => (isObject(value) ? Object.entries(value) : [])
const isShort = (text: unknown): boolean => typeof text === 'string' && text.length <= MAX_ANNOTATION

interface PartOf {
  readonly path: string
  readonly value: unknown
  readonly shape: Shape
  readonly omit: ReadonlySet<string>
  readonly add: (topic: string, value: unknown, reported?: number) => void
}

function addPart({ path, value, shape, omit, add }: PartOf): void {
  const list = shape.lists[path]
  if (omit.has(path)) return
  if (list === undefined || !Array.isArray(value)) return add(path, withoutOmitted(path, value, omit))
  const items = value.filter(isObject)
  // The order and the members, so that a removed item is recorded as removed.
  add(
    path,
    items.map((item) => tokenOf(item, list)),
  )
  for (const item of items) {
    const { rest, reported } = withoutTime(item, list)
    add(`${path}/${escaped(tokenOf(item, list))}`, rest, reported)
  }
}

/** One level below a path may be omitted too: `status/agent/publicKey`. */
function withoutOmitted(path: string, value: unknown, omit: ReadonlySet<string>): unknown {
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(([key]) => !omit.has(`${path}/${escaped(key)}`))
  return kept.length === Object.keys(value).length ? value : Object.fromEntries(kept)
}

const tokenOf = (item: Readonly<Record<string, unknown>>, { keys }: SplitList): string =>
  keys.map((key) => String(item[key] ?? '')).join(',')

/** Moves the time into its own column, so that equal items are stored once. Only if it can be restored exactly. */
function withoutTime(item: Readonly<Record<string, unknown>>, { time, omit = [] }: SplitList) {
  const rest = Object.fromEntries(Object.entries(item).filter(([key]) => !omit.includes(key)))
  const text = time === undefined ? undefined : rest[time]
  const reported = typeof text === 'string' ? Date.parse(text) : Number.NaN
  if (time === undefined || Number.isNaN(reported) || timestamp(reported) !== text) return { rest, reported: undefined }
  delete rest[time]
  return { rest, reported }
}

/** Sentences for users, which repeat other facts. */
const SENTENCES: ReadonlySet<string> = new Set([
  'message',
  'output',
  'seen',
  'text',
  'description',
  'evidence',
  'problem',
])

function redacted(value: unknown, topic: string, { hasManyMessages }: Shape): unknown {
  const walk = (v: unknown, key: string): unknown => {
    if (typeof v === 'string')
      return redactedText(v, { key, isTemplate: hasManyMessages === true && SENTENCES.has(key) })
    if (Array.isArray(v)) return v.map((item) => walk(item, key))
    if (!isObject(v)) return v
    const out = {}
    for (const [k, item] of Object.entries(v)) setOwn(out, k, walk(item, k))
    return out
  }
  return walk(value, unescaped(topic.slice(topic.lastIndexOf('/') + 1)))
}

/** The facts of one object at one moment. */
export interface Remembered {
  readonly namespace?: string | undefined
  readonly name: string
  readonly uid: string
  readonly facts: readonly Fact[]
}

/** Builds the object; undefined if it did not exist. */
export function objectFrom({ namespace, name, uid, facts }: Remembered, shape: Shape): KubeObject | undefined {
  const byTopic = new Map(facts.map((fact) => [fact.topic, fact]))
  const exists = byTopic.get(EXISTS)
  if (exists === undefined || exists.value !== 'true') return undefined
  const metadata: Record<string, unknown> = { name, uid, ...defined({ namespace }) }
  if (exists.reported !== undefined) metadata['creationTimestamp'] = timestamp(exists.reported)
  const object: Record<string, unknown> = { apiVersion: apiVersionOf(shape.type), kind: shape.type.kind, metadata }
  for (const { topic, value } of facts) {
    const tokens = topic.split('/').map(unescaped)
    const [section = '', key = ''] = tokens
    const path = tokens.slice(0, 2).map(escaped).join('/')
    if (topic === EXISTS) continue
    if (shape.lists[path] !== undefined) {
      if (tokens.length === 2) setOwn(sectionOf(object, section), key, itemsOf(value, path, shape, byTopic))
    } else if (tokens.length === 1) setOwn(object, section, JSON.parse(value))
    else if (tokens.length === 2) setOwn(sectionOf(object, section), key, JSON.parse(value))
    else setOwn(sectionOf(sectionOf(object, section), key), tokens[2] ?? '', JSON.parse(value))
  }
  return object as unknown as KubeObject
}

function sectionOf(object: Record<string, unknown>, name: string): Record<string, unknown> {
  // An import may have anything here.
  if (!Object.hasOwn(object, name) || !isObject(object[name])) setOwn(object, name, {})
  return object[name] as Record<string, unknown>
}

const isItem = (value: unknown): value is Record<string, Json> => isObject(value)

function itemsOf(members: string, path: string, shape: Shape, byTopic: ReadonlyMap<string, Fact>): readonly Json[] {
  const time = shape.lists[path]?.time
  const tokens: unknown = JSON.parse(members)
  return (Array.isArray(tokens) ? tokens : []).flatMap((token): readonly Json[] => {
    const fact = byTopic.get(`${path}/${escaped(String(token))}`)
    const item: unknown = fact === undefined ? undefined : JSON.parse(fact.value)
    if (fact === undefined || !isItem(item)) return []
    if (time !== undefined && fact.reported !== undefined) item[time] = timestamp(fact.reported)
    return [item]
  })
}
