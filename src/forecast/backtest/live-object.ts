// Keeps one recorded object up to date from its rows, in pieces: a changed condition rebuilds one list. Invariant: the object equals the one that `objectFrom`
// builds from the same facts.
import type { KubeObject } from '#api/schema/object.ts'
import { apiVersionOf } from '#api/schema/resource.ts'
import { timestamp } from '#lib/clock.ts'
import { isObject, setOwn } from '#lib/json.ts'
import { EXISTS, unescaped } from '#history/facts/facts.ts'
import type { Shape } from '#history/facts/shapes.ts'
import type { Subject } from '#history/store/names.ts'

type Fields = Readonly<Record<string, unknown>>

/** Where a topic is in the object. The same for all objects of a kind. */
export interface TopicPlace {
  readonly topic: string
  /** Its first two parts. */
  readonly path: string
  readonly section: string
  readonly key: string | undefined
  /** The third part: a label, or the token of a list's item. */
  readonly item: string | undefined
  readonly list: { readonly time?: string } | undefined
  /** False: its values are dropped, because no reader needs them. */
  readonly isKept: boolean
}

export function placeOfTopic(topic: string, shape: Shape, isKept = true): TopicPlace {
  const tokens = topic.split('/')
  const [section = '', key, item] = tokens.map(unescaped)
  const list = shape.lists[tokens.slice(0, 2).join('/')]
  return { topic, path: `${section}/${key}`, section, key, item, list, isKept }
}

/** A text of the history with its value. `status` is for conditions. */
interface Parsed {
  readonly value: unknown
  readonly status: unknown
}

/** Recorded values repeat: each text is parsed once, and all objects share the result. A row that is kept holds no text of its own. */
export class ParsedValues {
  readonly #known = new Map<string, Parsed>()
  readonly #members = new Map<string, readonly string[]>()
  readonly #positions = new WeakMap<readonly string[], ReadonlyMap<string, number>>()

