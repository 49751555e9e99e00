// Pure: translates systemd's state of a unit into the agent's.
import type { ProcessReading } from '../../components/seen.ts'
import type { Service } from '../port.ts'
import type { UnitState } from './systemctl.ts'

export interface UnitReading {
  readonly reading: ProcessReading
  readonly why: string | undefined
}

/** `restarts`: systemd's restart count at the previous reading. */
export function unitReading(state: UnitState, restart: Service['restart'], restarts: number): UnitReading {
  const how = `${state.result}, exit status ${state.exitStatus}`
  switch (state.active) {
    case 'active':
    case 'reloading':
      return state.restarts > restarts
        ? { reading: 'Crashed', why: `ended and restarted by systemd (${how})` }
        : { reading: 'Running', why: undefined }
    case 'activating':
      return state.sub === 'auto-restart'
        ? { reading: 'Crashed', why: `ended (${how}); systemd restarts it` }
        : { reading: 'Running', why: undefined }
    case 'failed':
      return restart === 'Never'
        ? { reading: 'Ended', why: how }
        : { reading: 'Crashed', why: `the unit failed (${how})` }
    case 'deactivating':
      return { reading: 'Running', why: undefined }
    default:
      // Its exit was allowed, or a user stopped the unit.
      return restart !== 'Always' && state.result === 'success'
        ? { reading: 'Ended', why: undefined }
        : { reading: 'Stopped', why: 'the unit was stopped' }
  }
}
