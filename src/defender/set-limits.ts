// How many machines of a set may be unavailable, as the Defender reads it. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { matchesSelector } from '#kube/selector.ts'
import { readSelector } from '#nodes/placement/selecting.ts'
import type { SetLimit } from './snapshot.ts'

/** None for a set with an unreadable selector: such a set requests nothing. */
export function setLimitOf({ metadata, spec }: MachineComponentSet): readonly SetLimit[] {
  const read = readSelector(spec.selector)
  if (read.kind === 'Unreadable') return []
  const { selector } = read
  return [
    {
      name: metadata.name ?? '',
      uid: metadata.uid ?? '',
      maxUnavailable: spec.rollout.maxUnavailable,
      components: new Set(spec.components.map((c) => c.name)),
      selects: ({ source }) => matchesSelector(selector, source.metadata.labels),
    },
  ]
}
