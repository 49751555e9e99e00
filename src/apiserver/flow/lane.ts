// Which lane a request takes: what keeps nodes alive has seats of its own, health is always answered, the rest shares.
import type { ResourcePath } from '../http/request-path.ts'

export type Lane = 'vital' | 'ordinary'

const SINGLE: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch'])
/** Whose silence is taken for death. */
const REPORTING: ReadonlySet<string> = new Set(['/nodes', 'kubenode.io/machines'])

/** Only requests on one object: a list of all leases is work like any other. */
export function laneOf(path: Pick<ResourcePath, 'group' | 'plural' | 'subresource'>, verb: string): Lane {
  if (!SINGLE.has(verb)) return 'ordinary'
  const resource = `${path.group}/${path.plural}`
  if (resource === 'coordination.k8s.io/leases') return 'vital'
  return path.subresource === 'status' && REPORTING.has(resource) ? 'vital' : 'ordinary'
}
