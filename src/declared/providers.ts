// Refuses providers that no controller serves, because a set with such a provider never gets machines. Pure. The fleet may list the providers that its
// controllers serve. Otherwise an unknown name is only doubtful, because controllers may have a remote provider with that name.
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import { OWN_PROVIDERS } from '#api/own-providers.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, certain, doubtful } from './problem.ts'

/** The file in which a fleet lists the providers that its controllers serve, in the format of `--providers`; options are ignored. */
const PROVIDERS_FILE = 'fleet/providers.json'

/** Undefined: the fleet has no such list, or it cannot be read. */
export function providersIn(files: Readonly<Record<string, string>>): ReadonlySet<string> | undefined {
  const text = files[PROVIDERS_FILE]
  return text === undefined ? undefined : servedBy(text)
}

function servedBy(text: string): ReadonlySet<string> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const list = isObject(value) ? value['providers'] : undefined
    return Array.isArray(list) ? new Set(list.flatMap(servedName)) : undefined
  } catch {
    return undefined
  }
}

/** A remote provider's name comes from its options. */
function servedName(entry: unknown): readonly string[] {
  if (!isObject(entry)) return []
  const { name, options } = entry
  const own = name === 'remote' && isObject(options) ? options['name'] : name
  return typeof own === 'string' ? [own] : []
}

export interface NamedProvider {
  readonly object: KubeObject
  readonly pointer: string
  readonly name: string | undefined
}

export function providerProblems(
  objects: readonly KubeObject[],
  served: ReadonlySet<string> | undefined,
): readonly DeclaredProblem[] {
  return objects.flatMap(providersNamedBy).flatMap((named) => problemOf(named, served) ?? [])
}

/** The providers that an object uses: a set for its machines, a Machine for itself. */
export function providersNamedBy(object: KubeObject): readonly NamedProvider[] {
  if (object.kind === 'MachineSet') {
    const { provider } = (object as MachineSet).spec.template.spec
    return [{ object, pointer: '/spec/template/spec/provider/name', name: provider?.name }]
  }
  if (object.kind !== 'Machine') return []
  return [{ object, pointer: '/spec/provider/name', name: (object as Machine).spec.provider?.name }]
}

function problemOf({ object, pointer, name }: NamedProvider, served: ReadonlySet<string> | undefined) {
  const known = [...(served ?? OWN_PROVIDERS)]
  if (name === undefined || known.includes(name)) return undefined
  const near = didYouMean(name, known)
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`
  const at = { object, pointer, words: [name] }
  if (served === undefined) return doubtful(at, declaredErrors.KN3076({ name, hint, file: PROVIDERS_FILE }))
  const names = known.length === 0 ? 'none' : known.toSorted().join(', ')
  return certain(at, declaredErrors.KN3075({ name, hint, names, file: PROVIDERS_FILE }))
}
