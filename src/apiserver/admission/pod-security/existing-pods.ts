// Warnings for a namespace that gets a stricter level: its existing pods stay, and these would be refused if they were created now.
import type { KubeObject } from '#api/schema/object.ts'
import { specOf } from '../../builtin/fields.ts'
import { reasonsText, violationsOf } from './evaluate.ts'
import { textOf, type LevelVersion } from './levels.ts'
import { viewOfPod } from './pod-view.ts'

/** Pods checked for one warning, as on a real server. */
const MOST_PODS = 3_000

export function existingPodsWarnings(
  pods: readonly KubeObject[],
  namespace: string,
  enforce: LevelVersion,
): readonly string[] {
  const checked = oneOfEachFirst(pods).slice(0, MOST_PODS)
  const byReasons = Map.groupBy(checked, (pod) =>
    reasonsText(violationsOf(viewOfPod(specOf(pod), pod.metadata.annotations), enforce)),
  )
  byReasons.delete('')
  const lines = [...byReasons].map(([reasons, found]) => {
    const [first = '', ...others] = found.map((p) => p.metadata.name ?? '').toSorted()
    const rest = others.length === 0 ? '' : ` (and ${others.length} other ${others.length === 1 ? 'pod' : 'pods'})`
    return `${first}${rest}: ${reasons}`
  })
  return [
    ...(checked.length < pods.length
      ? [
          `new PodSecurity enforce level only checked against the first ${checked.length} of ${pods.length} existing pods`,
        ]
      : []),
    ...(lines.length === 0
      ? []
      : [
          `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${JSON.stringify(textOf(enforce))}`,
        ]),
    ...lines.toSorted(),
  ]
}

/** Pods of one controller are alike: each controller is seen before any is seen twice. */
function oneOfEachFirst(pods: readonly KubeObject[]): readonly KubeObject[] {
  const seen = new Set<string>()
  const { first = [], again = [] } = Object.groupBy(pods, (pod) => {
    const owner = pod.metadata.ownerReferences?.find((o) => o.controller === true)?.uid
    if (owner === undefined) return 'first'
    const isAgain = seen.has(owner)
    seen.add(owner)
    return isAgain ? 'again' : 'first'
  })
  return [...first, ...again]
}
