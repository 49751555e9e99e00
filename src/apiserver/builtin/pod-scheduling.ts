// Where a pod may run: affinity, tolerations, spread constraints.
import { always, int32, int64, labelSelector, listOf, mapList, pointer, str, struct } from './shape.ts'
import type { BuiltinSchema } from './kind.ts'

const requirement = struct('NodeSelectorRequirement', { key: always(str), operator: always(str), values: listOf(str) })
const nodeSelectorTerm = struct(
  'NodeSelectorTerm',
  { matchExpressions: listOf(requirement), matchFields: listOf(requirement) },
  { 'x-kubernetes-map-type': 'atomic' },
)
export const nodeSelector: BuiltinSchema = struct(
  'NodeSelector',
  { nodeSelectorTerms: always(listOf(nodeSelectorTerm)) },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
)

const podAffinityTerm = struct('PodAffinityTerm', {
  labelSelector,
  namespaces: listOf(str),
  topologyKey: always(str),
  namespaceSelector: labelSelector,
  matchLabelKeys: listOf(str),
  mismatchLabelKeys: listOf(str),
})
const podAffinity = (goName: string): BuiltinSchema =>
  pointer(
    struct(goName, {
      requiredDuringSchedulingIgnoredDuringExecution: listOf(podAffinityTerm),
      preferredDuringSchedulingIgnoredDuringExecution: listOf(
        struct('WeightedPodAffinityTerm', { weight: always(int32), podAffinityTerm: always(podAffinityTerm) }),
      ),
    }),
  )

export const affinity: BuiltinSchema = pointer(
  struct('Affinity', {
    nodeAffinity: pointer(
      struct('NodeAffinity', {
        requiredDuringSchedulingIgnoredDuringExecution: nodeSelector,
        preferredDuringSchedulingIgnoredDuringExecution: listOf(
          struct('PreferredSchedulingTerm', { weight: always(int32), preference: always(nodeSelectorTerm) }),
        ),
      }),
    ),
    podAffinity: podAffinity('PodAffinity'),
    podAntiAffinity: podAffinity('PodAntiAffinity'),
  }),
)

export const tolerations: BuiltinSchema = listOf(
  struct('Toleration', { key: str, operator: str, value: str, effect: str, tolerationSeconds: pointer(int64) }),
)

export const spreadConstraints: BuiltinSchema = mapList(
  ['topologyKey', 'whenUnsatisfiable'],
  struct('TopologySpreadConstraint', {
    maxSkew: always(int32),
    topologyKey: always(str),
    whenUnsatisfiable: always(str),
    labelSelector,
    minDomains: pointer(int32),
    nodeAffinityPolicy: pointer(str),
    nodeTaintsPolicy: pointer(str),
    matchLabelKeys: listOf(str),
  }),
)
