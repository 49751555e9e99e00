// Finds what is wrong with a value from one of our files, such as the options of a provider, and fills in the defaults.
import type { Ajv } from 'ajv'
import { applyDefaults } from '#schema/default.ts'
import { isDeeperThan } from '#lib/json.ts'
import { ajvSchemaOf, createAjv } from './ajv-schema.ts'
import { problemOf } from './ajv-problems.ts'
import type { Field } from './build.ts'
import { checkProblems } from './checks.ts'
import { PROBLEM_CODES, type Problem } from './problem.ts'

/** Files of settings nest a few levels; the walks below recurse. */
const MAX_DEPTH = 32

export type FieldValue<O> =
  | { readonly kind: 'Value'; readonly value: O }
  | { readonly kind: 'Problems'; readonly problems: readonly [Problem, ...Problem[]] }

/** One for each reading of a file: what it compiles is small, and is read once. */
export function createFieldReader(): <O>(field: Field<O, unknown>, value: unknown) => FieldValue<O> {
  let ajv: Ajv | undefined
  return <O>({ schema }: Field<O, unknown>, value: unknown): FieldValue<O> => {
    if (isDeeperThan(value, MAX_DEPTH))
      return problems([{ code: PROBLEM_CODES.bound, pointer: '', message: 'is nested too deeply' }])
    ajv ??= createAjv()
    const validate = ajv.compile(ajvSchemaOf(schema))
    validate(value)
    const shape = (validate.errors ?? []).map(problemOf)
    const full = applyDefaults(schema, value)
    const found = [...shape, ...checkProblems(schema, full, shape)]
    // The schema is what the type of the field was made from.
    return found.length === 0 ? { kind: 'Value', value: full as O } : problems(found)
  }
}

const problems = (found: readonly Problem[]): Extract<FieldValue<never>, { readonly kind: 'Problems' }> => ({
  kind: 'Problems',
  problems: found as readonly [Problem, ...Problem[]],
})
