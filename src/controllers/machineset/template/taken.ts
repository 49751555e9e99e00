// What a machine that exists takes from the template of its set: labels, annotations and taints of its Node. Pure. A three-way merge: only what the set
// gave is changed or removed, and a value that a person changed since stays.
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import { sha256Hex } from '#lib/sha256.ts'

type NodeFields = Pick<Machine['spec'], 'labels' | 'annotations' | 'taints'>
type Values = Readonly<Record<string, string>>

/** What the set gave the machine last. Annotations may be large, so their values are recorded as digests. */
interface Given {
  readonly labels: Values
  readonly annotations: Values
  /** `key:effect`. */
  readonly taints: Values
}

export interface Taken {
  /** The machine with the template's fields. */
  readonly machine: Machine
  readonly isChange: boolean
  /** A taint evicts pods that run. */
  readonly evicts: boolean
  /** Keys of the template whose value a user changed: labels, annotations, taints. */
  readonly kept: readonly string[]
}

const FIELDS = ['labels', 'annotations', 'taints'] as const

/** Most machines are as their template: comparing them with it is all that is done for these. */
export function takenFrom({ spec: { template } }: MachineSet, machine: Machine): Taken {
  if (FIELDS.every((field) => jsonEqual(machine.spec[field], template.spec[field])))
    return { machine, isChange: false, evicts: false, kept: [] }
  const given = givenTo(machine)
  const [now, wanted] = [valuesOf(machine.spec), valuesOf(template.spec)]
  const labels = merged(now.labels, wanted.labels, given.labels, (v) => v)
  const annotations = merged(now.annotations, wanted.annotations, given.annotations, digestOf)
  const taints = merged(now.taints, wanted.taints, given.taints, (v) => v)
  const { labels: _l, annotations: _a, taints: _t, ...rest } = machine.spec
  const next: NodeFields = {
    ...(Object.keys(labels.next).length > 0 && { labels: labels.next }),
    ...(Object.keys(annotations.next).length > 0 && { annotations: annotations.next }),
    ...(Object.keys(taints.next).length > 0 && { taints: taintsOf(taints.next) }),
  }
  const record: Given = { labels: labels.given, annotations: annotations.given, taints: taints.given }
  return {
    machine: { ...machine, metadata: withRecord(machine.metadata, record), spec: { ...rest, ...next } },
    isChange: !jsonEqual(valuesOf(next), now),
    evicts: Object.entries(taints.next).some(([id, v]) => id.endsWith(':NoExecute') && now.taints[id] !== v),
    kept: [...labels.kept, ...annotations.kept, ...taints.kept],
  }
}

/** The record for a machine that is created from the template. */
export function newRecord({ spec: { template } }: MachineSet): Values {
  const { labels, annotations, taints } = valuesOf(template.spec)
  const given = { labels, annotations: mapped(annotations, digestOf), taints }
  return withRecord({}, given).annotations ?? {}
}

interface Merged {
  readonly next: Values
  readonly given: Values
  readonly kept: readonly string[]
}

function merged(now: Values, wanted: Values, given: Values, recorded: (value: string) => string): Merged {
  const next = new Map(Object.entries(now))
  const ours = new Map<string, string>()
  const kept: string[] = []
  const isOurs = (key: string): boolean => {
    const value = next.get(key)
    return value !== undefined && Object.hasOwn(given, key) && given[key] === recorded(value)
  }
  for (const key of Object.keys(given)) if (!Object.hasOwn(wanted, key) && isOurs(key)) next.delete(key)
  for (const [key, value] of Object.entries(wanted)) {
    const there = next.get(key)
    if (there !== undefined && there !== value && !isOurs(key)) {
      kept.push(key)
      continue
    }
    // A machine had this very value before a template declared it: it belongs to the user or program that set it.
    if (there !== value || isOurs(key)) ours.set(key, recorded(value))
    next.set(key, value)
  }
  return { next: Object.fromEntries(next), given: Object.fromEntries(ours), kept }
}

const valuesOf = ({ labels, annotations, taints }: NodeFields): Given => ({
  labels: labels ?? {},
  annotations: annotations ?? {},
  taints: Object.fromEntries((taints ?? []).map((t) => [`${t.key}:${t.effect}`, t.value ?? ''])),
})

type Taint = NonNullable<NodeFields['taints']>[number]

function taintsOf(values: Values): readonly Taint[] {
  return Object.entries(values).map(([id, value]) => {
    const at = id.lastIndexOf(':')
    const effect = id.slice(at + 1) as Taint['effect']
    return { key: id.slice(0, at), ...(value !== '' && { value }), effect }
  })
}

const digestOf = (value: string): string => sha256Hex(value)

const mapped = (values: Values, by: (value: string) => string): Values =>
  Object.fromEntries(Object.entries(values).map(([k, v]) => [k, by(v)]))

function withRecord(metadata: Machine['metadata'], given: Given): Machine['metadata'] {
  const { [ANNOTATIONS.template]: _, ...annotations } = metadata.annotations ?? {}
  const isEmpty = Object.values(given).every((values: Values) => Object.keys(values).length === 0)
  if (isEmpty && metadata.annotations === undefined) return metadata
  return {
    ...metadata,
    annotations: { ...annotations, ...(!isEmpty && { [ANNOTATIONS.template]: JSON.stringify(given) }) },
  }
}

/** An unreadable record is none: nothing is removed. */
function givenTo({ metadata }: Machine): Given {
  const text = metadata.annotations?.[ANNOTATIONS.template]
  const read = text === undefined ? undefined : parsed(text)
  const texts = (v: unknown): Values =>
    isObject(v)
      ? Object.fromEntries(Object.entries(v).filter((e): e is [string, string] => typeof e[1] === 'string'))
      : {}
  return isObject(read)
    ? { labels: texts(read['labels']), annotations: texts(read['annotations']), taints: texts(read['taints']) }
    : { labels: {}, annotations: {}, taints: {} }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
