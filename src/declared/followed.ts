// What a commit makes sync follow or open: a FleetSource with all of its rights, and a kubeconfig that may belong to another Cluster. Pure; contacts no cluster.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { clusterMistake } from '#api/cluster-mistakes.ts'
import { ANNOTATIONS, HUB_TARGET, kubeconfigSecretName } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredErrors } from './declared-errors.ts'
import { certain, type DeclaredProblem, doubtful } from './problem.ts'

export function followedProblems(object: KubeObject): readonly DeclaredProblem[] {
  if (object.apiVersion !== API_GROUP_VERSION) return []
  if (object.kind === 'FleetSource') return sourceProblems(object as unknown as FleetSource)
  if (object.kind !== 'Cluster') return []
  const cluster = object as unknown as Cluster
  return [...nameProblems(cluster), ...specProblems(cluster), ...secretProblems(cluster)]
}

function sourceProblems(source: FleetSource): readonly DeclaredProblem[] {
  const { name = '' } = source.metadata
  if (source.spec.writes !== undefined) return []
  return [
    doubtful(
      { object: source, pointer: '/spec', words: [name, source.kind] },
      declaredErrors.KN1524_unlimited({ name }),
    ),
  ]
}

function nameProblems(cluster: Cluster): readonly DeclaredProblem[] {
  const { name = '' } = cluster.metadata
  if (name !== HUB_TARGET) return []
  return [
    certain(
      { object: cluster, pointer: '/metadata/name', words: [name, cluster.kind] },
      declaredErrors.KN3097({ name }),
    ),
  ]
}

/** Everything else in the commit can be applied. */
function specProblems(cluster: Cluster): readonly DeclaredProblem[] {
  const { name = '' } = cluster.metadata
  const why = clusterMistake(cluster.spec)
  if (why === undefined) return []
  return [
    doubtful({ object: cluster, pointer: '/spec', words: [name, cluster.kind] }, declaredErrors.KN3098({ name, why })),
  ]
}

/** The annotation is on a Secret, which git does not declare: whether it exists is unknown. */
function secretProblems(cluster: Cluster): readonly DeclaredProblem[] {
  const { name = '', namespace = '' } = cluster.metadata
  const secret = cluster.spec.kubeconfigSecretRef?.name
  const expected = kubeconfigSecretName(name)
  if (secret === undefined || secret === expected) return []
  const message = declaredErrors.KN3096({
    name,
    secret,
    expected,
    annotation: ANNOTATIONS.cluster,
    id: `${namespace}/${name}`,
  })
  return [doubtful({ object: cluster, pointer: '/spec/kubeconfigSecretRef/name', words: [secret, name] }, message)]
}
