// What surveys found out about machines, kept from one plan to the next while nothing that it rests on has changed: of thousands of machines, few change between
// two plans. It saves work only: without it every machine is assessed again.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { type MixOf, type SpecOf, mixesOf } from '#nodes/placement/compatibility.ts'
import { jsonEqual } from '#lib/json.ts'

/** A finding that rests on the reading and its basis alone: not on time, other sets, holds, refusals or running slices. */
export interface Settled {
  readonly basis: Basis
  readonly isHere: boolean
  readonly isFailed: false
  readonly isCounted: false
  readonly isStuck: false
  readonly mark: number
  readonly verdict: 'Sound' | 'Broken' | 'Never' | undefined
  readonly isOfRollout: boolean
  readonly isGoingBack: boolean
}

type Finding = Pick<Settled, 'isHere' | 'mark' | 'verdict' | 'isOfRollout' | 'isGoingBack'>

/** What all findings about one component rest on. Another basis is another object. */
export class Basis {
  /** Equal findings are one object: there are a handful, and machines times components that have them. */
  readonly #known: Settled[] = []

  settled({ isHere, mark, isOfRollout, isGoingBack }: Omit<Finding, 'verdict'>, verdict: Finding['verdict']): Settled {
    const known = this.#known.find(
      (one) =>
        one.mark === mark &&
        one.verdict === verdict &&
        one.isHere === isHere &&
        one.isOfRollout === isOfRollout &&
        one.isGoingBack === isGoingBack,
    )
    if (known !== undefined) return known
    const one: Settled = {
      basis: this,
      isHere,
      isFailed: false,
      isCounted: false,
      isStuck: false,
      mark,
      verdict,
      isOfRollout,
      isGoingBack,
    }
    this.#known.push(one)
    return one
  }
}

/** Versions that come and go: a set has a few of each component. */
const MOST_SPECS = 1_000

/** The bases of one set. */
export class Bases {
  #rules: object | undefined
  #definitions: SpecOf = () => undefined
  readonly #specs = new Map<string, { readonly name: string; readonly version: string; readonly spec: Spec }>()
  readonly #known = new Map<string, { readonly about: unknown; readonly basis: Basis }>()
  #mixOf: MixOf | undefined

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
    const basis = new Basis()
    this.#known.set(component, { about, basis })
    return basis
  }
}

type Spec = MachineComponentSpec | undefined
