// Kinds that the scheduler, kubelets and the controllers of workloads list: runtime classes, devices and their claims,
// older workloads, scaling, flow control. Stored without any effect.
import { text } from './core-columns.ts'
import type { KubeObject } from '#schema/object.ts'
import { fields, listAt, number, specOf, statusOf, text as textOf } from './fields.ts'
import { keptKind, typeIn } from './kept-kind.ts'
import type { Column } from './kind.ts'
import { podTemplate } from './pod-spec.ts'
import { templateColumns } from './workload.ts'
import {
  always,
  anything,
  bool,
  condition,
  conditions,
  int32,
  int64,
  listOf,
  mapList,
  mapOf,
  pointer,
  quantity,
  setOf,
  str,
  struct,
  time,
  withDefault,
} from './shape.ts'
import { appCondition } from './workload.ts'

const toleration = struct('Toleration', {
  key: str,
  operator: str,
  value: str,
  effect: str,
  tolerationSeconds: pointer(int64),
})

const runtimeClass = keptKind({
  type: typeIn('node.k8s.io')('RuntimeClass', 'runtimeclasses', false),
  properties: {
    handler: always(str),
    overhead: pointer(struct('Overhead', { podFixed: mapOf(quantity) })),
    scheduling: pointer(
      struct('Scheduling', {
        nodeSelector: mapOf(str, { 'x-kubernetes-map-type': 'atomic' }),
        tolerations: listOf(toleration),
      }),
    ),
  },
  shows: [text('Handler', (o) => textOf(o['handler']))],
})

const labelsText = (labels: unknown): string =>
  Object.entries(fields(labels))
    .map(([k, v]) => `${k}=${textOf(v)}`)
    .sort()
    .join(',') || '<none>'

/** Its template is at the top level, where workloads have it in the spec. */
const ofPodTemplate =
  (cell: Column['cell']): Column['cell'] =>
  (o, now) =>
    cell({ ...o, spec: { template: o['template'] } }, now)

const podTemplateKind = keptKind({
  type: typeIn('')('PodTemplate', 'podtemplates', true),
  properties: { template: always(podTemplate) },
  shows: [
    ...templateColumns.slice(0, 2).map((c) => ({ ...c, priority: 0, cell: ofPodTemplate(c.cell) })),
    text('Pod Labels', (o) => labelsText(fields(fields(o['template'])['metadata'])['labels'])),
  ],
  ageless: true,
})

const replicationController = keptKind({
  type: typeIn('')('ReplicationController', 'replicationcontrollers', true),
  shortNames: ['rc'],
  categories: ['all'],
  subresources: ['status', 'scale'],
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.spec.selector',
  },
  generation: true,
  properties: {
    spec: always(
      struct('ReplicationControllerSpec', {
        replicas: withDefault(pointer(int32), 1),
        minReadySeconds: int32,
        selector: mapOf(str, { 'x-kubernetes-map-type': 'atomic' }),
        template: { ...podTemplate, 'x-go-field': 'pointer' },
      }),
    ),
    status: always(
      struct('ReplicationControllerStatus', {
        replicas: always(int32),
        fullyLabeledReplicas: int32,
        readyReplicas: int32,
        availableReplicas: int32,
        observedGeneration: int64,
        conditions: appCondition('ReplicationControllerCondition'),
      }),
    ),
  },
  applyDefaults: (o) => {
    // the selector defaults to the labels of its pods
    const spec = specOf(o)
    const labels = fields(fields(fields(spec['template'])['metadata'])['labels'])
    const selector = Object.keys(fields(spec['selector'])).length > 0 ? spec['selector'] : labels
    return Object.keys(fields(selector)).length === 0 ? o : { ...o, spec: { ...spec, selector } }
  },
  prepareForCreate: (o) => ({ ...o, status: { replicas: 0 } }),
  shows: [
    { name: 'Desired', type: 'integer', cell: (o) => number(specOf(o)['replicas']) },
    { name: 'Current', type: 'integer', cell: (o) => number(statusOf(o)['replicas']) },
    { name: 'Ready', type: 'integer', cell: (o) => number(statusOf(o)['readyReplicas']) },
  ],
  wide: [...templateColumns.slice(0, 2), text('Selector', (o) => labelsText(specOf(o)['selector']), 1)],
})

