// Server-side apply as an outcome: applied, or the owners of the conflicting fields.
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { ApplyOptions, KubeClient } from './client.ts'
import type { ApiError } from './errors.ts'
import { outcomeOf, type WriteOutcome } from './outcome.ts'
import { someOf } from '#lib/some-of.ts'

export interface FieldConflict {
  readonly manager: string
  readonly subresource: string | undefined
  /** As shown to users: `.spec.replicas`. */
  readonly fields: readonly string[]
}

export type ApplyOutcome<T> =
  | Exclude<WriteOutcome<T>, { kind: 'Conflict' }>
  | { readonly kind: 'Conflict'; readonly conflicts: readonly FieldConflict[]; readonly error: ApiError }

export async function applyObject<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  object: KubeObject,
  options: ApplyOptions,
): Promise<ApplyOutcome<T>> {
  const outcome = await outcomeOf(() => client.apply<T>(type, object, options))
  return outcome.kind === 'Conflict' ? { ...outcome, conflicts: conflictsOf(outcome.error) } : outcome
}

const OWNER = /^conflict with "((?:[^"\\]|\\.)*)"(?: with subresource "([^"]*)")?/

/** Per manager, from the causes of a 409; empty if the conflict is about the object's version, not about fields. */
function conflictsOf(error: ApiError): readonly FieldConflict[] {
  const found = new Map<string, { manager: string; subresource: string | undefined; fields: string[] }>()
  for (const { reason, message = '', field } of error.causes) {
    if (reason !== 'FieldManagerConflict' || field === undefined) continue
    const [, manager = 'unknown', subresource] = OWNER.exec(message) ?? []
    const key = `${manager}/${subresource ?? ''}`
    const known = found.get(key)
    if (known === undefined) found.set(key, { manager, subresource, fields: [field] })
    else known.fields.push(field)
  }
  return [...found.values()]
}

/** Fields named in a message; the rest are counted. */
const MAX_NAMED = 5

/** One line for a condition or a log: `.spec.replicas belongs to kubectl; .spec.a and 3 more to kubenode-sync`. */
export function describeConflicts(conflicts: readonly FieldConflict[]): string {
  return conflicts
    .map(({ manager, fields }) => {
      return `${someOf(fields, MAX_NAMED)} ${fields.length === 1 ? 'belongs' : 'belong'} to ${manager}`
    })
    .join('; ')
}
