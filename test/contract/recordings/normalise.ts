// Removes from answers what differs from run to run: names made for the run, uids, versions, times, addresses, tokens.
// The rest is comparable with the recordings, which were treated alike.
import { sha256Hex } from '#lib/sha256.ts'

type Json = unknown
type Fields = Readonly<Record<string, Json>>

const isMap = (v: Json): v is Fields => typeof v === 'object' && v !== null && !Array.isArray(v)

const UID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?:Z|[+-]\d\d:\d\d)/g
const MADE_SUFFIX = /^[bcdfghjklmnpqrstvwxz2456789]{5}$/
const AGE = /^\d+[smhd](?:\d+[smh])?$/
const VERSION_MARK = 'rv:'

export class CaseNames {
  readonly #variables = new Map<string, string>()
  readonly #unique: string
  readonly #run: string
  readonly #host: string
  readonly #uids = new Map<string, string>()
  readonly #made = new Map<string, string>()
  readonly #versions = new Set<string>()
  /** Everything that was sent: times and addresses echoed from it are not the server's. */
  #sent = ''

  constructor(id: string, run: string, host: string) {
    this.#unique = sha256Hex(id).slice(0, 6) + run
    this.#run = run
    this.#host = host
    this.set('u', this.#unique)
    this.set('ns', `ad-${this.#unique}`)
    this.set('g', `g${this.#unique}.fleet.test`)
  }

  set(name: string, value: string): void {
    this.#variables.set(name, value)
  }

  noteVersion(version: string): void {
    this.#versions.add(version)
  }

  noteSent(text: string): void {
    this.#sent += text
  }

  forgetSent(): void {
    this.#sent = ''
  }

  /** Puts values in the places of their names. */
  fill<T>(value: T): T {
    if (typeof value === 'string') return value.replace(/\{\{(\w+)\}\}/g, (_, name: string) => this.#value(name)) as T
    if (Array.isArray(value)) return value.map((v: unknown) => this.fill(v)) as T
    if (!isMap(value)) return value
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [this.fill(k), this.fill(v)])) as T
  }