/** The target of each metric, beside its current value. */
function targetsText(o: KubeObject): string {
  const current = listAt(statusOf(o), 'currentMetrics')
  const all = listAt(specOf(o), 'metrics').map((metric, i) => {
    const part = textOf(metric['type']).replace(/^./, (c) => c.toLowerCase())
    const own = fields(metric[part])
    const [target, seen] = [fields(own['target']), fields(fields(current[i]?.[part])['current'])]
    const isShare = target['averageUtilization'] !== undefined
    const field = isShare ? 'averageUtilization' : target['averageValue'] === undefined ? 'value' : 'averageValue'
    const shown = (v: unknown): string => (v === undefined ? '<unknown>' : `${String(v)}${isShare ? '%' : ''}`)
    const name = textOf(own['name']) === '' ? '' : `${textOf(own['name'])}: `
    return `${name}${shown(seen[field])}/${shown(target[field])}`
  })
  return all.length === 0 ? '<none>' : all.join(', ')
}

const scalingRules = pointer(
  struct('HPAScalingRules', {
    stabilizationWindowSeconds: pointer(int32),
    selectPolicy: pointer(str),
    policies: listOf(
      struct('HPAScalingPolicy', { type: always(str), value: always(int32), periodSeconds: always(int32) }),
    ),
    tolerance: pointer(quantity),
  }),
)
/** Of the five sources one is set, named by `type`. */
const metricSource = pointer(anything)
const metric = {
  type: always(str),
  object: metricSource,
  pods: metricSource,
  resource: metricSource,
  containerResource: metricSource,
  external: metricSource,
}

const horizontalPodAutoscaler = keptKind({
  type: typeIn('autoscaling', 'v2')('HorizontalPodAutoscaler', 'horizontalpodautoscalers', true),
  shortNames: ['hpa'],
  categories: ['all'],
  properties: {
    spec: always(
      struct('HorizontalPodAutoscalerSpec', {
        scaleTargetRef: always(
          struct('CrossVersionObjectReference', { kind: always(str), name: always(str), apiVersion: str }),
        ),
        minReplicas: withDefault(pointer(int32), 1),
        maxReplicas: always(int32),
        metrics: listOf(struct('MetricSpec', metric)),
        behavior: pointer(
          struct('HorizontalPodAutoscalerBehavior', { scaleUp: scalingRules, scaleDown: scalingRules }),
        ),
      }),
    ),
    status: always(
      struct('HorizontalPodAutoscalerStatus', {
        observedGeneration: pointer(int64),
        lastScaleTime: time,
        currentReplicas: int32,
        desiredReplicas: always(int32),
        currentMetrics: listOf(struct('MetricStatus', metric)),
        conditions: appCondition('HorizontalPodAutoscalerCondition'),
      }),
    ),
  },
  prepareForCreate: (o) => ({ ...o, status: { desiredReplicas: 0 } }),
  shows: [
    text('Reference', (o) => {
      const target = fields(specOf(o)['scaleTargetRef'])
      return `${textOf(target['kind'])}/${textOf(target['name'])}`
    }),
    text('Targets', targetsText),
    text('MinPods', (o) =>
      specOf(o)['minReplicas'] === undefined ? '<unset>' : String(number(specOf(o)['minReplicas'])),
    ),
    text('MaxPods', (o) => String(number(specOf(o)['maxReplicas']))),
    text('Replicas', (o) => String(number(statusOf(o)['currentReplicas']))),
  ],
})

