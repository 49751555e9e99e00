// Finds every problem of a KubeNode object before a server gets it: shape, limits, rules between fields, and what no CRD can express. Each kind is prepared at
// its first use, once per process.
import type { ErrorObject, ValidateFunction } from 'ajv'
import { defined } from '#lib/defined.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isDeeperThan, isObject } from '#lib/json.ts'
import { applyDefaults } from './schema/default.ts'
import { changedImmutables, checkProblems, findings } from './checks.ts'
import { ajvSchemaOf, createAjv } from './ajv-schema.ts'
import { problemOf } from './ajv-problems.ts'
import type { ApiSchema } from './extras.ts'
import { API_GROUP_VERSION, type ApiKind, type InputOf, type ObjectOf } from './kind.ts'
import { metadataSchema } from './metadata.ts'
import { PROBLEM_CODES, formatProblem, shown, type Problem } from './problem.ts'
import { shapeOf, type ShapeCheck } from './shape.ts'
import { apiErrors } from './api-errors.ts'
import { shortened } from '#lib/shortened.ts'

/** KubeNode's objects nest a dozen levels; rule trees a few more. */
const MAX_DEPTH = 64

/** More problems do not help a reader. */
const MAX_PROBLEMS = 100

export interface Validator {
  /** Empty if the object is valid. */
  problems(kind: ApiKind, value: unknown): readonly Problem[]
  /** Violations of the update itself, beyond the new object: changed immutable fields. */
  updateProblems(kind: ApiKind, before: unknown, after: unknown): readonly Problem[]
  /** Returns the typed object; throws KN5000 with all problems. */
  parse<K extends ApiKind>(kind: K, value: unknown): InputOf<K>
}

interface Prepared {
  readonly schema: ApiSchema
  readonly fits: ShapeCheck
  /** Compiled for the first value that does not fit. */
  validate?: ValidateFunction
}

/** The result per kind is always the same, so all validators of a process share it. */
const PREPARED = new WeakMap<ApiKind, Prepared>()

function prepare(kind: ApiKind): Prepared {
  const known = PREPARED.get(kind)
  if (known !== undefined) return known
  const schema = objectSchema(kind)
  const made = { schema, fits: shapeOf(ajvSchemaOf(schema)) }
  PREPARED.set(kind, made)
  return made
}

function shapeErrors(prepared: Prepared, value: unknown): readonly ErrorObject[] {
  if (prepared.fits(value)) return []
  prepared.validate ??= createAjv().compile(ajvSchemaOf(prepared.schema))
  prepared.validate(value)
  return prepared.validate.errors ?? []
}

export function createValidator(): Validator {
  const problems = (kind: ApiKind, value: unknown): readonly Problem[] => {
    const blunt = bluntProblem(kind, value)
    if (blunt !== undefined) return [blunt]
    const prepared = prepare(kind)
    const { schema } = prepared
    const scope = scopeProblems(kind, value as Record<string, unknown>)
    const reported = new Set(scope.map((p) => p.pointer))
    const errors = shapeErrors(prepared, value)
    // Each problem shows its surroundings. A hostile object has thousands, but people only read the first few.
    const listed = errors.slice(0, MAX_PROBLEMS).map(problemOf)
    const shape = [...scope, ...listed.filter((p) => !reported.has(p.pointer))]
    if (errors.length > MAX_PROBLEMS) return shape.slice(0, MAX_PROBLEMS)
    const full = applyDefaults(schema, value)
    const rules = checkProblems(schema, full, shape)
    const whole = shape.length > 0 ? [] : wholeProblems(kind, full as ObjectOf<ApiKind>)
    return [...shape, ...rules, ...whole].slice(0, MAX_PROBLEMS)
  }
  return {
    problems,
    updateProblems(kind, before, after) {
      const schema = objectSchema(kind)
      return changedImmutables(schema, applyDefaults(schema, before), applyDefaults(schema, after))
    },
    parse<K extends ApiKind>(kind: K, value: unknown): InputOf<K> {
      const found = problems(kind, value)
      if (found.length > 0) throw invalidObject(kind, value, found)
      return value as InputOf<K>
    },
  }
}

/** `place` is where the object was written, if known better than by name. */
export function invalidObject(
  kind: Pick<ApiKind, 'kind'>,
  value: unknown,
  found: readonly Problem[],
  place = '',
): KubeNodeError {
  const name = isObject(value) && isObject(value['metadata']) ? String(value['metadata']['name'] ?? '') : ''
  const where = `${kind.kind} ${JSON.stringify(name)}${place === '' ? '' : ` at ${place}`}`
  const lines = found.map((p) => `\n  ${formatProblem(p)}`).join('')
  return new KubeNodeError(apiErrors.KN5000({ where, lines }), {
    data: { kind: kind.kind, name, problems: found },
  })
}

/** The whole object: the kind's own fields, and what every object has. */
export function objectSchema(kind: ApiKind): ApiSchema {
  return {
    ...kind.schema,
    properties: {
      apiVersion: { type: 'string', enum: [API_GROUP_VERSION] },
      kind: { type: 'string', enum: [kind.kind] },
      metadata: metadataSchema(kind.namespaced),
      ...kind.schema.properties,
    },
    required: ['apiVersion', 'kind', 'metadata', ...(kind.schema.required ?? [])],
  }
}

/** Mistakes that make all others irrelevant. */
function bluntProblem(kind: ApiKind, value: unknown): Problem | undefined {
  if (!isObject(value))
    return {
      code: PROBLEM_CODES.wrongType,
      pointer: '',
      seen: shown(value),
      message: 'has the wrong type',
      allowed: 'an object',
    }
  if (isDeeperThan(value, MAX_DEPTH))
    return { code: PROBLEM_CODES.bound, pointer: '', message: 'nests too deeply', allowed: `${MAX_DEPTH} levels` }
  const seen = value['kind']
  if (seen === kind.kind && value['apiVersion'] === API_GROUP_VERSION) return undefined
  if (seen === undefined || value['apiVersion'] === undefined) return undefined
  const suggestion = seen === kind.kind ? didYouMean(String(value['apiVersion']), [API_GROUP_VERSION]) : undefined
  return {
    code: PROBLEM_CODES.notThisKind,
    pointer: '',
    seen: shortened(`${String(value['apiVersion'])} ${String(seen)}`, 120),
    message: `is no ${kind.kind}`,
    allowed: `${API_GROUP_VERSION} ${kind.kind}`,
    ...defined({ suggestion }),
  }
}

/** Rules over the whole object; they may rely on its shape. */
function wholeProblems({ definition }: ApiKind, object: ObjectOf<ApiKind>): readonly Problem[] {
  const broken = (definition.rootRules ?? [])
    .filter((r) => !r.holds(object))
    .map(({ message }) => ({ pointer: '', message }))
  const found = (definition.checks ?? []).flatMap((c) => c.findings(object))
  return findings([...broken, ...found], object, '')
}

function scopeProblems(kind: ApiKind, value: Record<string, unknown>): readonly Problem[] {
  const { metadata } = value
  if (!isObject(metadata)) return []
  const found: Problem[] = []
  if (!kind.namespaced && metadata['namespace'] !== undefined)
    found.push({
      code: PROBLEM_CODES.rule,
      pointer: '/metadata/namespace',
      seen: shown(metadata['namespace']),
      message: `must be left out: a ${kind.kind} belongs to the whole cluster`,
    })
  if (metadata['name'] === undefined && metadata['generateName'] === undefined)
    found.push({ code: PROBLEM_CODES.missing, pointer: '/metadata/name', message: 'is required' })
  return found
}
