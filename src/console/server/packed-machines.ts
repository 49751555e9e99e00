// A cluster's machines as columns of numbers, sorted by name: under 100 bytes each. Places and states are stored once for all machines that share them. What
// fits no column (a Node with another name, failing components) is stored separately for the few that have it.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Objects } from '#kube/store.ts'
import {
  type MachineFailure,
  type MachinePlace,
  type MachineRow,
  type MachineState,
  NO_FAILURES,
} from './machine-row.ts'
import { SharedValues } from './shared-values.ts'

/** A machine's data outside the columns. */
interface Beside {
  readonly node?: string
  readonly failures?: readonly MachineFailure[]
  readonly uid?: string
  readonly resourceVersion?: string
}

interface Columns {
  readonly place: Uint32Array
  readonly state: Uint32Array
  readonly since: Uint32Array
  readonly version: BigUint64Array
  readonly uidHigh: BigUint64Array
  readonly uidLow: BigUint64Array
}

const FIRST_ROOM = 64
/** Grows by a tenth: a copy is cheap, empty room for thousands of machines is not. */
const MORE_ROOM = 1.1

export class PackedMachines implements Objects<MachineRow> {
  readonly #names: string[] = []
  readonly #places = new SharedValues<MachinePlace>()
  readonly #states = new SharedValues<MachineState>()
  readonly #beside = new Map<string, Beside>()
  #columns = columnsOf(FIRST_ROOM)

  get size(): number {
    return this.#names.length
  }

  get(name: string): MachineRow | undefined {
    const at = this.#find(name)
    if (this.#names[at] !== name) return undefined
    const { version, uidHigh, uidLow } = this.#columns
    const { uid = uidText(uidHigh[at], uidLow[at]), resourceVersion = String(version[at]) } =
      this.#beside.get(name) ?? {}
    return { ...this.#row(at), metadata: { name, uid, resourceVersion } }
  }

  set(name: string, row: MachineRow): void {
    const { uid = '', resourceVersion = '' } = row.metadata
    const [packedUid, version] = [packUid(uid), packVersion(resourceVersion)]
    // Acquire the new values before releasing the old ones, so that unchanged values stay.
    const [place, state] = [this.#places.take(row.place), this.#states.take(row.state)]
    const at = this.#find(name)
    if (this.#names[at] === name) this.#release(at)
    else this.#insert(at, name)
    const columns = this.#columns
    columns.place[at] = place
    columns.state[at] = state
    columns.since[at] = row.since
    columns.version[at] = version ?? 0n
    columns.uidHigh[at] = packedUid?.high ?? 0n
    columns.uidLow[at] = packedUid?.low ?? 0n
    const beside: Beside = {
      ...(row.node !== '' && { node: row.node }),
      ...(row.failures.length > 0 && { failures: row.failures }),
      ...(packedUid === undefined && { uid }),
      ...(version === undefined && { resourceVersion }),
    }
    if (Object.keys(beside).length > 0) this.#beside.set(name, beside)
    else this.#beside.delete(name)
  }

  delete(name: string): void {
    const at = this.#find(name)
    if (this.#names[at] !== name) return
    this.#release(at)
    this.#names.splice(at, 1)
    for (const column of Object.values(this.#columns)) column.copyWithin(at, at + 1, this.size + 1)
    this.#beside.delete(name)
  }

  keys(): Iterable<string> {
    return [...this.#names]
  }

  /** Without uid and version, which views do not show. */
  values(): readonly MachineRow[] {
    return this.#names.map((_, at) => this.#row(at))
  }

  #row(at: number): MachineRow {
    const name = this.#names[at] ?? ''
    const { place, state, since } = this.#columns
    const { node = '', failures = NO_FAILURES } =
      this.#beside.size === 0 ? NOTHING_BESIDE : (this.#beside.get(name) ?? NOTHING_BESIDE)
    return {
      apiVersion: API_GROUP_VERSION,
      kind: 'Machine',
      metadata: { name },
      place: this.#places.at(place[at] ?? 0),
      state: this.#states.at(state[at] ?? 0),
      node,
      since: since[at] ?? 0,
      failures,
    }
  }

  /** Its index, or where to insert it. */
  #find(name: string): number {
    let [low, high] = [0, this.#names.length]
    // Lists are sorted, so the next one usually goes at the end.
    if (high > 0 && (this.#names[high - 1] ?? '') < name) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#names[middle] ?? '') < name) low = middle + 1
      else high = middle
    }
    return low
  }

  #insert(at: number, name: string): void {
    if (this.size >= this.#columns.place.length) this.#columns = grown(this.#columns)
    for (const column of Object.values(this.#columns)) column.copyWithin(at + 1, at, this.size)
    this.#names.splice(at, 0, name)
  }

  #release(at: number): void {
    const { place, state } = this.#columns
    this.#places.release(place[at] ?? 0)
    this.#states.release(state[at] ?? 0)
  }
}

const NOTHING_BESIDE: Beside = {}

const columnsOf = (room: number): Columns => ({
  place: new Uint32Array(room),
  state: new Uint32Array(room),
  since: new Uint32Array(room),
  version: new BigUint64Array(room),
  uidHigh: new BigUint64Array(room),
  uidLow: new BigUint64Array(room),
})

function grown(old: Columns): Columns {
  const more = columnsOf(Math.ceil(old.place.length * MORE_ROOM))
  for (const name of ['place', 'state', 'since'] as const) more[name].set(old[name])
  for (const name of ['version', 'uidHigh', 'uidLow'] as const) more[name].set(old[name])
  return more
}

const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

function packUid(uid: string): { readonly high: bigint; readonly low: bigint } | undefined {
  if (!UID.test(uid)) return undefined
  const digits = uid.replaceAll('-', '')
  return { high: BigInt(`0x${digits.slice(0, 16)}`), low: BigInt(`0x${digits.slice(16)}`) }
}

function uidText(high = 0n, low = 0n): string {
  const digits = high.toString(16).padStart(16, '0') + low.toString(16).padStart(16, '0')
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join(
    '-',
  )
}

const VERSION = /^(0|[1-9][0-9]{0,18})$/

const packVersion = (version: string): bigint | undefined => (VERSION.test(version) ? BigInt(version) : undefined)
