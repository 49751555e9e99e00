// Where a pod may run: affinity, tolerations, spread constraints.
import * as s from './shape.ts'
import type { BuiltinSchema } from './kind.ts'

const requirement = s.struct('NodeSelectorRequirement', {
  key: s.always(s.str),
  operator: s.always(s.str),
  values: s.listOf(s.str),
})
const nodeSelectorTerm = s.struct(
  'NodeSelectorTerm',
  { matchExpressions: s.listOf(requirement), matchFields: s.listOf(requirement) },
  { 'x-kubernetes-map-type': 'atomic' },
)
const nodeSelector: BuiltinSchema = s.struct(
  'NodeSelector',
  { nodeSelectorTerms: s.always(s.listOf(nodeSelectorTerm)) },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
)

const podAffinityTerm = s.struct('PodAffinityTerm', {
  labelSelector: s.labelSelector,
  namespaces: s.listOf(s.str),
  topologyKey: s.always(s.str),
  namespaceSelector: s.labelSelector,
  matchLabelKeys: s.listOf(s.str),
  mismatchLabelKeys: s.listOf(s.str),
})
const podAffinity = (goName: string): BuiltinSchema =>
  s.pointer(
    s.struct(goName, {
      requiredDuringSchedulingIgnoredDuringExecution: s.listOf(podAffinityTerm),
      preferredDuringSchedulingIgnoredDuringExecution: s.listOf(
        s.struct('WeightedPodAffinityTerm', { weight: s.always(s.int32), podAffinityTerm: s.always(podAffinityTerm) }),
      ),
    }),
  )

export const affinity: BuiltinSchema = s.pointer(
  s.struct('Affinity', {
    nodeAffinity: s.pointer(
      s.struct('NodeAffinity', {
        requiredDuringSchedulingIgnoredDuringExecution: nodeSelector,
        preferredDuringSchedulingIgnoredDuringExecution: s.listOf(
          s.struct('PreferredSchedulingTerm', { weight: s.always(s.int32), preference: s.always(nodeSelectorTerm) }),
        ),
      }),
    ),
    podAffinity: podAffinity('PodAffinity'),
    podAntiAffinity: podAffinity('PodAntiAffinity'),
  }),
)

export const tolerations: BuiltinSchema = s.listOf(
  s.struct('Toleration', {
    key: s.str,
    operator: s.str,
    value: s.str,
    effect: s.str,
    tolerationSeconds: s.pointer(s.int64),
  }),
)

export const spreadConstraints: BuiltinSchema = s.mapList(
  ['topologyKey', 'whenUnsatisfiable'],
  s.struct('TopologySpreadConstraint', {
    maxSkew: s.always(s.int32),
    topologyKey: s.always(s.str),
    whenUnsatisfiable: s.always(s.str),
    labelSelector: s.labelSelector,
    minDomains: s.pointer(s.int32),
    nodeAffinityPolicy: s.pointer(s.str),
    nodeTaintsPolicy: s.pointer(s.str),
    matchLabelKeys: s.listOf(s.str),
  }),
)
