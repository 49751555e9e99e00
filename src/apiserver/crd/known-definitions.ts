// Which new definitions of kinds have no problem, by their content. An installation brings the same twenty to every server of a process, and to check one takes
// milliseconds.
import { hash } from 'node:crypto'
import type { KubeObject } from '#api/schema/object.ts'
import type { Served } from '../registry/served.ts'
import { fields } from './definition.ts'

/** Several times what an installation has; the one that was added first is dropped. */
const MAX_KEPT = 512
const DEFINITIONS = 'apiextensions.k8s.io/customresourcedefinitions'

export class KnownDefinitions {
  readonly #sound = new Set<string>()

  /** One that replaces another is judged against it each time. */
  checkedOnce(served: Served): Served {
    if (served.resource !== DEFINITIONS) return served
    const { behaviour } = served
    return {
      ...served,
      behaviour: {
        ...behaviour,
        validate: (o, old, context) => {
          if (old !== undefined) return behaviour.validate(o, old, context)
          const key = keyOf(o)
          if (this.#sound.has(key)) return []
          const problems = behaviour.validate(o, old, context)
          if (problems.length === 0) this.#remember(key)
          return problems
        },
      },
    }
  }

  #remember(key: string): void {
    this.#sound.add(key)
    if (this.#sound.size > MAX_KEPT) this.#sound.delete(this.#sound.values().next().value ?? '')
  }
}

/** All that the check of a new definition reads. */
const keyOf = (o: KubeObject): string =>
  hash(
    'sha256',
    JSON.stringify([o.metadata.name, o.metadata.annotations ?? {}, o['spec'], fields(o['status'])['storedVersions']]),
  )