  of(text: string): Parsed {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const value: unknown = JSON.parse(text)
    const parsed = { value, status: isObject(value) ? value['status'] : undefined }
    if (this.#known.size >= MAX_VALUES) this.#known.clear()
    this.#known.set(text, parsed)
    return parsed
  }

  /** The same list for the same members. */
  members(found: readonly string[]): readonly string[] {
    const text = found.join('\n')
    const known = this.#members.get(text)
    if (known !== undefined) return known
    if (this.#members.size >= MAX_VALUES) this.#members.clear()
    this.#members.set(text, found)
    return found
  }

  /** Where each member of a list is. Most objects of a kind have the same members. */
  positionsIn(members: readonly string[]): ReadonlyMap<string, number> {
    const known = this.#positions.get(members)
    if (known !== undefined) return known
    const positions = new Map(members.map((token, n) => [token, n]))
    this.#positions.set(members, positions)
    return positions
  }
}

const MAX_VALUES = 50_000

interface Item {
  value: Fields
  /** When it changed, in milliseconds since 1970; NaN: not recorded. */
  at: number
}

interface SplitItems {
  tokens: readonly string[]
  readonly items: Map<string, Item>
  /** As last built, and where each item is in it. */
  list: readonly Fields[]
  positions: ReadonlyMap<string, number>
  readonly changed: Set<string>
  hasOtherMembers: boolean
}

/** Rewritten in place, because most rows are never read: no garbage per row. */
interface Row {
  readonly place: TopicPlace
  value: Parsed | undefined
  /** NaN: not recorded. */
  reported: number
}

const noItems = (): SplitItems => ({
  tokens: [],
  items: new Map(),
  list: [],
  positions: new Map(),
  changed: new Set(),
  hasOtherMembers: true,
})

export class LiveObject {
  readonly subject: Subject
  readonly shape: Shape
  #created: string | undefined
  #exists = false
  #sections: Record<string, Fields> = {}
  /** Sections that are one fact, such as the spec of a rule. */
  readonly #whole = new Map<string, unknown>()
  readonly #lists = new Map<string, SplitItems>()
  readonly #stale = new Set<string>()
  /** Rows that are not part of the object yet, by topic. Most are replaced before it is read. */
  readonly #rows = new Map<string, Row>()
  readonly #values: ParsedValues

  constructor(subject: Subject, shape: Shape, values = new ParsedValues()) {
    this.subject = subject
    this.shape = shape
    this.#values = values
  }

  get exists(): boolean {
    const row = this.#rows.get(EXISTS)
    return row === undefined ? this.#exists : row.value?.value === true
  }

  /** `value`: JSON; undefined: the fact ended. Returns whether only details changed: an item of a list keeps its status and the time of it. */
  take(place: TopicPlace, value: string | undefined, reported = Number.NaN): boolean {
    const parsed = value === undefined ? undefined : this.#values.of(value)
    const row = this.#rows.get(place.topic)
    const isDetail = parsed !== undefined && this.#isDetail(place, row, parsed, reported)
    if (row === undefined) this.#rows.set(place.topic, { place, value: parsed, reported })
    else {
      row.value = parsed
      row.reported = reported
    }
    return isDetail
  }

  /** Of an item of a list, as it was last taken. */
  statusOf({ topic, path, item }: TopicPlace): unknown {
    const row = this.#rows.get(topic)
    return row === undefined ? this.#lists.get(path)?.items.get(item ?? '')?.value['status'] : row.value?.status
  }

  #apply({ place, value: parsed, reported }: Row): void {
    const value = parsed?.value
    const { topic, section, key, item, list } = place
    if (topic === EXISTS) {
      this.#exists = value === true
      this.#created = Number.isNaN(reported) ? undefined : timestamp(reported)
    } else if (key === undefined) {
      if (value === undefined) this.#whole.delete(section)
      else this.#whole.set(section, value)
    } else if (list !== undefined) this.#takeItem(place, value, reported)
    else if (item === undefined) this.#put(section, key, value)
    else {
      const map = { ...(this.#sections[section]?.[key] as Fields | undefined) }
      if (value === undefined) delete map[item]
      else setOwn(map, item, value)
      this.#put(section, key, Object.keys(map).length === 0 ? undefined : map)
    }
  }

  #isDetail({ path, item, list }: TopicPlace, row: Row | undefined, { status }: Parsed, reported: number): boolean {
    if (list?.time === undefined || item === undefined) return false
    if (row !== undefined) return Object.is(row.reported, reported) && row.value?.status === status
    const held = this.#lists.get(path)?.items.get(item)
    return held === undefined
      ? Number.isNaN(reported) && status === undefined
      : Object.is(held.at, reported) && held.value['status'] === status
  }

  /** A new object for each state; earlier ones stay as they are. Undefined if it does not exist. */
  object(): KubeObject | undefined {
    for (const row of this.#rows.values()) this.#apply(row)
    this.#rows.clear()
    if (!this.#exists) return undefined
    for (const path of this.#stale) this.#rebuild(path)
    this.#stale.clear()
    const { name, uid, namespace } = this.subject
    const metadata = {
      name,
      uid,
      ...(namespace !== '' && { namespace }),
      ...(this.#created !== undefined && { creationTimestamp: this.#created }),
      ...this.#sections['metadata'],
    }
    return {
      apiVersion: apiVersionOf(this.shape.type),
      kind: this.shape.type.kind,
      ...this.#sections,
      ...Object.fromEntries(this.#whole),
      metadata,
    }
  }

  #put(section: string, key: string, value: unknown): void {
    const fields = { ...this.#sections[section] }
    if (value === undefined) delete fields[key]
    else setOwn(fields, key, value)
    if (Object.keys(fields).length > 0) this.#sections = { ...this.#sections, [section]: fields }
    else delete this.#sections[section]
  }

  #takeItem({ path, item, list }: TopicPlace, value: unknown, reported: number): void {
    const held = this.#lists.get(path) ?? noItems()
    this.#lists.set(path, held)
    this.#stale.add(path)
    if (item === undefined) {
      if (value === undefined) this.#lists.delete(path)
      held.tokens = Array.isArray(value) ? (value as readonly string[]) : []
      held.hasOtherMembers = true
      return
    }
    if (value === undefined) {
      held.items.delete(item)
      held.hasOtherMembers = true
      return
    }
    const at = list?.time === undefined ? Number.NaN : reported
    const known = held.items.get(item)
    if (known === undefined) held.items.set(item, { value: value as Fields, at })
    else {
      known.value = value as Fields
      known.at = at
    }
    held.changed.add(item)
  }

  #rebuild(path: string): void {
    const [section = '', key = ''] = path.split('/')
    const held = this.#lists.get(path)
    if (held === undefined) return this.#put(section, key, undefined)
    if (held.hasOtherMembers || [...held.changed].some((item) => !held.positions.has(item))) {
      const found = held.tokens.filter((token) => held.items.has(token))
      const members = found.length === held.tokens.length ? held.tokens : this.#values.members(found)
      held.positions = this.#values.positionsIn(members)
      held.list = members.map((token) => this.#itemOf(path, held, token))
      held.hasOtherMembers = false
    } else {
      const list = held.list.slice()
      for (const item of held.changed) list[held.positions.get(item) ?? list.length] = this.#itemOf(path, held, item)
      held.list = list
    }
    held.changed.clear()
    this.#put(section, key, held.list)
  }

  #itemOf(path: string, { items }: SplitItems, token: string): Fields {
    const { value, at } = items.get(token) ?? NO_ITEM
    const time = this.shape.lists[path]?.time
    return time === undefined || Number.isNaN(at) ? value : { ...value, [time]: timestamp(at) }
  }
}

const NO_ITEM: Item = { value: {}, at: Number.NaN }
