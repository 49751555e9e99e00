// Pod disruption budgets and priority classes.
import { jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { forbidden, invalid, notSupported } from './field-problem.ts'
import type { FieldProblem } from './field-problem.ts'
import { number, specOf, statusOf, text } from './fields.ts'
import type { BuiltinKind } from './kind.ts'
import * as s from './shape.ts'
import { ageColumn, nameColumn, selectorProblems } from './workload.ts'

const PERCENT = /^\d+%$/

function amountProblems(value: unknown, field: string): FieldProblem[] {
  if (value === undefined) return []
  if (typeof value === 'number') return value < 0 ? [invalid(field, value, 'must be greater than or equal to 0')] : []
  if (!PERCENT.test(text(value))) {
    return [
      invalid(
        field,
        value,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      ),
    ]
  }
  return Number.parseInt(text(value), 10) > 100 ? [invalid(field, value, 'must not be greater than 100%')] : []
}

function validateBudget(o: KubeObject): readonly FieldProblem[] {
  const spec = specOf(o)
  const both = spec['minAvailable'] !== undefined && spec['maxUnavailable'] !== undefined
  return [
    ...(both ? [invalid('spec', spec, 'minAvailable and maxUnavailable cannot be both set')] : []),
    ...amountProblems(spec['minAvailable'], 'spec.minAvailable'),
    ...amountProblems(spec['maxUnavailable'], 'spec.maxUnavailable'),
    ...selectorProblems(spec['selector'], 'spec.selector'),
  ]
}

const amount = (v: unknown): string => (v === undefined ? 'N/A' : String(v))

const podDisruptionBudget: BuiltinKind = {
  type: {
    group: 'policy',
    version: 'v1',
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
    namespaced: true,
  },
  shortNames: ['pdb'],
  subresources: ['status'],
  generation: true,
  schema: s.specAndStatus(
    s.struct('PodDisruptionBudgetSpec', {
      minAvailable: s.intOrString,
      // The whole selector is replaced by a strategic patch, not merged.
      selector: { ...s.labelSelector, 'x-kubernetes-patch-strategy': 'replace' },
      maxUnavailable: s.intOrString,
      unhealthyPodEvictionPolicy: s.pointer(s.str),
    }),
    s.struct('PodDisruptionBudgetStatus', {
      observedGeneration: s.int64,
      disruptedPods: s.mapOf({ type: 'string', format: 'date-time' }),
      disruptionsAllowed: s.always(s.int32),
      currentHealthy: s.always(s.int32),
      desiredHealthy: s.always(s.int32),
      expectedPods: s.always(s.int32),
      conditions: s.conditions,
    }),
  ),
  columns: [
    nameColumn,
    { name: 'Min Available', type: 'string', cell: (o) => amount(specOf(o)['minAvailable']) },
    { name: 'Max Unavailable', type: 'string', cell: (o) => amount(specOf(o)['maxUnavailable']) },
    { name: 'Allowed Disruptions', type: 'integer', cell: (o) => number(statusOf(o)['disruptionsAllowed']) },
    ageColumn,
  ],
  prepareForCreate: (o) => ({
    ...o,
    status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
  }),
  validate: (o) => [...validateBudget(o), ...evictionPolicyProblems(o)],
}

const EVICTION_POLICIES = ['AlwaysAllow', 'IfHealthyBudget']

function evictionPolicyProblems(o: KubeObject): FieldProblem[] {
  const policy = specOf(o)['unhealthyPodEvictionPolicy']
  return policy === undefined || EVICTION_POLICIES.includes(text(policy))
    ? []
    : [notSupported('spec.unhealthyPodEvictionPolicy', policy, EVICTION_POLICIES)]
}

/** Above this, only the classes of the system itself. */
const HIGHEST_USER_PRIORITY = 1_000_000_000
const SYSTEM_CLASSES = new Set(['system-node-critical', 'system-cluster-critical'])

const priorityClass: BuiltinKind = {
  type: {
    group: 'scheduling.k8s.io',
    version: 'v1',
    kind: 'PriorityClass',
    plural: 'priorityclasses',
    namespaced: false,
  },
  shortNames: ['pc'],
  generation: true,
  schema: {
    type: 'object',
    properties: {
      value: s.always(s.int32),
      globalDefault: s.bool,
      description: s.str,
      preemptionPolicy: s.withDefault(s.pointer(s.str), 'PreemptLowerPriority'),
    },
  },
  columns: [
    nameColumn,
    { name: 'Value', type: 'integer', cell: (o) => number(o['value']) },
    { name: 'Global-Default', type: 'boolean', cell: (o) => o['globalDefault'] === true },
    ageColumn,
    { name: 'PreemptionPolicy', type: 'string', cell: (o) => text(o['preemptionPolicy']) },
  ],
  validate: (o, old) => {
    const name = o.metadata.name ?? ''
    const out: FieldProblem[] = []
    if (name.startsWith('system-') && !SYSTEM_CLASSES.has(name)) {
      out.push(
        forbidden(
          'metadata.name',
          `priority class names with 'system-' prefix are reserved for system use only. error: ${name} is not a known system priority class`,
        ),
      )
    } else if (number(o['value']) > HIGHEST_USER_PRIORITY && !SYSTEM_CLASSES.has(name)) {
      out.push(forbidden('value', `maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`))
    }
    for (const field of ['value', 'preemptionPolicy']) {
      if (old !== undefined && !jsonEqual(o[field], old[field]))
        out.push(forbidden(field, 'may not be changed in an update.'))
    }
    return out
  },
}

export const policyKinds = [podDisruptionBudget, priorityClass] as const
