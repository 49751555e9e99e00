// Deployments, replica sets, stateful sets and daemon sets.
import { jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import { forbidden, invalid, notSupported } from './field-problem.ts'
import type { FieldProblem } from './field-problem.ts'
import { fields, number, specOf, statusOf, text } from './fields.ts'
import { controllerRevision } from './controller-revision.ts'
import type { BuiltinKind, Column } from './kind.ts'
import { podTemplate } from './pod-spec.ts'
import { replicaCountProblems } from './status-counts.ts'
import { claimSpec, templateMeta } from './pod-volumes.ts'
import * as s from './shape.ts'
import {
  ageColumn,
  appCondition,
  defaultTemplate,
  nameColumn,
  requiredSelector,
  templateColumns,
  workloadProblems,
} from './workload.ts'

const QUARTER = '25%'
const apps = (kind: string, plural: string) =>
  ({ group: 'apps', version: 'v1', kind, plural, namespaced: true }) as const
const count = (name: string, cell: (o: KubeObject) => number, priority = 0): Column => ({
  name,
  type: 'integer',
  priority,
  cell,
})
const numeric = (name: string, of: 'spec' | 'status', field: string): Column =>
  count(name, (o) => number(fields(o[of])[field]))

const scale = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.spec.selector',
} as const

export const deployment: BuiltinKind = {
  type: apps('Deployment', 'deployments'),
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  subresources: ['status', 'scale'],
  scale,
  generation: true,
  schema: {
    type: 'object',
    properties: {
      spec: s.always(
        s.struct('DeploymentSpec', {
          replicas: s.withDefault(s.pointer(s.int32), 1),
          selector: requiredSelector,
          template: s.always(podTemplate),
          strategy: s.always(
            s.struct(
              'DeploymentStrategy',
              {
                type: s.withDefault(s.str, 'RollingUpdate'),
                rollingUpdate: s.pointer(
                  s.struct('RollingUpdateDeployment', { maxUnavailable: s.intOrString, maxSurge: s.intOrString }),
                ),
              },
              { default: {}, 'x-kubernetes-patch-strategy': 'retainKeys' },
            ),
          ),
          minReadySeconds: s.int32,
          revisionHistoryLimit: s.withDefault(s.pointer(s.int32), 10),
          paused: s.bool,
          progressDeadlineSeconds: s.withDefault(s.pointer(s.int32), 600),
        }),
      ),
      status: s.always(
        s.struct('DeploymentStatus', {
          observedGeneration: s.int64,
          replicas: s.int32,
          updatedReplicas: s.int32,
          readyReplicas: s.int32,
          availableReplicas: s.int32,
          unavailableReplicas: s.int32,
          terminatingReplicas: s.pointer(s.int32),
          conditions: appCondition('DeploymentCondition', true),
          collisionCount: s.pointer(s.int32),
        }),
      ),
    },
  },
  columns: [
    nameColumn,
    {
      name: 'Ready',
      type: 'string',
      cell: (o) => `${number(statusOf(o)['readyReplicas'])}/${number(specOf(o)['replicas'])}`,
    },
    {
      ...numeric('Up-to-date', 'status', 'updatedReplicas'),
      type: 'string',
      cell: (o) => String(number(statusOf(o)['updatedReplicas'])),
    },
    {
      ...numeric('Available', 'status', 'availableReplicas'),
      type: 'string',
      cell: (o) => String(number(statusOf(o)['availableReplicas'])),
    },
    ageColumn,
    ...templateColumns,
  ],
  applyDefaults: (o) => {
    const d = defaultTemplate(o)
    const spec = specOf(d)
    const strategy = fields(spec['strategy'])
    if (text(strategy['type']) !== 'RollingUpdate') return d
    const rollingUpdate = { maxUnavailable: QUARTER, maxSurge: QUARTER, ...fields(strategy['rollingUpdate']) }
    return { ...d, spec: { ...spec, strategy: { ...strategy, rollingUpdate } } }
  },
  prepareForCreate: (o) => ({ ...o, status: {} }),
  validate: (o, old) => [...workloadProblems(o, old, 'deployment'), ...strategyProblems(o)],
  validateStatus: (o) => replicaCountProblems(o, ['updatedReplicas', 'readyReplicas', 'availableReplicas']),
}

const PERCENT = /^[0-9]+%$/
const PERCENT_TEXT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"

/** A number of pods or a percentage; at most all of them can be unavailable. */
function shareProblems(value: unknown, at: string, field: string): FieldProblem[] {
  if (typeof value === 'number') return value < 0 ? [invalid(at, value, 'must be greater than or equal to 0')] : []
  if (typeof value !== 'string') return []
  if (!PERCENT.test(value)) return [invalid(at, value, PERCENT_TEXT)]
  return field === 'maxUnavailable' && Number.parseInt(value, 10) > 100
    ? [invalid(at, value, 'must not be greater than 100%')]
    : []
}

