// FPGAs as the kernel sees them: managers whose last configuration failed, and error registers of cards with a device feature list (DFL).
import { type HostFiles, partsIn, wordIn } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'

const MANAGERS = '/sys/class/fpga_manager'
const DFL = '/sys/bus/platform/devices'
/** "write error", "write init error", "write complete error", "firmware request error" */
const FAILED_STATE = /^[a-z ]{1,40} error$/
/** Each line of `status` names an error; empty if there is none. */
const STATUS = /^[a-zA-Z ,-]{1,80}$/
/** Errors that end the work of the card; others are counted by the card and corrected. */
const REGISTERS = ['catfatal_errors', 'fme_errors'] as const
const NO_ERROR = /^0x0*$/
const REGISTER = /^0x[0-9a-f]{1,16}$/

export function judgeFpgas(host: HostFiles): readonly Reading[] {
  const managers = partsIn(host.list, MANAGERS, /^fpga\d+$/).flatMap((name) => {
    const state = wordIn(host, `${MANAGERS}/${name}/state`)
    if (FAILED_STATE.test(state)) return [`${name}: ${state}`]
    const [error = ''] = wordIn(host, `${MANAGERS}/${name}/status`).split('\n', 1)
    return STATUS.test(error) ? [`${name}: ${error}`] : []
  })
  const cards = partsIn(host.list, DFL, /^dfl-fme\.\d+$/).flatMap((name) => {
    const register = REGISTERS.find((file) => {
      const value = wordIn(host, `${DFL}/${name}/errors/${file}`)
      return REGISTER.test(value) && !NO_ERROR.test(value)
    })
    return register === undefined ? [] : [`${name}: ${register} is not zero`]
  })
  const calm = { reason: 'FPGAsWork', message: 'no FPGA reports an error' }
  return [readingOf({ type: 'FPGAFaulty', calm }, [...managers, ...cards])]
}
