// Conflicts of an apply with other owners, and the texts in which the API reports them.
import type { StatusCause } from '#api/schema/object.ts'
import { type FieldSet, eachPath } from './field-set.ts'
import type { OwnedFields, Owner } from './managed-fields.ts'
import { elementText } from './path-element.ts'

export interface Conflict extends Owner {
  readonly time?: string
  readonly path: readonly string[]
  /** As shown to users: `.spec.containers[name="a"].image`. */
  readonly field: string
}

/** One conflict a field, in the server's order. */
export function conflictsOf(
  { manager, operation, apiVersion, subresource, time }: OwnedFields,
  fields: FieldSet,
): Conflict[] {
  const found: Conflict[] = []
  eachPath(fields, (path) => {
    const field = path.map(elementText).join('')
    found.push({
      manager,
      operation,
      apiVersion,
      subresource,
      ...(time === undefined ? {} : { time }),
      path: [...path],
      field,
    })
  })
  return found
}

/** Updaters are named with their version, since they may have several entries. */
function ownerText({ manager, operation, apiVersion, subresource }: Owner): string {
  const part = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`
  const version = operation === 'Update' ? ` using ${apiVersion}` : ''
  return `${JSON.stringify(manager)}${part}${version}`
}

/** The message of the 409. */
export function conflictMessage(conflicts: readonly Conflict[]): string {
  const [only] = conflicts
  if (only !== undefined && conflicts.length === 1)
    return `Apply failed with 1 conflict: conflict with ${ownerText(only)}: ${only.field}`
  const lines = Map.groupBy(conflicts, ownerText)
  const text = [...lines].flatMap(([owner, own]) => [`conflicts with ${owner}:`, ...own.map((c) => `- ${c.field}`)])
  return `Apply failed with ${conflicts.length} conflicts: ${text.join('\n')}`
}

/** `details.causes` of the 409. */
export const conflictCauses = (conflicts: readonly Conflict[]): readonly StatusCause[] =>
  conflicts.map((c) => ({ reason: 'FieldManagerConflict', message: `conflict with ${ownerText(c)}`, field: c.field }))
