// Reboots of a host without an agent, for repairs and for components: the same request as an agent's. systemd stops the units, and the next session finds the
// new boot by its ID.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { RebootPort } from '../../components/reboot.ts'
import type { Systemctl } from '../../supervise/systemd/systemctl.ts'

interface RebootsOverSshDeps {
  readonly systemctl: Pick<Systemctl, 'run'>
  readonly clock: Clock
  readonly log: Logger
  readonly machine: string
  readonly bootId: string
  readonly upMs: () => number
}

export interface RebootsOverSsh extends RebootPort {
  /** This session has nothing more to do. */
  readonly isRequested: boolean
}

export function rebootsOverSsh({ systemctl, clock, log, machine, bootId, upMs }: RebootsOverSshDeps): RebootsOverSsh {
  let isRequested = false
  return {
    get isRequested() {
      return isRequested
    },
    boot: async () => ({ id: bootId, upMs: upMs(), bootedAt: clock.now() - upMs(), isRequested }),
    request: async (by) => {
      isRequested = true
      log.warn('reboot requested', { machine, ...by })
      try {
        await systemctl.run('--no-block', 'reboot')
      } catch (e) {
        isRequested = false
        throw e
      }
    },
    // Nothing of the request is kept: a host that did not reboot is asked again only under a permit.
    withdraw: async () => undefined,
  }
}
