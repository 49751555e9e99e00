// Objects as JSON, YAML, by a JSONPath template, or as cells of columns of one's own. Pure.
import { stringify } from 'yaml'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { shownJson } from '#lib/printable.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Column, Form } from './form.ts'
import { getErrors } from './get-errors.ts'
import { evaluate, textOf, valuesAt } from './jsonpath.ts'
import { TemplateProblem } from './jsonpath-parse.ts'

/** One object when one was named, else a List. */
export function dataText(form: Form, objects: readonly KubeObject[], isOne: boolean): string {
  const [first] = objects
  const whole: unknown = isOne && first !== undefined ? first : { apiVersion: 'v1', kind: 'List', items: objects }
  if (form.kind === 'json') return shownJson(whole)
  if (form.kind === 'yaml') return stringify(whole)
  return form.kind === 'jsonpath' ? templateText(form, whole) : ''
}

function templateText({ text, parts }: Extract<Form, { kind: 'jsonpath' }>, whole: unknown): string {
  try {
    return evaluate(parts, whole)
  } catch (cause) {
    if (!(cause instanceof TemplateProblem)) throw cause
    const what = isObject(whole) && whole['kind'] === 'List' ? 'the list' : 'the object'
    throw new KubeNodeError(getErrors.KN1601({ what, template: text, why: cause.message }), { cause })
  }
}

const NONE = '<none>'

export function columnCells(columns: readonly Column[], object: KubeObject): readonly string[] {
  return columns.map(({ path }) => {
    try {
      const found = valuesAt(path, object)
      return found.length === 0 ? NONE : found.map(cellOf).join(',')
    } catch (e) {
      // An entry that this object does not have.
      if (e instanceof TemplateProblem) return NONE
      throw e
    }
  })
}

const cellOf = (value: unknown): string => (value === null || value === undefined ? NONE : textOf(value))
