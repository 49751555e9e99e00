// Templates of pods, replication controllers, and autoscalers of pods. Stored without any effect.
import type { KubeObject } from '#api/schema/object.ts'
import { text } from './core-columns.ts'
import { fields, listAt, number, specOf, statusOf, text as textOf } from './fields.ts'
import { keptKind, typeIn } from './kept-kind.ts'
import type { Column } from './kind.ts'
import { podTemplate } from './pod-spec.ts'
import * as s from './shape.ts'
import { appCondition, templateColumns } from './workload.ts'

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

export const scalingKinds = [podTemplateKind, replicationController, horizontalPodAutoscaler] as const
