// What the workload kinds share: templates, selectors, conditions, the checks between them.
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { forbidden, invalid, notSupported, required } from './field-problem.ts'
import type { FieldProblem } from './field-problem.ts'
import { fields, listAt, specOf, text, textsAt } from './fields.ts'
import type { Fields } from './fields.ts'
import type { BuiltinSchema, Column, Draft } from './kind.ts'
import { podTemplate, templateDefaults } from './pod-spec.ts'
import { templateProblems } from './pod-validate.ts'
import * as s from './shape.ts'

/** Conditions of the apps kinds: older than metav1.Condition. */
export const appCondition = (goName: string, withUpdateTime = false) =>
  s.mapList(
    ['type'],
    s.struct(goName, {
      type: s.always(s.str),
      status: s.always(s.str),
      ...(withUpdateTime ? { lastUpdateTime: s.nullTime } : {}),
      lastTransitionTime: s.nullTime,
      reason: s.str,
      message: s.str,
    }),
  )

/** A pointer that is written even when nil: no selector differs from an empty one. */
const requiredSelector: BuiltinSchema = { ...s.labelSelector, 'x-go-field': 'alwaysPointer' }

/** The pods of a workload: which are its own, and how new ones are made. */
export const ownPods: s.Fields = { selector: requiredSelector, template: s.always(podTemplate) }
/** The spec of a workload with a number of replicas. */
export const replicated = (goName: string, more: s.Fields): BuiltinSchema =>
  s.struct(goName, { replicas: s.withDefault(s.pointer(s.int32), 1), ...ownPods, ...more })

export const defaultTemplate = (o: Draft): Draft => ({ ...o, spec: templateDefaults(specOf(o)) })

/** True when labels satisfy a LabelSelector object; an empty selector matches all. */
function selectorMatches(selector: unknown, labels: Readonly<Record<string, string>>): boolean {
  const s = fields(selector)
  const wanted = Object.entries(fields(s['matchLabels']))
  if (!wanted.every(([k, v]) => Object.hasOwn(labels, k) && labels[k] === v)) return false
  return listAt(s, 'matchExpressions').every((e) => {
    const key = text(e['key'])
    const has = Object.hasOwn(labels, key)
    const isIn = has && textsAt(e, 'values').includes(labels[key] ?? '')
    switch (text(e['operator'])) {
      case 'In':
        return isIn
      case 'NotIn':
        return !isIn
      case 'Exists':
        return has
      case 'DoesNotExist':
        return !has
      default:
        return false
    }
  })
}

export function selectorProblems(selector: unknown, field: string): FieldProblem[] {
  return listAt(fields(selector), 'matchExpressions').flatMap((e, i): FieldProblem[] => {
    const at = `${field}.matchExpressions[${i}]`
    const values = textsAt(e, 'values')
    const operator = text(e['operator'])
    if (text(e['key']) === '') return [required(`${at}.key`)]
    if (operator === 'In' || operator === 'NotIn') {
      return values.length > 0 ? [] : [required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'")]
    }
    if (operator === 'Exists' || operator === 'DoesNotExist') {
      return values.length === 0
        ? []
        : [forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
    }
    return [invalid(`${at}.operator`, operator, 'not a valid selector operator')]
  })
}

const isEmptySelector = (s: unknown): boolean =>
  Object.keys(fields(fields(s)['matchLabels'])).length === 0 && listAt(fields(s), 'matchExpressions').length === 0

function labelsOfTemplate(spec: Fields): Readonly<Record<string, string>> | undefined {
  const { labels } = fields(fields(spec['template'])['metadata'])
  return isObject(labels) ? (labels as Readonly<Record<string, string>>) : undefined
}

/** Selector and template of a workload, as the apps kinds check them. */
export function workloadProblems(o: KubeObject, old: KubeObject | undefined, kindText: string): FieldProblem[] {
  const spec = specOf(o)
  const out: FieldProblem[] = []
  for (const field of ['replicas', 'minReadySeconds', 'revisionHistoryLimit']) {
    const n = spec[field]
    if (typeof n === 'number' && n < 0) out.push(invalid(`spec.${field}`, n, 'must be greater than or equal to 0'))
  }
  const selector = spec['selector']
  if (!isObject(selector)) out.push(required('spec.selector'))
  else {
    out.push(...selectorProblems(selector, 'spec.selector'))
    if (isEmptySelector(selector))
      out.push(invalid('spec.selector', selector, `empty selector is invalid for ${kindText}`))
  }
  const labels = labelsOfTemplate(spec)
  const fits = isObject(selector) && (isEmptySelector(selector) || selectorMatches(selector, labels ?? {}))
  if (!fits)
    out.push(invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`'))
  out.push(...templateProblems(spec, 'spec'))
  out.push(...restartAlways(spec))
  if (old !== undefined && !jsonEqual(selector, specOf(old)['selector'])) {
    out.push(invalid('spec.selector', selector, 'field is immutable'))
  }
  return out
}

function restartAlways(spec: Fields): FieldProblem[] {
  const policy = text(fields(fields(spec['template'])['spec'])['restartPolicy'])
  if (policy === 'Always' || policy === '' || !['OnFailure', 'Never'].includes(policy)) return []
  return [notSupported('spec.template.spec.restartPolicy', policy, ['Always'])]
}

export const selectorText = (selector: unknown): string => {
  const s = fields(selector)
  const equal = Object.entries(fields(s['matchLabels'])).map(([k, v]) => `${k}=${text(v)}`)
  const rest = listAt(s, 'matchExpressions').map((e) => {
    const key = text(e['key'])
    const values = `(${textsAt(e, 'values').join(',')})`
    const forms: Readonly<Record<string, string>> = {
      In: `${key} in ${values}`,
      NotIn: `${key} notin ${values}`,
      Exists: key,
      DoesNotExist: `!${key}`,
    }
    return forms[text(e['operator'])] ?? key
  })
  const all = [...equal, ...rest]
  return all.length === 0 ? '<none>' : all.join(',')
}

const templateContainers = (o: KubeObject) => listAt(fields(fields(specOf(o)['template'])['spec']), 'containers')

/** The columns at the end of every workload's table. */
export const nameColumn: Column = { name: 'Name', type: 'string', format: 'name', cell: (o) => o.metadata.name ?? '' }
export const ageColumn: Column = { name: 'Age', type: 'string', cell: () => null }
export const templateColumns: readonly Column[] = [
  {
    name: 'Containers',
    type: 'string',
    priority: 1,
    cell: (o) =>
      templateContainers(o)
        .map((c) => text(c['name']))
        .join(','),
  },
  {
    name: 'Images',
    type: 'string',
    priority: 1,
    cell: (o) =>
      templateContainers(o)
        .map((c) => text(c['image']))
        .join(','),
  },
  { name: 'Selector', type: 'string', priority: 1, cell: (o) => selectorText(specOf(o)['selector']) },
]
