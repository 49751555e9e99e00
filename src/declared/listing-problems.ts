// Warns a commit's author about objects that a cluster refuses unless its installer listed them. The list is unknown here, so it is only a warning.
import { isAgentConfigMap } from '#api/agent-config/agent-config-map.ts'
import { API_GROUP } from '#api/kind.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredErrors } from './declared-errors.ts'
import { listingsOf, listingsOfSource } from './listings.ts'
import { type DeclaredProblem, doubtful } from './problem.ts'

/** Empty for objects that every installation lists. */
export function listingProblems(object: KubeObject): readonly DeclaredProblem[] {
  if (isAgentConfigMap(object)) return []
  const { name: named = '' } = object.metadata
  return [...listingsOf(object), ...listingsOfSource(object)].map(({ why, verb, resource, name, namespace }) => {
    const where = namespace === '' ? '' : ` in namespace ${namespace}`
    const message = declaredErrors.KN3094({ why, verb, resource, group: API_GROUP, name, where })
    return doubtful({ object, pointer: '/metadata/name', words: [named, object.kind] }, message)
  })
}
