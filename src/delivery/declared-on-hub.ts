// What a commit declares on the hub of one kind, as the hub's server would complete it.
import { API_GROUP, type ApiKind } from '#api/kind.ts'
import { HUB_TARGET } from '#api/names.ts'
import { applyDefaults } from '#schema/default.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import type { Targets } from './desired.ts'

export const declaredOnHub = <T extends KubeObject>(
  { kind, schema }: ResourceType<T> & Pick<ApiKind, 'schema'>,
  targets: Targets,
): readonly T[] =>
  (targets.get(HUB_TARGET)?.objects ?? [])
    .filter(({ ref }) => ref.group === API_GROUP && ref.kind === kind)
    .map(({ object }) => applyDefaults(schema, object) as T)
