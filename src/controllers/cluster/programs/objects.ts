// Judges what a hub deploys into Clusters as their administrator: the three programs and what belongs to them, by name, and nothing else. Pure.
import { HOSTED_PROGRAMS, programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { fieldAt } from '#lib/fields.ts'
import { printableLine } from '#lib/printable.ts'

const KNOWN: ReadonlySet<string> = new Set([
  'v1 Secret kubenode-config',
  'v1 ResourceQuota kubenode-critical-pods',
  ...HOSTED_PROGRAMS.map(programLeaseName).flatMap((name) => [
    `apps/v1 Deployment ${name}`,
    `policy/v1 PodDisruptionBudget ${name}`,
  ]),
])

/** Throws with the first problem: a part of the programs is worse than none. */
export function parseProgramObjects(text: string): readonly KubeObject[] {
  const found: unknown = JSON.parse(text)
  if (!Array.isArray(found)) throw new Error('it is no list of objects')
  const strange = found.map(problemOf).find((problem) => problem !== undefined)
  if (strange !== undefined) throw new Error(strange)
  return found as readonly KubeObject[]
}

function problemOf(object: unknown): string | undefined {
  const [version, kind, namespace, name] = [
    ['apiVersion'],
    ['kind'],
    ['metadata', 'namespace'],
    ['metadata', 'name'],
  ].map((path) => String(fieldAt(object, ...path)))
  const what = `${version ?? ''} ${kind ?? ''} ${name ?? ''}`
  return namespace === SYSTEM_NAMESPACE && KNOWN.has(what)
    ? undefined
    : `${printableLine(what)} in namespace ${printableLine(namespace ?? '')} is not part of the programs of a Cluster`
}
