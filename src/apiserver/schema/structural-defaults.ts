// A default must itself be what the server would store: valid under its schema, and with nothing that would be pruned.
import type { Effort } from '#lib/effort.ts'
import { childPath, invalid, keyPath, type FieldError } from './field-error.ts'
import { dropUnknown } from '#api/schema/prune.ts'
import type { Schema } from '#api/schema/schema.ts'
import { flag, isSet, nested, own, properties, X_EMBEDDED, type Raw } from './structural-raw.ts'
import { validateDefault } from './validate.ts'

const META_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

export function defaultProblems(schema: Raw, path: string, effort: Effort): readonly FieldError[] {
  const out: FieldError[] = []
  checkDefaults({ ...schema, [X_EMBEDDED]: true }, path, false, { out, effort })
  return out
}

interface Found {
  readonly out: FieldError[]
  readonly effort: Effort
}

/** `insideMeta`: the fields of apiVersion, kind and metadata are the server's, whatever the schema lists. */
function checkDefaults(s: Raw, path: string, insideMeta: boolean, found: Found): void {
  const embedded = flag(s, X_EMBEDDED)
  const inside = insideMeta && !embedded
  if (isSet(s, 'default')) checkDefault(s, childPath(path, 'default'), inside, found)
  const items = nested(s, 'items')
  if (items) checkDefaults(items, childPath(path, 'items'), inside, found)
  for (const [name, sub] of properties(s))
    checkDefaults(
      sub,
      keyPath(childPath(path, 'properties'), name),
      inside || (embedded && META_FIELDS.has(name)),
      found,
    )
}

function checkDefault(s: Raw, path: string, insideMeta: boolean, found: Found): void {
  // Read as data only: every reader of a Schema bears keywords of the wrong shape.
  const schema: Schema = s
  const value = own(s, 'default')
  if (!insideMeta && dropUnknown(schema, value, { embeddedRoot: flag(s, X_EMBEDDED) }).value !== value)
    found.out.push(invalid(path, value, 'must not have unknown fields'))
  found.out.push(...validateDefault(schema, value, path, found.effort))
}