function strategyProblems(o: KubeObject): FieldProblem[] {
  const strategy = fields(specOf(o)['strategy'])
  const type = text(strategy['type'])
  if (type === 'Recreate' && strategy['rollingUpdate'] !== undefined) {
    return [forbidden('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'")]
  }
  if (type !== 'Recreate' && type !== 'RollingUpdate') {
    return [notSupported('spec.strategy.type', type, ['Recreate', 'RollingUpdate'])]
  }
  const r = fields(strategy['rollingUpdate'])
  const shares = ['maxUnavailable', 'maxSurge'].flatMap((f) =>
    shareProblems(r[f], `spec.strategy.rollingUpdate.${f}`, f),
  )
  if (shares.length > 0) return shares
  const isZero = (v: unknown) => v === 0 || v === '0%'
  return isZero(r['maxUnavailable']) && isZero(r['maxSurge'])
    ? [invalid('spec.strategy.rollingUpdate.maxUnavailable', r['maxUnavailable'], 'may not be 0 when `maxSurge` is 0')]
    : []
}

export const replicaSet: BuiltinKind = {
  type: apps('ReplicaSet', 'replicasets'),
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  subresources: ['status', 'scale'],
  scale,
  generation: true,
  schema: {
    type: 'object',
    properties: {
      spec: s.always(
        s.struct('ReplicaSetSpec', {
          replicas: s.withDefault(s.pointer(s.int32), 1),
          minReadySeconds: s.int32,
          selector: requiredSelector,
          template: s.always(podTemplate),
        }),
      ),
      status: s.always(
        s.struct('ReplicaSetStatus', {
          replicas: s.always(s.int32),
          fullyLabeledReplicas: s.int32,
          readyReplicas: s.int32,
          availableReplicas: s.int32,
          terminatingReplicas: s.pointer(s.int32),
          observedGeneration: s.int64,
          conditions: appCondition('ReplicaSetCondition'),
        }),
      ),
    },
  },
  columns: [
    nameColumn,
    numeric('Desired', 'spec', 'replicas'),
    numeric('Current', 'status', 'replicas'),
    numeric('Ready', 'status', 'readyReplicas'),
    ageColumn,
    ...templateColumns,
  ],
  selectableFields: { 'status.replicas': (o) => String(number(statusOf(o)['replicas'])) },
  applyDefaults: defaultTemplate,
  prepareForCreate: (o) => ({ ...o, status: { replicas: 0 } }),
  validate: (o, old) => workloadProblems(o, old, 'replicaset'),
}

const STATEFUL_SET_MAY_CHANGE = new Set([
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
])
const STATEFUL_SET_TEXT =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"

function statefulSetProblems(o: KubeObject, old: KubeObject | undefined): FieldProblem[] {
  const frozen = (x: KubeObject) =>
    Object.fromEntries(Object.entries(specOf(x)).filter(([k]) => !STATEFUL_SET_MAY_CHANGE.has(k)))
  const problems = workloadProblems(o, undefined, 'statefulset')
  return old !== undefined && !jsonEqual(frozen(o), frozen(old))
    ? [...problems, forbidden('spec', STATEFUL_SET_TEXT)]
    : problems
}

export const statefulSet: BuiltinKind = {
  type: apps('StatefulSet', 'statefulsets'),
  singular: 'statefulset',
  shortNames: ['sts'],
  categories: ['all'],
  subresources: ['status', 'scale'],
  scale,
  generation: true,
  schema: {
    type: 'object',
    properties: {
      spec: s.always(
        s.struct('StatefulSetSpec', {
          replicas: s.withDefault(s.pointer(s.int32), 1),
          selector: requiredSelector,
          template: s.always(podTemplate),
          volumeClaimTemplates: s.listOf(
            s.struct('PersistentVolumeClaim', {
              apiVersion: s.withDefault(s.str, 'v1'),
              kind: s.withDefault(s.str, 'PersistentVolumeClaim'),
              metadata: s.always(templateMeta),
              spec: s.always(claimSpec),
              status: s.always(
                s.struct('PersistentVolumeClaimStatus', { phase: s.withDefault(s.str, 'Pending') }, { default: {} }),
              ),
            }),
          ),
          serviceName: s.always(s.str),
          podManagementPolicy: s.withDefault(s.str, 'OrderedReady'),
          updateStrategy: s.always(
            s.struct(
              'StatefulSetUpdateStrategy',
              {
                type: s.withDefault(s.str, 'RollingUpdate'),
                rollingUpdate: s.pointer(
                  s.struct('RollingUpdateStatefulSetStrategy', {
                    partition: s.withDefault(s.pointer(s.int32), 0),
                    maxUnavailable: s.intOrString,
                  }),
                ),
              },
              { default: {} },
            ),
          ),
          revisionHistoryLimit: s.withDefault(s.pointer(s.int32), 10),
          minReadySeconds: s.int32,
          persistentVolumeClaimRetentionPolicy: s.pointer(
            s.struct(
              'StatefulSetPersistentVolumeClaimRetentionPolicy',
              { whenDeleted: s.withDefault(s.str, 'Retain'), whenScaled: s.withDefault(s.str, 'Retain') },
              { default: {} },
            ),
          ),
          ordinals: s.pointer(s.struct('StatefulSetOrdinals', { start: s.always(s.int32) })),
        }),
      ),
      status: s.always(
        s.struct('StatefulSetStatus', {
          observedGeneration: s.int64,
          replicas: s.always(s.int32),
          readyReplicas: s.int32,
          currentReplicas: s.int32,
          updatedReplicas: s.int32,
          currentRevision: s.str,
          updateRevision: s.str,
          collisionCount: s.pointer(s.int32),
          conditions: appCondition('StatefulSetCondition'),
          availableReplicas: s.always(s.int32),
        }),
      ),
    },
  },
  columns: [
    nameColumn,
    {
      name: 'Ready',
      type: 'string',
      cell: (o) => `${number(statusOf(o)['readyReplicas'])}/${number(specOf(o)['replicas'])}`,
    },
    ageColumn,
    ...templateColumns.slice(0, 2),
  ],
  applyDefaults: (o) => {
    const d = defaultTemplate(o)
    const spec = specOf(d)
    const strategy = fields(spec['updateStrategy'])
    if (text(strategy['type']) !== 'RollingUpdate') return d
    return {
      ...d,
      spec: {
        ...spec,
        updateStrategy: { ...strategy, rollingUpdate: { partition: 0, ...fields(strategy['rollingUpdate']) } },
      },
    }
  },
  prepareForCreate: (o) => ({ ...o, status: { replicas: 0, availableReplicas: 0 } }),
  validate: statefulSetProblems,
}

export const daemonSet: BuiltinKind = {
  type: apps('DaemonSet', 'daemonsets'),
  singular: 'daemonset',
  shortNames: ['ds'],
  categories: ['all'],
  subresources: ['status'],
  generation: true,
  schema: {
    type: 'object',
    properties: {
      spec: s.always(
        s.struct('DaemonSetSpec', {
          selector: requiredSelector,
          template: s.always(podTemplate),
          updateStrategy: s.always(
            s.struct(
              'DaemonSetUpdateStrategy',
              {
                type: s.withDefault(s.str, 'RollingUpdate'),
                rollingUpdate: s.pointer(
                  s.struct('RollingUpdateDaemonSet', { maxUnavailable: s.intOrString, maxSurge: s.intOrString }),
                ),
              },
              { default: {} },
            ),
          ),
          minReadySeconds: s.int32,
          revisionHistoryLimit: s.withDefault(s.pointer(s.int32), 10),
        }),
      ),
      status: s.always(
        s.struct('DaemonSetStatus', {
          currentNumberScheduled: s.always(s.int32),
          numberMisscheduled: s.always(s.int32),
          desiredNumberScheduled: s.always(s.int32),
          numberReady: s.always(s.int32),
          observedGeneration: s.int64,
          updatedNumberScheduled: s.int32,
          numberAvailable: s.int32,
          numberUnavailable: s.int32,
          collisionCount: s.pointer(s.int32),
          conditions: appCondition('DaemonSetCondition'),
        }),
      ),
    },
  },
  columns: [
    nameColumn,
    numeric('Desired', 'status', 'desiredNumberScheduled'),
    numeric('Current', 'status', 'currentNumberScheduled'),
    numeric('Ready', 'status', 'numberReady'),
    numeric('Up-to-date', 'status', 'updatedNumberScheduled'),
    numeric('Available', 'status', 'numberAvailable'),
    {
      name: 'Node Selector',
      type: 'string',
      cell: (o) => {
        const wanted = Object.entries(fields(fields(fields(specOf(o)['template'])['spec'])['nodeSelector']))
        return wanted.length === 0 ? '<none>' : wanted.map(([k, v]) => `${k}=${text(v)}`).join(',')
      },
    },
    ageColumn,
    ...templateColumns,
  ],
  applyDefaults: (o) => {
    const d = defaultTemplate(o)
    const spec = specOf(d)
    const strategy = fields(spec['updateStrategy'])
    if (text(strategy['type']) !== 'RollingUpdate') return d
    const rollingUpdate = { maxUnavailable: 1, maxSurge: 0, ...fields(strategy['rollingUpdate']) }
    return { ...d, spec: { ...spec, updateStrategy: { ...strategy, rollingUpdate } } }
  },
  prepareForCreate: (o) => ({
    ...o,
    status: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
  }),
  validate: (o, old) => workloadProblems(o, old, 'daemonset'),
}

export const appsKinds = [deployment, replicaSet, statefulSet, daemonSet, controllerRevision] as const
