// The rendered configurations that machines refer to: one ComponentConfig per set of values, named by its digest.
import type { RevisedComponent } from '#api/protocol/set-revision.ts'
import { configObject, renderedConfig } from '#api/kinds/component-config.ts'
import type { SetAction } from '../actions.ts'
import type { ControllerRevision } from './revisions.ts'
import type { Seen } from '../seen.ts'

/** A revision holds its components' values, so any revision that a set returns to is rendered again. */
export function missingConfigs({ set, configs }: Seen, revisions: readonly ControllerRevision[]): readonly SetAction[] {
  const wanted = new Map(
    [...set.spec.components, ...revisions.flatMap((r) => r.data?.components ?? [])].flatMap((c) => configOf(c) ?? []),
  )
  return [...wanted].flatMap(([object, { name, rendered }]) =>
    configs.has(object)
      ? []
      : [
          {
            kind: 'CreateConfig' as const,
            reason: `new values for ${name}`,
            config: configObject(name, rendered),
          },
        ],
  )
}

/** A configuration that lacks a secret value is not created: machines would treat it as complete. */
function configOf(wanted: RevisedComponent) {
  const rendered = renderedConfig(wanted)
  if (rendered === undefined || !rendered.isWhole) return undefined
  return [[rendered.object, { name: wanted.name, rendered }]] as const
}

export const configNames = (components: readonly RevisedComponent[]): readonly string[] =>
  components.flatMap((c) => renderedConfig(c)?.object ?? [])