const resource = typeIn('resource.k8s.io')
const deviceSelectors = listOf(
  struct('DeviceSelector', { cel: pointer(struct('CELDeviceSelector', { expression: always(str) })) }),
)
const opaque = pointer(struct('OpaqueDeviceConfiguration', { driver: always(str), parameters: always(anything) }))
const deviceTolerations = listOf(
  struct('DeviceToleration', { key: str, operator: str, value: str, effect: str, tolerationSeconds: pointer(int64) }),
)
const request = {
  deviceClassName: str,
  selectors: deviceSelectors,
  allocationMode: str,
  count: int64,
  adminAccess: pointer(bool),
  tolerations: deviceTolerations,
  capacity: pointer(struct('CapacityRequirements', { requests: mapOf(quantity) })),
}
const claimSpec = struct('ResourceClaimSpec', {
  devices: struct('DeviceClaim', {
    requests: listOf(
      struct('DeviceRequest', {
        name: always(str),
        exactly: pointer(struct('ExactDeviceRequest', request)),
        firstAvailable: listOf(struct('DeviceSubRequest', { name: always(str), ...request })),
      }),
    ),
    constraints: listOf(
      struct('DeviceConstraint', {
        requests: listOf(str),
        matchAttribute: pointer(str),
        distinctAttribute: pointer(str),
      }),
    ),
    config: listOf(struct('DeviceClaimConfiguration', { requests: listOf(str), opaque })),
  }),
})

const deviceClass = keptKind({
  type: resource('DeviceClass', 'deviceclasses', false),
  generation: true,
  properties: {
    spec: always(
      struct('DeviceClassSpec', {
        selectors: deviceSelectors,
        config: listOf(struct('DeviceClassConfiguration', { opaque })),
        extendedResourceName: pointer(str),
      }),
    ),
  },
})

function claimState(o: KubeObject): string {
  const { allocation } = statusOf(o)
  const isReserved = listAt(statusOf(o), 'reservedFor').length > 0
  const state = allocation === undefined ? 'pending' : isReserved ? 'allocated,reserved' : 'allocated'
  return o.metadata.deletionTimestamp === undefined ? state : `deleted,${state}`
}

const resourceClaim = keptKind({
  type: resource('ResourceClaim', 'resourceclaims', true),
  shows: [text('State', claimState)],
  properties: {
    spec: always(claimSpec),
    status: always(
      struct('ResourceClaimStatus', {
        allocation: pointer(anything),
        reservedFor: mapList(
          ['uid'],
          struct('ResourceClaimConsumerReference', {
            apiGroup: str,
            resource: always(str),
            name: always(str),
            uid: always(str),
          }),
        ),
        devices: listOf(anything),
      }),
    ),
  },
})

const resourceClaimTemplate = keptKind({
  type: resource('ResourceClaimTemplate', 'resourceclaimtemplates', true),
  properties: {
    spec: always(struct('ResourceClaimTemplateSpec', { metadata: pointer(anything), spec: always(claimSpec) })),
  },
})

const resourceSlice = keptKind({
  type: resource('ResourceSlice', 'resourceslices', false),
  generation: true,
  properties: {
    spec: always(
      struct('ResourceSliceSpec', {
        driver: always(str),
        pool: always(
          struct('ResourcePool', { name: always(str), generation: always(int64), resourceSliceCount: always(int64) }),
        ),
        nodeName: pointer(str),
        nodeSelector: pointer(anything),
        allNodes: pointer(bool),
        devices: listOf(anything),
        perDeviceNodeSelection: pointer(bool),
        sharedCounters: listOf(anything),
      }),
    ),
  },
  selectableFields: {
    'spec.nodeName': (o) => textOf(specOf(o)['nodeName']),
    'spec.driver': (o) => textOf(specOf(o)['driver']),
  },
  shows: [
    text('Node', (o) => textOf(specOf(o)['nodeName'])),
    text('Driver', (o) => textOf(specOf(o)['driver'])),
    text('Pool', (o) => textOf(fields(specOf(o)['pool'])['name'])),
  ],
})

