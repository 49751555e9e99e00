// The error of a component whose unit a user masked on the host: the unit must not be started.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { agentErrors } from '../agent-errors.ts'
import { unitName } from '../supervise/systemd/unit.ts'
import { maskOf } from './host-units.ts'
import type { KeptDeps } from './kept.ts'

/** Undefined when the unit is not masked, or there is no unit. */
export async function maskedError(
  deps: Pick<KeptDeps, 'files' | 'dir'>,
  { component, service }: MachineComponentSpec,
): Promise<KubeNodeError | undefined> {
  if (service === undefined) return undefined
  const unit = unitName(component, service)
  if ((await maskOf(deps, unit)) === undefined) return undefined
  return new KubeNodeError(agentErrors.KN8055({ component, unit }), { retry: 'later' })
}
