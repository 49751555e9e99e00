// Whether the defaults of a schema satisfy its own rules, each as it is written: defaults inside it are not filled in.
import type { Effort } from '#lib/effort.ts'
import { childPath, keyPath, type FieldError } from '../schema/field-error.ts'
import type { Schema } from '#api/schema/schema.ts'
import { validateRules, type RuleTree } from '../machinery.ts'

export function defaultRuleProblems(
  schema: Schema,
  tree: RuleTree | undefined,
  path: string,
  effort: Effort,
): readonly FieldError[] {
  if (tree === undefined) return []
  const own =
    schema.default === undefined
      ? []
      : validateRules(tree, schema.default, undefined, { path: childPath(path, 'default'), effort }).errors
  const { properties = {}, items, additionalProperties } = schema
  return [
    ...own,
    ...Object.entries(properties).flatMap(([name, property]) =>
      defaultRuleProblems(property, tree.properties.get(name), keyPath(childPath(path, 'properties'), name), effort),
    ),
    ...(items === undefined ? [] : defaultRuleProblems(items, tree.items, childPath(path, 'items'), effort)),
    ...(typeof additionalProperties === 'object'
      ? defaultRuleProblems(additionalProperties, tree.additional, childPath(path, 'additionalProperties'), effort)
      : []),
  ]
}
