// Kinds that the scheduler, kubelets and the controllers of workloads list. Stored without any effect.
import { text } from './core-columns.ts'
import { text as textOf } from './fields.ts'
import { keptKind, typeIn } from './kept-kind.ts'
import { deviceKinds } from './device-kinds.ts'
import { flowKinds } from './flow-kinds.ts'
import { scalingKinds } from './scaling-kinds.ts'
import * as s from './shape.ts'

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

export const schedulingKinds = [runtimeClass, ...scalingKinds, ...deviceKinds, ...flowKinds] as const