  #value(name: string): string {
    const value = this.#variables.get(name)
    if (value === undefined) throw new Error(`no step before has saved {{${name}}}`)
    return value
  }

  text(given: string): string {
    let s = given
    for (const [name, mark] of this.#made) s = s.replaceAll(name, mark)
    s = s
      .replaceAll(`ad-${this.#unique}`, 'NS')
      .replaceAll(`g${this.#unique}.fleet.test`, 'GROUP')
      .replaceAll(this.#unique, 'U')
      .replaceAll(this.#run, 'RUN')
      .replaceAll(this.#host, 'SERVER')
    s = s.replace(UID, (uid) => (/^(.)(?:\1|-)*$/.test(uid) ? uid : this.#uidMark(uid)))
    s = s.replace(TIME, (t, fraction?: string) => {
      if (this.#sent.includes(t)) return t
      return fraction === undefined ? '<time>' : `<time${fraction.length - 1}>`
    })
    return s
      .replace(/(current: )\d+/g, '$1<n>')
      .replace(/(too old resource version: \d+ \()\d+\)/g, '$1<n>)')
      .replace(/(resourceVersion\\*":\\*")\d+/g, '$1<rv>')
      .replace(/eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/g, '<jwt>')
  }

  #uidMark(uid: string): string {
    const mark = this.#uids.get(uid) ?? `<uid${this.#uids.size + 1}>`
    this.#uids.set(uid, mark)
    return mark
  }

  /** Remembers names that the server made from a prefix. */
  noteMadeNames(body: Json): void {
    if (!isMap(body)) return
    const { metadata } = body
    if (isMap(metadata) && typeof metadata['generateName'] === 'string' && typeof metadata['name'] === 'string') {
      const { generateName: prefix, name } = metadata
      if (prefix !== '' && name.startsWith(prefix) && !this.#made.has(name)) {
        const suffix = name.slice(prefix.length)
        const kind = MADE_SUFFIX.test(suffix) ? 'gen5' : `gen?${suffix.length}`
        this.#made.set(name, `${this.text(prefix)}<${kind}#${this.#made.size + 1}>`)
      }
    }
    if (Array.isArray(body['items'])) for (const item of body['items']) this.noteMadeNames(item)
    this.noteMadeNames(body['object'])
  }

  value(v: Json, at: Partial<Place> = {}): Json {
    return this.#walk(v, { key: '', within: undefined, definition: false, managedFields: false, ...at })
  }

  #walk(v: Json, at: Place): Json {
    if (typeof v === 'string') return this.#string(v, at)
    if (Array.isArray(v)) return this.#list(v, at)
    if (!isMap(v)) return v
    const status = withSortedMessage(v)
    const definition = at.definition || /^CustomResourceDefinition(?:List)?$/.test(String(status['kind']))
    const out: Record<string, Json> = {}
    for (const [k, x] of Object.entries(status)) {
      if (x === undefined || (k === 'managedFields' && !at.managedFields)) continue
      out[this.text(k)] = at.key === 'cells' ? x : this.#walk(x, { ...at, key: k, within: status, definition })
    }
    return out
  }

  #string(s: string, { key, within, definition }: Place): string {
    if (key === 'resourceVersion' && /^\d+$/.test(s)) {
      if (definition) return '<rv>'
      if (within !== undefined && within['uid'] === undefined) return '<list-rv>'
      this.noteVersion(s)
      return VERSION_MARK + s
    }
    if (key === 'continue' && s !== '') return '<continue>'
    if (key === 'clusterIP') return this.#address(s)
    return this.text(s)
  }

  #address(s: string): string {
    return /^\d+(?:\.\d+){3}$/.test(s) && !this.#sent.includes(s) ? '<ip>' : this.text(s)
  }

  #list(list: readonly Json[], at: Place): Json {
    if (at.key === 'clusterIPs') return list.map((x) => (typeof x === 'string' ? this.#address(x) : x))
    if (at.key === 'managedFields') {
      const entries = list.filter(isMap).map((e) => ({ ...e, time: e['time'] === undefined ? undefined : '<time>' }))
      return sortedBy(
        entries.map((e) => this.#walk(e, { ...at, key: '' })),
        managerKey,
      )
    }
    const values = list.map((x) => this.#walk(x, at.key === 'causes' ? { ...at, key: '' } : at))
    return at.key === 'causes' ? sortedBy(values, causeKey) : values
  }

  /** Versions become ranks: their order and equality stay. */
  ranked<T>(recording: T): T {
    const sorted = [...this.#versions].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
    const text = JSON.stringify(recording, (_, v: unknown) =>
      typeof v === 'string' && /^rv:\d+$/.test(v) ? `rv#${sorted.indexOf(v.slice(VERSION_MARK.length)) + 1}` : v,
    )
    return JSON.parse(text) as T
  }
}

export interface Place {
  readonly key: string
  readonly within: Fields | undefined
  readonly definition: boolean
  readonly managedFields: boolean
}

function sortedBy(list: readonly Json[], key: (v: Json) => string): readonly Json[] {
  return list.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

const at = (v: Json, key: string): Json => (isMap(v) ? v[key] : undefined)
const managerKey = (e: Json): string =>
  [at(e, 'operation'), at(e, 'manager'), at(e, 'apiVersion'), at(e, 'subresource') ?? ''].join('|')
const causeKey = (c: Json): string => JSON.stringify([at(c, 'field'), at(c, 'reason'), at(c, 'message')])

/** Several problems have no fixed order; a message that is exactly their list is sorted. */
function withSortedMessage(v: Fields): Fields {
  const { message } = v
  const causes = at(v['details'], 'causes')
  if (v['kind'] !== 'Status' || typeof message !== 'string' || !Array.isArray(causes) || causes.length < 2) return v
  const lines = causes.map((c) => `${String(at(c, 'field'))}: ${String(at(c, 'message'))}`)
  const start = message.indexOf(' is invalid: [')
  if (start <= 0 || !lines.every((l) => message.includes(l))) return v
  return { ...v, message: `${message.slice(0, start + ' is invalid: ['.length)}${lines.sort().join(', ')}]` }
}

/** Ages in tables are those of the run. */
export function withoutAges(body: Json): Json {
  if (!isMap(body) || body['kind'] !== 'Table') return body
  const columns = Array.isArray(body['columnDefinitions']) ? body['columnDefinitions'] : []
  const isAge = columns.map(
    (c) => at(c, 'name') === 'Age' || at(c, 'name') === 'Created At' || at(c, 'type') === 'date',
  )
  const rows = Array.isArray(body['rows']) ? body['rows'].filter(isMap) : []
  return {
    ...body,
    rows: rows.map((r) => ({
      ...r,
      cells: cellsOf(r).map((c, i) =>
        typeof c === 'string' && c !== '<unknown>' && (isAge[i] === true || AGE.test(c)) ? '<age>' : c,
      ),
    })),
  }
}

const cellsOf = (row: Fields): readonly Json[] => (Array.isArray(row['cells']) ? row['cells'] : [])

/** `spec.containers[0].image` */
export function valueAt(body: Json, path: string): Json {
  let v = body
  for (const key of path.split(/\.|\[(?=\d)/))
    v = isMap(v) || Array.isArray(v) ? (v as Record<string, Json>)[key.replace(/\]$/, '')] : undefined
  return v
}
