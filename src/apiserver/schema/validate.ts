// Validates a value against a structural schema, with the fields, causes and words of a kube-apiserver. CEL rules are not checked here.
import { Effort, EffortSpent } from '#lib/effort.ts'
import { childPath, fieldOf, type FieldError } from './field-error.ts'
import type { Schema } from '#api/schema/schema.ts'
import { checkEmbedded } from './validate-embedded.ts'
import { checkLists, nodesLeadingTo, nodesWithLists } from './validate-lists.ts'
import { prepareSchema, type SchemaNode } from './validate-node.ts'
import type { Problem } from './validate-scalar.ts'
import { walk } from './validate-walk.ts'
import { tooExpensive, VALIDATION_EFFORT } from './validation-effort.ts'

export interface ValidateOptions {
  /** Where the value stands; the root when absent. */
  readonly path?: string
  /** The stored value on update: an unchanged part may stay invalid. */
  readonly old?: unknown
  /** What is left for the object; its own when left out. */
  readonly effort?: Effort
}

/** A schema made ready once and used for many values. */
export interface Validator {
  validate(value: unknown, options?: ValidateOptions): readonly FieldError[]
}

export function createValidator(schema: Schema): Validator {
  const node = prepareSchema(schema)
  const lists = nodesWithLists(node)
  const embedded = nodesLeadingTo(node, (n) => n.embedded)
  return {
    validate(value, { path = '', old, effort = new Effort(VALIDATION_EFFORT) } = {}) {
      const errors = affordableErrors(node, value, path, effort, old)
      checkEmbedded(node, value, path, embedded, errors)
      if (old === undefined || !hasListErrors(node, old, lists)) checkLists(node, value, path, lists, errors)
      return errors
    },
  }
}

/** Duplicates pass an update when the stored value had any: a list is mended as a whole or not at all. */
function hasListErrors(node: SchemaNode, old: unknown, lists: ReadonlySet<SchemaNode>): boolean {
  const errors: FieldError[] = []
  checkLists(node, old, '', lists, errors)
  return errors.length > 0
}

function affordableErrors(node: SchemaNode, value: unknown, base: string, effort: Effort, old: unknown): FieldError[] {
  try {
    return valueErrors(node, value, base, effort, old)
  } catch (e) {
    if (e instanceof EffortSpent) return [tooExpensive(base)]
    throw e
  }
}

function valueErrors(node: SchemaNode, value: unknown, base: string, effort: Effort, old?: unknown): FieldError[] {
  const problems: Problem[] = []
  walk(node, value, '', { problems, effort }, old === undefined ? undefined : { old, value, node })
  return problems.length === 0 ? [] : toErrors(problems, base)
}

/** Equal texts are reported once, as the server does. */
function toErrors(problems: readonly Problem[], base: string): FieldError[] {
  const byText = new Map<string, Problem>()
  for (const p of problems) if (!byText.has(p.text)) byText.set(p.text, p)
  return [...byText.values()].map((p) => p.toError(fieldName(base, p.path)))
}

function fieldName(base: string, path: string | undefined): string {
  const relative = path?.startsWith('.') ? path.slice(1) : (path ?? '')
  return relative === '' ? fieldOf(base) : childPath(base, relative)
}

/** For a single validation; code that validates often should keep a validator. */
export function validate(schema: Schema, value: unknown, options?: ValidateOptions): readonly FieldError[] {
  return createValidator(schema).validate(value, options)
}

/** Throws EffortSpent. A default inside a CRD: an int-or-string is whatever its anyOf permits, and missing fields of an embedded object are reported first. */
export function validateDefault(schema: Schema, value: unknown, path: string, effort: Effort): readonly FieldError[] {
  const node = prepareSchema(schema, 'open')
  const errors: FieldError[] = []
  checkEmbedded(
    node,
    value,
    path,
    nodesLeadingTo(node, (n) => n.embedded),
    errors,
  )
  return errors.length > 0 ? errors : valueErrors(node, value, path, effort)
}

/** Validators by schema object, made on first use; one cache per owner of schemas. */
export interface Validators {
  for(schema: Schema): Validator
}

export function createValidators(): Validators {
  const made = new WeakMap<Schema, Validator>()
  return {
    for(schema) {
      const known = made.get(schema)
      if (known) return known
      const validator = createValidator(schema)
      made.set(schema, validator)
      return validator
    },
  }
}
