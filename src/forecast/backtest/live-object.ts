// Keeps one recorded object up to date from its rows, in pieces: a changed condition rebuilds one list. Invariant: the object equals the one that `objectFrom`
// builds from the same facts.
import type { KubeObject } from '#api/schema/object.ts'
import { apiVersionOf } from '#api/schema/resource.ts'
import { timestamp } from '#lib/clock.ts'
import { setOwn } from '#lib/json.ts'
import { EXISTS, unescaped } from '#history/facts/facts.ts'
import type { Shape } from '#history/facts/shapes.ts'
import type { Subject } from '#history/store/names.ts'

type Fields = Readonly<Record<string, unknown>>

/** Where a topic is in the object. The same for all objects of a kind. */
export interface TopicPlace {
  readonly topic: string
  readonly section: string
  readonly key: string | undefined
  /** The third part: a label, or the token of a list's item. */
  readonly item: string | undefined
  readonly list: { readonly time?: string } | undefined
}

export function placeOfTopic(topic: string, shape: Shape): TopicPlace {
  const tokens = topic.split('/')
  const [section = '', key, item] = tokens.map(unescaped)
  return { topic, section, key, item, list: shape.lists[tokens.slice(0, 2).join('/')] }
}

/** Recorded values repeat: each text is parsed once. */
export class ParsedValues {
  readonly #known = new Map<string, unknown>()

  of(text: string): unknown {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const value: unknown = JSON.parse(text)
    if (this.#known.size >= MAX_VALUES) this.#known.clear()
    this.#known.set(text, value)
    return value
  }
}

const MAX_VALUES = 50_000

interface SplitItems {
  tokens: readonly string[]
  readonly items: Map<string, Fields>
  /** When each item changed, in milliseconds since 1970. */
  readonly times: Map<string, number>
  /** As last built, and where each item is in it. */
  list: readonly Fields[]
  positions: ReadonlyMap<string, number>
  readonly changed: Set<string>
  hasOtherMembers: boolean
}

interface Row {
  readonly place: TopicPlace
  readonly value: string | undefined
  readonly reported: number | undefined
}

const noItems = (): SplitItems => ({
  tokens: [],
  items: new Map(),
  times: new Map(),
  list: [],
  positions: new Map(),
  changed: new Set(),
  hasOtherMembers: true,
})

export class LiveObject {
  readonly subject: Subject
  readonly shape: Shape
  #created: number | undefined
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
    return row === undefined ? this.#exists : row.value === 'true'
  }

  /** `value`: JSON; undefined: the fact ended. */
  take(place: TopicPlace, value: string | undefined, reported: number | undefined): void {
    this.#rows.set(place.topic, { place, value, reported })
  }

  #apply({ place, value: text, reported }: Row): void {
    const value = text === undefined ? undefined : this.#values.of(text)
    const { topic, section, key, item, list } = place
    if (topic === EXISTS) {
      this.#exists = value === true
      this.#created = reported
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

  /** Whether an item of a list keeps its status and the time of it. */
  isDetail(
    { topic, section, key = '', item, list }: TopicPlace,
    value: string | undefined,
    reported: number | undefined,
  ): boolean {
    if (list?.time === undefined || item === undefined || value === undefined) return false
    const row = this.#rows.get(topic)
    if (row !== undefined) return row.reported === reported && this.#statusIn(row.value) === this.#statusIn(value)
    const held = this.#lists.get(`${section}/${key}`)
    return held?.times.get(item) === reported && held?.items.get(item)?.['status'] === this.#statusIn(value)
  }

  #statusIn(value: string | undefined): unknown {
    return value === undefined ? undefined : (this.#values.of(value) as Fields)['status']
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
      ...(this.#created !== undefined && { creationTimestamp: timestamp(this.#created) }),
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

  #takeItem({ section, key = '', item, list }: TopicPlace, value: unknown, reported: number | undefined): void {
    const path = `${section}/${key}`
    const held = this.#lists.get(path) ?? noItems()
    this.#lists.set(path, held)
    this.#stale.add(path)
    if (item === undefined) {
      if (value === undefined) this.#lists.delete(path)
      held.tokens = (value ?? []) as readonly string[]
      held.hasOtherMembers = true
      return
    }
    if (value === undefined) {
      held.items.delete(item)
      held.times.delete(item)
      held.hasOtherMembers = true
      return
    }
    held.items.set(item, value as Fields)
    if (list?.time === undefined || reported === undefined) held.times.delete(item)
    else held.times.set(item, reported)
    held.changed.add(item)
  }

  #rebuild(path: string): void {
    const [section = '', key = ''] = path.split('/')
    const held = this.#lists.get(path)
    if (held === undefined) return this.#put(section, key, undefined)
    if (held.hasOtherMembers || [...held.changed].some((item) => !held.positions.has(item))) {
      const members = held.tokens.filter((token) => held.items.has(token))
      held.positions = new Map(members.map((token, n) => [token, n]))
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

  #itemOf(path: string, { items, times }: SplitItems, token: string): Fields {
    const value = items.get(token) ?? {}
    const [time, at] = [this.shape.lists[path]?.time, times.get(token)]
    return time === undefined || at === undefined ? value : { ...value, [time]: timestamp(at) }
  }
}
