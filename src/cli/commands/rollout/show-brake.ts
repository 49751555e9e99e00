// Prints the fleet brake, and lifts a stop by creating a hold, which sync obeys.
import { BRAKE_NAME, type FleetBrake, fleetBrake } from '#api/kinds/fleet-brake.ts'
import { brakeLines, stopsInForce } from '#explain/brake.ts'
import { rolloutErrors } from '#explain/rollout/rollout-errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import { place } from './place.ts'
import type { RequestOptions } from './requests.ts'

const brakeOf = (client: KubeClient): Promise<FleetBrake | undefined> => client.get(fleetBrake, { name: BRAKE_NAME })

export async function brakeStatus(options: ServerOptions, io: Io): Promise<void> {
  const brake = await brakeOf(await connect(options, io))
  io.out(shownInWindow(io, brakeLines(brake?.spec, systemClock.now())))
}

export async function liftStops(stop: string | undefined, options: RequestOptions, io: Io): Promise<void> {
  const target = { kind: 'FleetBrake', name: BRAKE_NAME } as const
  const request = {
    target,
    effect: 'Retry',
    ...defined({ to: stop }),
    reason: options.reason,
    for: options.for,
  } as const
  let lifted: readonly string[] = []
  const hold = await place(options, io, `brake/${BRAKE_NAME}`, request, (found) => {
    const { spec } = found as FleetBrake
    if (spec.cluster !== undefined) throw new KubeNodeError(rolloutErrors.KN1374_copy({ cluster: spec.cluster }))
    const all = stopsInForce(spec)
    lifted = stop === undefined ? all : all.filter((name) => name === stop)
    if (lifted.length === 0)
      throw new KubeNodeError(
        rolloutErrors.KN1374_lift({
          what: stop === undefined ? 'versions and rules are' : `${stop} is`,
          stops: all.join(', ') || 'none',
        }),
      )
  })
  io.out(shownInWindow(io, [`lifting ${lifted.join(', ')} in all clusters (operationalhold/${hold.metadata.name})`]))
}
