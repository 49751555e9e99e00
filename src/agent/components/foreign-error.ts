// The error of a component whose links would replace files of another owner.
import { KubeNodeError } from '#lib/errors.ts'
import type { Standing } from './adoption.ts'
import { agentErrors } from '../agent-errors.ts'

/** Undefined when nothing is in the way. */
export function foreignError(
  component: string,
  standings: readonly Standing[],
  machine = 'NODE',
): KubeNodeError | undefined {
  const [first] = standings
  if (first === undefined) return undefined
  const data = { data: { foreign: standings.map((s) => s.link.path) } }
  const { path } = first.link
  return first.original === undefined
    ? new KubeNodeError(agentErrors.KN8023_adoptFolder({ component, path }), data)
    : new KubeNodeError(agentErrors.KN8023({ component, first: path, machine }), data)
}
