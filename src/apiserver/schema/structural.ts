// Validates the schema of a CRD, with the fields and words of a kube-apiserver. CEL expressions are not checked here.
import { Effort, EffortSpent } from '#lib/effort.ts'
import { isDeeperThan, isObject } from '#lib/json.ts'
import { childPath, fieldOf, forbidden, invalid, required, type FieldError } from './field-error.ts'
import { defaultProblems } from './structural-defaults.ts'
import { formProblems } from './structural-form.ts'
import { flag, isSet, nested, nestedList, own, properties, text, X_PRESERVE, type Raw } from './structural-raw.ts'
import { ruleProblems } from './structural-rules.ts'
import { tooExpensiveSchema, VALIDATION_EFFORT } from './validation-effort.ts'

export interface StructuralOptions {
  /** The version has a status subresource: its schema is cut out of the root, so the root may say little else. */
  readonly statusSubresource?: boolean
  /** What is left for the definition; its own when left out. */
  readonly effort?: Effort
}

/** Levels of a schema; a hundred is more than any kind has, and the checks recurse. */
const DEEPEST_SCHEMA = 200

/**
 * `path` is where the schema stands: `spec.validation.openAPIV3Schema` when it is the only or the same schema of all
 * versions, `spec.versions[i].schema.openAPIV3Schema` otherwise.
 */
export function structuralProblems(
  schema: unknown,
  path: string,
  { statusSubresource = false, effort = new Effort(VALIDATION_EFFORT) }: StructuralOptions = {},
): readonly FieldError[] {
  if (!isObject(schema)) return [required(fieldOf(path))]
  if (isDeeperThan(schema, DEEPEST_SCHEMA))
    return [forbidden(fieldOf(path), `must not nest deeper than ${DEEPEST_SCHEMA} levels`)]
  const out: FieldError[] = []
  if (statusSubresource) out.push(...rootProblems(schema, path))
  if (flag(schema, 'nullable')) out.push(forbidden(childPath(path, 'nullable'), 'nullable cannot be true at the root'))
  const unreadable = unreadableReason(schema)
  if (unreadable === undefined) out.push(...firstProblems(schema, path, effort))
  out.push(...ruleProblems(schema, path))
  if (out.length === 0 && unreadable !== undefined) out.push(invalid(fieldOf(path), '', unreadable))
  return out
}

/** Defaults are checked only under a schema of the right form. */
function firstProblems(schema: Raw, path: string, effort: Effort): readonly FieldError[] {
  try {
    const form = formProblems(schema, path, effort)
    return form.length > 0 ? form : defaultProblems(schema, path, effort)
  } catch (e) {
    if (e instanceof EffortSpent) return [tooExpensiveSchema(path)]
    throw e
  }
}

/** With Go's names, in which the server lists them. */
const ROOT_KEYWORDS: ReadonlyMap<string, string> = new Map([
  ['description', 'Description'],
  ['type', 'Type'],
  ['format', 'Format'],
  ['title', 'Title'],
  ['maximum', 'Maximum'],
  ['exclusiveMaximum', 'ExclusiveMaximum'],
  ['minimum', 'Minimum'],
  ['exclusiveMinimum', 'ExclusiveMinimum'],
  ['maxLength', 'MaxLength'],
  ['minLength', 'MinLength'],
  ['pattern', 'Pattern'],
  ['maxItems', 'MaxItems'],
  ['minItems', 'MinItems'],
  ['uniqueItems', 'UniqueItems'],
  ['multipleOf', 'MultipleOf'],
  ['required', 'Required'],
  ['items', 'Items'],
  ['properties', 'Properties'],
  ['externalDocs', 'ExternalDocs'],
  ['example', 'Example'],
  [X_PRESERVE, 'XPreserveUnknownFields'],
  ['x-kubernetes-validations', 'XValidations'],
])

/** Only the first is reported, and the type comes before most. */
function rootProblems(schema: Raw, path: string): readonly FieldError[] {
  const type = text(schema, 'type')
  if (type !== '' && type !== 'object')
    return [
      invalid(
        childPath(path, 'type'),
        type,
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      ),
    ]
  const stray = Object.keys(schema).find((k) => !ROOT_KEYWORDS.has(k) && isSet(schema, k) && own(schema, k) !== false)
  if (stray === undefined) return []
  const allowed = [...ROOT_KEYWORDS.values()].join(' ')
  const detail = `only [${allowed}] fields are allowed at the root of the schema if the status subresource is enabled`
  return [invalid(fieldOf(path), schema, detail)]
}

/** Keywords that make the schema unreadable for the server; reported only without other problems. */
function unreadableReason(s: Raw): string | undefined {
  for (const key of ['id', 'schema', '$ref', 'patternProperties', 'dependencies', 'additionalItems', 'definitions'])
    if (isSet(s, key === 'schema' ? '$schema' : key)) return `OpenAPIV3Schema '${key}' is not supported`
  if (nestedList(s, 'items').length > 0) return "OpenAPIV3Schema 'items' must be a schema, but is an array"
  if (own(s, X_PRESERVE) === false) return `internal error: '${X_PRESERVE}' must be true or undefined`
  for (const sub of subschemas(s)) {
    const reason = unreadableReason(sub)
    if (reason !== undefined) return reason
  }
  return undefined
}

const subschemas = (s: Raw): readonly Raw[] => [
  ...['not', 'items', 'additionalProperties'].map((key) => nested(s, key)).filter((sub) => sub !== undefined),
  ...['allOf', 'anyOf', 'oneOf'].flatMap((key) => nestedList(s, key)),
  ...properties(s).map(([, sub]) => sub),
]
