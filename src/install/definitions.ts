// Decides what to do with a cluster's definitions when another release brings its own: replace, rewrite stored objects first, or refuse. Pure.
import { API_GROUP } from '#api/kind.ts'
import { isObject } from '#lib/json.ts'
import { listOf, textOf } from '#lib/fields.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { isLabelledOurs } from './release.ts'

interface Facts {
  readonly group: string
  readonly kind: string
  readonly plural: string
  readonly scope: string
  readonly versions: readonly string[]
  /** The version in which new objects are stored. */
  readonly storage: string | undefined
  /** Versions in which objects may still be stored. */
  readonly stored: readonly string[]
}

export function factsOf(definition: KubeObject): Facts {
  const spec = isObject(definition['spec']) ? definition['spec'] : {}
  const names = isObject(spec['names']) ? spec['names'] : {}
  const status = isObject(definition['status']) ? definition['status'] : {}
  const versions = listOf(spec['versions']).filter(isObject)
  const storage = versions.find((v) => v['storage'] === true)
  return {
    group: textOf(spec['group']),
    kind: textOf(names['kind']),
    plural: textOf(names['plural']),
    scope: textOf(spec['scope']),
    versions: versions.map((v) => textOf(v['name'])),
    storage: storage === undefined ? undefined : textOf(storage['name']),
    stored: listOf(status['storedVersions']).map(textOf),
  }
}

/** The kind in its storage version. */
export function storedType(definition: KubeObject): ResourceType | undefined {
  const { group, kind, plural, scope, storage, versions } = factsOf(definition)
  const version = storage ?? versions[0]
  return version === undefined ? undefined : { group, version, kind, plural, namespaced: scope === 'Namespaced' }
}

export type DefinitionProblem =
  | { readonly kind: 'Foreign'; readonly name: string; readonly why: string }
  | { readonly kind: 'Vanishes'; readonly name: string; readonly stored: string }

/** Rewrites this definition's objects in its storage version, then drops the other versions from the list. */
export interface Rewrite {
  readonly definition: KubeObject
  readonly to: string
}

export interface DefinitionPlan {
  readonly problems: readonly DefinitionProblem[]
  readonly rewrites: readonly Rewrite[]
}

export const ofOurGroup = (definitions: readonly KubeObject[]): readonly KubeObject[] =>
  definitions.filter((d) => factsOf(d).group === API_GROUP)

export function planDefinitions(found: readonly KubeObject[], wanted: readonly KubeObject[]): DefinitionPlan {
  const byName = new Map(wanted.map((d) => [d.metadata.name ?? '', factsOf(d)]))
  const problems: DefinitionProblem[] = []
  const rewrites: Rewrite[] = []
  for (const definition of ofOurGroup(found)) {
    const name = definition.metadata.name ?? ''
    const next = byName.get(name)
    const now = factsOf(definition)
    const why = foreignBecause(definition, now, next)
    if (why !== undefined) {
      problems.push({ kind: 'Foreign', name, why })
      continue
    }
    const lost = next === undefined ? [] : now.stored.filter((v) => !next.versions.includes(v))
    if (next === undefined || lost.length === 0) continue
    if (now.storage !== undefined && next.versions.includes(now.storage)) rewrites.push({ definition, to: now.storage })
    else problems.push({ kind: 'Vanishes', name, stored: lost.join(' and ') })
  }
  return { problems, rewrites }
}

/** Without definitions of other projects in this API group: their objects must not be deleted. */
export function ownDefinitions(found: readonly KubeObject[], shipped: readonly KubeObject[]): readonly KubeObject[] {
  const byName = new Map(shipped.map((d) => [d.metadata.name, factsOf(d)]))
  return found.filter(
    (d) => isLabelledOurs(d) || foreignBecause(d, factsOf(d), byName.get(d.metadata.name)) === undefined,
  )
}

/** Definitions of other KubeNode releases carry this label. */
function foreignBecause(definition: KubeObject, now: Facts, next: Facts | undefined): string | undefined {
  if (next === undefined) return isLabelledOurs(definition) ? undefined : `it is in our group ${API_GROUP}`
  const differs = (['kind', 'scope'] as const).find((k) => now[k] !== next[k])
  return differs === undefined ? undefined : `its ${differs} is ${now[differs]}, ours is ${next[differs]}`
}
