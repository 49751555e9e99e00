// Validates a value from a settings file, such as a provider's options, and fills in defaults.
import type { Ajv } from 'ajv'
import { applyDefaults } from './schema/default.ts'
import { isDeeperThan } from '#lib/json.ts'
import { ajvSchemaOf, createAjv } from './ajv-schema.ts'
import { problemOf } from './ajv-problems.ts'
import type { Field } from './build.ts'
import { checkProblems } from './checks.ts'
import { PROBLEM_CODES, type Problem } from './problem.ts'

/** Settings files nest a few levels; the walks below recurse. */
const MAX_DEPTH = 32

export type FieldValue<O> =
  | { readonly kind: 'Value'; readonly value: O }
  | { readonly kind: 'Problems'; readonly problems: readonly [Problem, ...Problem[]] }

/** Keeps its compiled schemas: create one per reading of a file, or one for repeated values of a schema. */
export function createFieldReader(): <O>(field: Field<O, unknown>, value: unknown) => FieldValue<O> {
  let ajv: Ajv | undefined
  const compiled = new Map<unknown, ReturnType<Ajv['compile']>>()
  return <O>({ schema }: Field<O, unknown>, value: unknown): FieldValue<O> => {
    if (isDeeperThan(value, MAX_DEPTH))
      return problems([{ code: PROBLEM_CODES.bound, pointer: '', message: 'is nested too deeply' }])
    ajv ??= createAjv()
    const validate = compiled.get(schema) ?? ajv.compile(ajvSchemaOf(schema))
    compiled.set(schema, validate)
    void validate(value)
    const shape = (validate.errors ?? []).map(problemOf)
    const full = applyDefaults(schema, value)
    const found = [...shape, ...checkProblems(schema, full, shape)]
    // The field's type was derived from the schema.
    return found.length === 0 ? { kind: 'Value', value: full as O } : problems(found)
  }
}

const problems = (found: readonly Problem[]): Extract<FieldValue<never>, { readonly kind: 'Problems' }> => ({
  kind: 'Problems',
  problems: found as readonly [Problem, ...Problem[]],
})

export type Checked<O> =
  | { readonly kind: 'Value'; readonly value: O }
  | { readonly kind: 'Problem'; readonly problem: Problem }

/**
 * For frequent untrusted values: compiles at the first one, stops at the first problem so that a large wrong value does not cause a larger answer, and fills in
 * no defaults.
 */
export function createStrictReader<O>(field: Field<O, unknown>): (value: unknown) => Checked<O> {
  let validate: ReturnType<Ajv['compile']> | undefined
  return (value) => {
    if (isDeeperThan(value, MAX_DEPTH))
      return { kind: 'Problem', problem: { code: PROBLEM_CODES.bound, pointer: '', message: 'is nested too deeply' } }
    validate ??= createAjv({ allErrors: false }).compile(ajvSchemaOf(field.schema))
    void validate(value)
    const [problem] = (validate.errors ?? []).map(problemOf)
    const [found] = problem === undefined ? checkProblems(field.schema, value, []) : [problem]
    return found === undefined ? { kind: 'Value', value: value as O } : { kind: 'Problem', problem: found }
  }
}