const flow = typeIn('flowcontrol.apiserver.k8s.io')
const subject = struct('Subject', {
  kind: always(str),
  user: pointer(struct('UserSubject', { name: always(str) })),
  group: pointer(struct('GroupSubject', { name: always(str) })),
  serviceAccount: pointer(struct('ServiceAccountSubject', { namespace: always(str), name: always(str) })),
})

const NONE = '<none>'
const orNone = (value: unknown): string | number =>
  typeof value === 'string' || typeof value === 'number' ? value : NONE

/** A schema names a level that does not exist, as far as it was checked. */
const isDangling = (o: KubeObject): string =>
  textOf(listAt(statusOf(o), 'conditions').find((c) => c['type'] === 'Dangling')?.['status']) || '?'

const limited = (o: KubeObject) => fields(specOf(o)['limited'])
const queuing = (o: KubeObject) => fields(fields(limited(o)['limitResponse'])['queuing'])

const flowSchema = keptKind({
  type: flow('FlowSchema', 'flowschemas', false),
  shows: [
    text('PriorityLevel', (o) => textOf(fields(specOf(o)['priorityLevelConfiguration'])['name'])),
    text('MatchingPrecedence', (o) => number(specOf(o)['matchingPrecedence'])),
    text('DistinguisherMethod', (o) => orNone(fields(specOf(o)['distinguisherMethod'])['type'])),
  ],
  wide: [text('MissingPL', isDangling)],
  generation: true,
  properties: {
    spec: always(
      struct('FlowSchemaSpec', {
        priorityLevelConfiguration: always(struct('PriorityLevelConfigurationReference', { name: always(str) })),
        matchingPrecedence: withDefault(always(int32), 1000),
        distinguisherMethod: pointer(struct('FlowDistinguisherMethod', { type: always(str) })),
        rules: listOf(
          struct('PolicyRulesWithSubjects', {
            subjects: always(listOf(subject)),
            resourceRules: listOf(
              struct('ResourcePolicyRule', {
                verbs: always(setOf(str)),
                apiGroups: always(setOf(str)),
                resources: always(setOf(str)),
                clusterScope: bool,
                namespaces: setOf(str),
              }),
            ),
            nonResourceRules: listOf(
              struct('NonResourcePolicyRule', { verbs: always(setOf(str)), nonResourceURLs: always(setOf(str)) }),
            ),
          }),
        ),
      }),
    ),
    status: always(struct('FlowSchemaStatus', { conditions: mapList(['type'], condition) })),
  },
})

const priorityLevel = keptKind({
  type: flow('PriorityLevelConfiguration', 'prioritylevelconfigurations', false),
  shows: [
    text('Type', (o) => textOf(specOf(o)['type'])),
    text('NominalConcurrencyShares', (o) =>
      orNone(limited(o)['nominalConcurrencyShares'] ?? fields(specOf(o)['exempt'])['nominalConcurrencyShares']),
    ),
    text('Queues', (o) => orNone(queuing(o)['queues'])),
    text('HandSize', (o) => orNone(queuing(o)['handSize'])),
    text('QueueLengthLimit', (o) => orNone(queuing(o)['queueLengthLimit'])),
  ],
  generation: true,
  properties: {
    spec: always(
      struct('PriorityLevelConfigurationSpec', {
        type: always(str),
        limited: pointer(anything),
        exempt: pointer(anything),
      }),
    ),
    status: always(struct('PriorityLevelConfigurationStatus', { conditions })),
  },
})

export const schedulingKinds = [
  runtimeClass,
  podTemplateKind,
  replicationController,
  horizontalPodAutoscaler,
  deviceClass,
  resourceClaim,
  resourceClaimTemplate,
  resourceSlice,
  flowSchema,
  priorityLevel,
] as const
