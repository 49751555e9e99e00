// Turns ajv's errors into this project's messages.
import type { ErrorObject } from 'ajv'
import { defined } from '#lib/defined.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { duplicateIndex } from './ajv-schema.ts'
import { PROBLEM_CODES as CODE, pointerTo, shown, type Problem } from './problem.ts'

const text = (v: unknown): string => String(v)

/** Verbose errors include the value and the schema around the keyword. */
export function problemOf(e: ErrorObject): Problem {
  const pointer = e.instancePath
  const at = { pointer, seen: shown(e.data) }
  const params: Record<string, unknown> = e.params
  const parent = (e.parentSchema ?? {}) as Record<string, unknown>
  switch (e.keyword) {
    case 'additionalProperties':
      return unknownField(e, text(params['additionalProperty']))
    case 'required':
      return {
        code: CODE.missing,
        pointer: pointerTo(pointer, text(params['missingProperty'])),
        message: 'is required',
      }
    case 'type':
      return {
        code: CODE.wrongType,
        ...at,
        message: 'has the wrong type',
        allowed: [params['type']].flat().join(' or '),
      }
    case 'enum':
      return notInList(e)
    case 'pattern':
    case 'format':
      return {
        code: CODE.form,
        ...at,
        message: 'has the wrong format',
        allowed: text(
          parent['expected'] ?? (e.keyword === 'format' ? 'a time such as 2026-01-31T12:00:00Z' : parent['pattern']),
        ),
      }
    case 'listMapKeys':
      return duplicate(e)
    case 'uniqueItems':
      return {
        code: CODE.duplicate,
        pointer: pointerTo(pointer, text(params['i'])),
        message: `is the same as item ${text(params['j'])}`,
      }
    case 'minimum':
    case 'maximum':
      return { code: CODE.bound, ...at, message: 'is out of range', allowed: range(parent, 'minimum', 'maximum') }
    case 'minLength':
    case 'maxLength':
      return {
        code: CODE.bound,
        ...at,
        message: 'has the wrong length',
        allowed: `${range(parent, 'minLength', 'maxLength')} characters`,
      }
    case 'minItems':
    case 'maxItems':
      return {
        code: CODE.bound,
        ...at,
        message: 'has too few or too many items',
        allowed: range(parent, 'minItems', 'maxItems'),
      }
    case 'minProperties':
    case 'maxProperties':
      return {
        code: CODE.bound,
        ...at,
        message: 'has too few or too many keys',
        allowed: range(parent, 'minProperties', 'maxProperties'),
      }
    default:
      return { code: CODE.rule, ...at, message: e.message ?? e.keyword }
  }
}

function unknownField(e: ErrorObject, name: string): Problem {
  const known = Object.keys((e.parentSchema?.['properties'] as object | undefined) ?? {})
  const suggestion = didYouMean(name, known)
  return {
    code: CODE.unknownField,
    pointer: pointerTo(e.instancePath, name),
    message: 'is not a known field',
    allowed: known.join(', '),
    ...defined({ suggestion }),
  }
}

function notInList(e: ErrorObject): Problem {
  const allowed = ((e.params as Record<string, unknown>)['allowedValues'] as readonly unknown[]).map(text)
  const suggestion = typeof e.data === 'string' ? didYouMean(e.data, allowed) : undefined
  return {
    code: CODE.form,
    pointer: e.instancePath,
    seen: shown(e.data),
    message: 'is not an allowed value',
    allowed: allowed.join(', '),
    ...defined({ suggestion }),
  }
}

function duplicate(e: ErrorObject): Problem {
  const listMap = e.schema as Parameters<typeof duplicateIndex>[0]
  return {
    code: CODE.duplicate,
    pointer: pointerTo(e.instancePath, duplicateIndex(listMap, e.data as readonly unknown[])),
    message: `has the same ${listMap.keys.join(' and ')} as an earlier item`,
  }
}

function range(schema: Record<string, unknown>, low: string, high: string): string {
  const [min, max] = [schema[low], schema[high]]
  if (min === undefined) return `at most ${text(max)}`
  if (max === undefined) return `at least ${text(min)}`
  return `${text(min)} to ${text(max)}`
}
