// The rendered configurations that machines refer to: one ComponentConfig for each set of values, named by its digest.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { componentConfig, configDigest } from '#api/kinds/component-config.ts'
import { configObjectName } from '#lib/names.ts'
import type { SetAction } from './actions.ts'
import type { ControllerRevision, WantedComponent } from './revisions.ts'
import type { Seen } from './seen.ts'

/** A revision holds the values of its components: whatever is returned to is rendered again. */
export function missingConfigs({ set, configs }: Seen, revisions: readonly ControllerRevision[]): readonly SetAction[] {
  const wanted = new Map(
    [...set.spec.components, ...revisions.flatMap((r) => r.data?.components ?? [])].flatMap((c) => configOf(c) ?? []),
  )
  return [...wanted].flatMap(([object, { name, values, digest }]) =>
    configs.has(object)
      ? []
      : [
          {
            kind: 'CreateConfig' as const,
            reason: `values of ${name} are rendered`,
            config: {
              apiVersion: API_GROUP_VERSION,
              kind: componentConfig.kind,
              metadata: { name: object },
              spec: { component: name, digest, values },
            },
          },
        ],
  )
}

function configOf({ name, values }: WantedComponent) {
  if (values === undefined) return undefined
  const digest = configDigest(values)
  return [[configObjectName(name, digest), { name, values, digest }]] as const
}

export const configNames = (components: readonly WantedComponent[]): readonly string[] =>
  components.flatMap((c) => configOf(c)?.map(([object]) => object) ?? [])
