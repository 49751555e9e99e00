// Whether a value has the types that its schema declares, worded as the real server words it when an apply does not fit.
import { assertNever } from '#lib/errors.ts'
import { goLiteral, goText, goType } from '#lib/go-text.ts'
import { isObject } from '#lib/json.ts'
import type { Schema } from '#api/schema/schema.ts'
import { elementText } from './path-element.ts'
import { fieldSchema, isNamedField, itemElement, listKeys } from './typing.ts'

interface Options {
  /** Live objects may hold items that share a key; applied ones may not. */
  readonly allowDuplicates?: boolean
}

interface Walk {
  readonly allowDuplicates: boolean
  readonly problems: string[]
}

/** One sentence a problem, each with its path; empty when the value fits. */
export function typeProblems(schema: Schema | undefined, value: unknown, options: Options = {}): readonly string[] {
  const walk: Walk = { allowDuplicates: options.allowDuplicates ?? false, problems: [] }
  check(walk, schema, value, '', false)
  return walk.problems
}

/** Several problems as the server joins them. */
export const problemsText = (problems: readonly string[]): string =>
  problems.length === 1 ? String(problems[0]) : ['errors:', ...problems.map((p) => `  ${p}`)].join('\n')

/** `open`: some level above preserves unknown fields, and so do all below it. */
function check(walk: Walk, schema: Schema | undefined, value: unknown, path: string, open: boolean): void {
  if (schema === undefined || value === null || value === undefined) return
  const problem = shapeProblem(schema, value)
  if (problem !== undefined) return report(walk, path, problem)
  const isOpen = open || schema['x-kubernetes-preserve-unknown-fields'] === true
  if (Array.isArray(value)) checkList(walk, schema, value, path, isOpen)
  else if (isObject(value)) checkMap(walk, schema, value, path, isOpen)
}

const report = (walk: Walk, path: string, problem: string): void => {
  walk.problems.push(path === '' ? problem : `${path}: ${problem}`)
}

const shown = (value: unknown): string => `&{${goText(value)}}`

function shapeProblem(schema: Schema, value: unknown): string | undefined {
  switch (schema.type) {
    case 'object':
      return isObject(value) ? undefined : `expected map, got ${shown(value)}`
    case 'array':
      return Array.isArray(value) ? undefined : `expected list, got ${shown(value)}`
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `expected boolean, got ${shown(value)}`
    case 'integer':
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint'
        ? undefined
        : `expected numeric (int or float), got ${goType(value)}`
    case 'string':
      return stringProblem(schema, value)
    case undefined:
      return undefined
    default:
      return assertNever(schema.type)
  }
}

/** Strings of a format that is not plain text may be written as numbers. */
function stringProblem(schema: Schema, value: unknown): string | undefined {
  if (typeof value === 'string') return undefined
  if (schema.format === undefined || schema.format === '' || schema.format === 'byte')
    return `expected string, got &value.valueUnstructured{Value:${goLiteral(value)}}`
  return typeof value === 'object' ? `expected any scalar, got ${shown(value)}` : undefined
}

function checkMap(walk: Walk, schema: Schema, map: Record<string, unknown>, path: string, open: boolean): void {
  for (const name of Object.keys(map)) {
    const at = `${path}.${name}`
    if (!isNamedField(schema, name) && !allowsUnnamed(schema, open)) {
      report(walk, at, 'field not declared in schema')
      return
    }
    check(walk, fieldSchema(schema, name), map[name], at, open)
  }
}

function allowsUnnamed(schema: Schema, open: boolean): boolean {
  if (schema.additionalProperties !== undefined) return schema.additionalProperties !== false
  return open || Object.keys(schema.properties ?? {}).length === 0
}

function checkList(walk: Walk, schema: Schema, list: readonly unknown[], path: string, open: boolean): void {
  const keys = listKeys(schema)
  const seen = new Set<string>()
  for (const [i, item] of list.entries()) {
    if (keys === undefined) {
      check(walk, schema.items, item, `${path}[${i}]`, open)
      continue
    }
    const named = itemElement(schema, keys, item)
    if ('problem' in named) return report(walk, path, `element ${i}: ${named.problem}`)
    if (seen.has(named.element) && !walk.allowDuplicates)
      report(walk, path, `duplicate entries for key ${elementText(named.element)}`)
    seen.add(named.element)
    check(walk, schema.items, item, `${path}${elementText(named.element)}`, open)
  }
}
