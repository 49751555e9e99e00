// The revisions of a set as a person sees them: by number, with what changed, what failed, and the commit that declared them. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import { cliErrors } from '../cli-errors.ts'

export const revisionType: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  namespaced: true,
}

export interface Component {
  readonly name: string
  readonly version: string
  readonly values?: unknown
}

export interface Revision {
  readonly name: string
  readonly number: number
  readonly components: readonly Component[]
  readonly commit: string | undefined
  /** What failed of it, while it binds. */
  readonly failed: readonly string[]
}

/** The newest first. */
export function revisionsOf(set: MachineComponentSet, objects: readonly KubeObject[]): readonly Revision[] {
  return objects
    .filter((o) => o.metadata.ownerReferences?.some((r) => r.uid === set.metadata.uid))
    .map((o) => ({
      name: o.metadata.name ?? '',
      number: typeof o['revision'] === 'number' ? o['revision'] : 0,
      components: componentsIn(o['data']),
      commit: o.metadata.annotations?.[ANNOTATIONS.commit],
      failed: failuresIn(o.metadata.annotations?.[ANNOTATIONS.blocked]),
    }))
    .toSorted((a, b) => b.number - a.number)
}

function componentsIn(data: unknown): readonly Component[] {
  const list = isObject(data) ? data['components'] : undefined
  return Array.isArray(list) ? (list.filter(isObject) as unknown as readonly Component[]) : []
}

function failuresIn(text: string | undefined): readonly string[] {
  try {
    const entries: unknown = JSON.parse(text ?? '[]')
    if (!Array.isArray(entries)) return []
    return entries
      .filter((e) => isObject(e) && e['liftedAt'] === undefined)
      .map((e: Record<string, unknown>) => `${String(e['component'])}: ${String(e['reason'])}`)
  } catch {
    // Written by somebody else: it says nothing.
    return []
  }
}

/** By number, by name, or the one before what machines go to now. */
export function revisionCalled(
  set: MachineComponentSet,
  revisions: readonly Revision[],
  to: string | undefined,
): Revision {
  const { update } = set.status?.revisions ?? {}
  const now = revisions.find((r) => r.name === update)
  const found =
    to === undefined
      ? revisions.find((r) => r.failed.length === 0 && r.number < (now?.number ?? Infinity))
      : revisions.find((r) => String(r.number) === to || r.name === to)
  if (found !== undefined) return found
  const known = revisions.map((r) => r.number).join(', ')
  const revision = to === undefined ? 'a revision before the current one' : `revision ${JSON.stringify(to)}`
  throw new KubeNodeError(cliErrors.KN1372({ revision, name: String(set.metadata.name), known: known || 'none' }))
}

/** One line a component that differs. */
export function changesBetween(from: readonly Component[], to: readonly Component[]): readonly string[] {
  const names = [...new Set([...from, ...to].map((c) => c.name))].toSorted()
  return names.flatMap((name) => {
    const [a, b] = [from.find((c) => c.name === name), to.find((c) => c.name === name)]
    if (jsonEqual(a, b)) return []
    if (b === undefined) return [`${name} ${a?.version} → not declared`]
    if (a === undefined) return [`${name} → ${b.version}`]
    return [a.version === b.version ? `${name} ${a.version}, other values` : `${name} ${a.version} → ${b.version}`]
  })
}
