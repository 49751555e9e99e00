// The rendered configurations that machines refer to: one ComponentConfig for each set of values, named by its digest.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { componentConfig, configDigest } from '#api/kinds/component-config.ts'
import { configObjectName } from '#lib/names.ts'
import type { SetAction } from './actions.ts'
import type { Seen } from './seen.ts'

export function missingConfigs({ set, configs }: Seen): readonly SetAction[] {
  return set.spec.components.flatMap(({ name, values }) => {
    if (values === undefined) return []
    const digest = configDigest(values)
    const object = configObjectName(name, digest)
    if (configs.has(object)) return []
    return [
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
    ]
  })
}

export const configNames = (set: Seen['set']): readonly string[] =>
  set.spec.components.flatMap(({ name, values }) =>
    values === undefined ? [] : [configObjectName(name, configDigest(values))],
  )
