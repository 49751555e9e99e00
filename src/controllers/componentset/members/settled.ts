// What surveys found out about machines, kept from one plan to the next while nothing that it rests on has changed: of thousands of machines, few change between
// two plans. It saves work only: without it every machine is assessed again.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { type MixOf, type SpecOf, mixesOf } from '#nodes/placement/compatibility.ts'
import { jsonEqual } from '#lib/json.ts'
import type { Reading } from './reading.ts'

/** Rests on the reading and its basis alone: not on time, other sets, holds, refusals or running slices. */
export interface Finding {
  readonly isHere: boolean
  readonly mark: number
  /** Bits: see the survey. */
  readonly lists: number
  /** There is nothing to do. */
  readonly isIdle: boolean
  /** Skipped for this reason. */
  readonly skipped: string | undefined
}

/** What all findings about one component rest on. Another basis is another object. */
export class Basis {
  /** Equal findings are one. There are far fewer than a code can tell apart. */
  readonly #known: Finding[] = []
  /** One number a member: which finding, plus one. Small, and in a row, because each plan reads all of them. */
  #codes: Uint8Array

  constructor(members: number) {
    this.#codes = new Uint8Array(members)
  }

  findingAt(at: number): Finding | undefined {
    const code = this.#codes[at]
    return code === undefined || code === 0 ? undefined : this.#known[code - 1]
  }

  keep(at: number, finding: Finding): void {
    const found = this.#known.findIndex((one) => isSame(one, finding))
    this.#codes[at] = 1 + (found === -1 ? this.#known.push(finding) - 1 : found)
  }

  forget(at: number): void {
    this.#codes[at] = 0
  }

  /** `places`: where each member of the new list was; -1: nowhere. */
  move(places: Int32Array): void {
    const before = this.#codes
    this.#codes = Uint8Array.from(places, (at) => before[at] ?? 0)
  }
}

const isSame = (a: Finding, b: Finding): boolean =>
  a.mark === b.mark && a.lists === b.lists && a.isHere === b.isHere && a.isIdle === b.isIdle && a.skipped === b.skipped

/** Versions that come and go: a set has a few of each component. */
const MOST_SPECS = 1_000

/** The bases of one set. */
export class Bases {
  #rules: object | undefined
  #definitions: SpecOf = () => undefined
  readonly #specs = new Map<string, { readonly name: string; readonly version: string; readonly spec: Spec }>()
  readonly #known = new Map<string, { readonly about: unknown; readonly basis: Basis }>()
  #mixOf: MixOf | undefined
  #members: readonly Reading[] = []

  /** Once a plan: forgets what was found out about members that changed. */
  follow(members: readonly Reading[]): void {
    const before = this.#members
    this.#members = members
    if (members.length !== before.length) return this.#moveAll(members, before)
    const changed: number[] = []
    for (let at = 0; at < members.length; at++) {
      if (members[at] === before[at]) continue
      if (members[at]?.name !== before[at]?.name) return this.#moveAll(members, before)
      changed.push(at)
    }
    for (const { basis } of this.#known.values()) for (const at of changed) basis.forget(at)
  }

  /** A machine came or went. */
  #moveAll(members: readonly Reading[], before: readonly Reading[]): void {
    const places = new Map(before.map((reading, at) => [reading, at]))
    const moved = Int32Array.from(members, (reading) => places.get(reading) ?? -1)
    for (const { basis } of this.#known.values()) basis.move(moved)
  }

  /** At the start of a plan: forgets everything if one of the definitions that were read is another object now. */
  begin(rules: object, definitions: SpecOf): void {
    const isSame = this.#rules === rules && this.#specs.size < MOST_SPECS
    if (!isSame || this.#specs.values().some(({ name, version, spec }) => definitions(name, version) !== spec)) {
      this.#known.clear()
      this.#specs.clear()
      this.#mixOf = undefined
    }
    this.#rules = rules
    this.#definitions = definitions
  }

  /** Reads each definition once a plan. */
  readonly specOf: SpecOf = (name, version) => {
    if (version === undefined) return this.#definitions(name, version)
    const key = `${name}\n${version}`
    const known = this.#specs.get(key)
    if (known !== undefined) return known.spec
    const spec = this.#definitions(name, version)
    this.#specs.set(key, { name, version, spec })
    return spec
  }

  get mixOf(): MixOf {
    return (this.#mixOf ??= mixesOf(this.specOf))
  }

  /** `about`: all that a plan reads about the component beside the machine itself. The same basis as in the plan before if that is equal. */
  of(component: string, about: readonly unknown[]): Basis {
    const before = this.#known.get(component)
    if (before !== undefined && jsonEqual(before.about, about)) return before.basis
    const basis = new Basis(this.#members.length)
    this.#known.set(component, { about, basis })
    return basis
  }
}

type Spec = MachineComponentSpec | undefined
