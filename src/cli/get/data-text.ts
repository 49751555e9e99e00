// Objects as JSON or YAML. Pure.
import { stringify } from 'yaml'
import { shownJson } from '#lib/printable.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Form } from './form.ts'

/** A single object if one was named, else a List. */
export function dataText(form: Form, objects: readonly KubeObject[], isOne: boolean): string {
  const [first] = objects
  const whole: unknown = isOne && first !== undefined ? first : { apiVersion: 'v1', kind: 'List', items: objects }
  return form.kind === 'yaml' ? stringify(whole) : shownJson(whole)
}
