// Kinds that the scheduler, kubelets and the controllers of workloads list: runtime classes, devices and their claims,
// older workloads, scaling, flow control. Stored without any effect.
import { text } from './core-columns.ts'
import type { KubeObject } from '#schema/object.ts'
import { fields, listAt, number, specOf, statusOf, text as textOf } from './fields.ts'
import { keptKind, typeIn } from './kept-kind.ts'
import type { Column } from './kind.ts'
import { podTemplate } from './pod-spec.ts'
import { templateColumns } from './workload.ts'
import * as s from './shape.ts'
import { appCondition } from './workload.ts'

const toleration = s.struct('Toleration', {
  key: s.str,
  operator: s.str,
  value: s.str,
  effect: s.str,
  tolerationSeconds: s.pointer(s.int64),
})

const runtimeClass = keptKind({
  type: typeIn('node.k8s.io')('RuntimeClass', 'runtimeclasses', false),
  properties: {
    handler: s.always(s.str),
    overhead: s.pointer(s.struct('Overhead', { podFixed: s.mapOf(s.quantity) })),
    scheduling: s.pointer(
      s.struct('Scheduling', {
        nodeSelector: s.mapOf(s.str, { 'x-kubernetes-map-type': 'atomic' }),
        tolerations: s.listOf(toleration),
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
  properties: { template: s.always(podTemplate) },
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
    spec: s.always(
      s.struct('ReplicationControllerSpec', {
        replicas: s.withDefault(s.pointer(s.int32), 1),
        minReadySeconds: s.int32,
        selector: s.mapOf(s.str, { 'x-kubernetes-map-type': 'atomic' }),
        template: { ...podTemplate, 'x-go-field': 'pointer' },
      }),
    ),
    status: s.always(
      s.struct('ReplicationControllerStatus', {
        replicas: s.always(s.int32),
        fullyLabeledReplicas: s.int32,
        readyReplicas: s.int32,
        availableReplicas: s.int32,
        observedGeneration: s.int64,
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

const scalingRules = s.pointer(
  s.struct('HPAScalingRules', {
    stabilizationWindowSeconds: s.pointer(s.int32),
    selectPolicy: s.pointer(s.str),
    policies: s.listOf(
      s.struct('HPAScalingPolicy', {
        type: s.always(s.str),
        value: s.always(s.int32),
        periodSeconds: s.always(s.int32),
      }),
    ),
    tolerance: s.pointer(s.quantity),
  }),
)
/** Of the five sources one is set, named by `type`. */
const metricSource = s.pointer(s.anything)
const metric = {
  type: s.always(s.str),
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
    spec: s.always(
      s.struct('HorizontalPodAutoscalerSpec', {
        scaleTargetRef: s.always(
          s.struct('CrossVersionObjectReference', { kind: s.always(s.str), name: s.always(s.str), apiVersion: s.str }),
        ),
        minReplicas: s.withDefault(s.pointer(s.int32), 1),
        maxReplicas: s.always(s.int32),
        metrics: s.listOf(s.struct('MetricSpec', metric)),
        behavior: s.pointer(
          s.struct('HorizontalPodAutoscalerBehavior', { scaleUp: scalingRules, scaleDown: scalingRules }),
        ),
      }),
    ),
    status: s.always(
      s.struct('HorizontalPodAutoscalerStatus', {
        observedGeneration: s.pointer(s.int64),
        lastScaleTime: s.time,
        currentReplicas: s.int32,
        desiredReplicas: s.always(s.int32),
        currentMetrics: s.listOf(s.struct('MetricStatus', metric)),
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
const deviceSelectors = s.listOf(
  s.struct('DeviceSelector', { cel: s.pointer(s.struct('CELDeviceSelector', { expression: s.always(s.str) })) }),
)
const opaque = s.pointer(
  s.struct('OpaqueDeviceConfiguration', { driver: s.always(s.str), parameters: s.always(s.anything) }),
)
const deviceTolerations = s.listOf(
  s.struct('DeviceToleration', {
    key: s.str,
    operator: s.str,
    value: s.str,
    effect: s.str,
    tolerationSeconds: s.pointer(s.int64),
  }),
)
const request = {
  deviceClassName: s.str,
  selectors: deviceSelectors,
  allocationMode: s.str,
  count: s.int64,
  adminAccess: s.pointer(s.bool),
  tolerations: deviceTolerations,
  capacity: s.pointer(s.struct('CapacityRequirements', { requests: s.mapOf(s.quantity) })),
}
const claimSpec = s.struct('ResourceClaimSpec', {
  devices: s.struct('DeviceClaim', {
    requests: s.listOf(
      s.struct('DeviceRequest', {
        name: s.always(s.str),
        exactly: s.pointer(s.struct('ExactDeviceRequest', request)),
        firstAvailable: s.listOf(s.struct('DeviceSubRequest', { name: s.always(s.str), ...request })),
      }),
    ),
    constraints: s.listOf(
      s.struct('DeviceConstraint', {
        requests: s.listOf(s.str),
        matchAttribute: s.pointer(s.str),
        distinctAttribute: s.pointer(s.str),
      }),
    ),
    config: s.listOf(s.struct('DeviceClaimConfiguration', { requests: s.listOf(s.str), opaque })),
  }),
})

const deviceClass = keptKind({
  type: resource('DeviceClass', 'deviceclasses', false),
  generation: true,
  properties: {
    spec: s.always(
      s.struct('DeviceClassSpec', {
        selectors: deviceSelectors,
        config: s.listOf(s.struct('DeviceClassConfiguration', { opaque })),
        extendedResourceName: s.pointer(s.str),
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
    spec: s.always(claimSpec),
    status: s.always(
      s.struct('ResourceClaimStatus', {
        allocation: s.pointer(s.anything),
        reservedFor: s.mapList(
          ['uid'],
          s.struct('ResourceClaimConsumerReference', {
            apiGroup: s.str,
            resource: s.always(s.str),
            name: s.always(s.str),
            uid: s.always(s.str),
          }),
        ),
        devices: s.listOf(s.anything),
      }),
    ),
  },
})

const resourceClaimTemplate = keptKind({
  type: resource('ResourceClaimTemplate', 'resourceclaimtemplates', true),
  properties: {
    spec: s.always(
      s.struct('ResourceClaimTemplateSpec', { metadata: s.pointer(s.anything), spec: s.always(claimSpec) }),
    ),
  },
})

const resourceSlice = keptKind({
  type: resource('ResourceSlice', 'resourceslices', false),
  generation: true,
  properties: {
    spec: s.always(
      s.struct('ResourceSliceSpec', {
        driver: s.always(s.str),
        pool: s.always(
          s.struct('ResourcePool', {
            name: s.always(s.str),
            generation: s.always(s.int64),
            resourceSliceCount: s.always(s.int64),
          }),
        ),
        nodeName: s.pointer(s.str),
        nodeSelector: s.pointer(s.anything),
        allNodes: s.pointer(s.bool),
        devices: s.listOf(s.anything),
        perDeviceNodeSelection: s.pointer(s.bool),
        sharedCounters: s.listOf(s.anything),
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
const subject = s.struct('Subject', {
  kind: s.always(s.str),
  user: s.pointer(s.struct('UserSubject', { name: s.always(s.str) })),
  group: s.pointer(s.struct('GroupSubject', { name: s.always(s.str) })),
  serviceAccount: s.pointer(s.struct('ServiceAccountSubject', { namespace: s.always(s.str), name: s.always(s.str) })),
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
    spec: s.always(
      s.struct('FlowSchemaSpec', {
        priorityLevelConfiguration: s.always(
          s.struct('PriorityLevelConfigurationReference', { name: s.always(s.str) }),
        ),
        matchingPrecedence: s.withDefault(s.always(s.int32), 1000),
        distinguisherMethod: s.pointer(s.struct('FlowDistinguisherMethod', { type: s.always(s.str) })),
        rules: s.listOf(
          s.struct('PolicyRulesWithSubjects', {
            subjects: s.always(s.listOf(subject)),
            resourceRules: s.listOf(
              s.struct('ResourcePolicyRule', {
                verbs: s.always(s.setOf(s.str)),
                apiGroups: s.always(s.setOf(s.str)),
                resources: s.always(s.setOf(s.str)),
                clusterScope: s.bool,
                namespaces: s.setOf(s.str),
              }),
            ),
            nonResourceRules: s.listOf(
              s.struct('NonResourcePolicyRule', {
                verbs: s.always(s.setOf(s.str)),
                nonResourceURLs: s.always(s.setOf(s.str)),
              }),
            ),
          }),
        ),
      }),
    ),
    status: s.always(s.struct('FlowSchemaStatus', { conditions: s.mapList(['type'], s.condition) })),
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
    spec: s.always(
      s.struct('PriorityLevelConfigurationSpec', {
        type: s.always(s.str),
        limited: s.pointer(s.anything),
        exempt: s.pointer(s.anything),
      }),
    ),
    status: s.always(s.struct('PriorityLevelConfigurationStatus', { conditions: s.conditions })),
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
