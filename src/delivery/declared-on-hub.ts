// The objects of one kind that a commit declares on the hub, completed as the hub's server would do it.
import { API_GROUP, type ApiKind } from '#api/kind.ts'
import { HUB_TARGET } from '#api/names.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { DesiredObject, Targets } from './desired.ts'

export const declaredOnHub = <T extends KubeObject>(
  kind: ResourceType<T> & Pick<ApiKind, 'schema'>,
  targets: Targets,
): readonly T[] => onHub(kind, targets).map(({ object }) => applyDefaults(kind.schema, object) as T)

/** Valid or not: an invalid one stays. Completes nothing, because it is called for each of hundreds of clusters. */
export const isDeclaredOnHub = ({ kind }: Pick<ApiKind, 'kind'>, name: string, targets: Targets): boolean => {
  const { objects = [], rejected = [] } = targets.get(HUB_TARGET) ?? {}
  const isIt = ({ ref }: Pick<DesiredObject, 'ref'>) =>
    ref.group === API_GROUP && ref.kind === kind && ref.name === name
  return objects.some(isIt) || rejected.some(isIt)
}

const onHub = ({ kind }: Pick<ApiKind, 'kind'>, targets: Targets): readonly DesiredObject[] =>
  (targets.get(HUB_TARGET)?.objects ?? []).filter(({ ref }) => ref.group === API_GROUP && ref.kind === kind)
