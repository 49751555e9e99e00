// Fans, voltages, temperatures and power supplies: alarms of the kernel's sensor drivers, and of the host's management controller if ipmitool is there.
import { type HostFiles, partsIn, wordIn } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'

const HWMON = '/sys/class/hwmon'
/** Plain `temp1_max_alarm` is raised by a warm day. */
const ALARM =
  /^(fan\d+_(alarm|fault|min_alarm)|temp\d+_(crit_alarm|emergency_alarm|fault)|(in|power|curr)\d+_(crit_alarm|lcrit_alarm|fault))$/

export function sensorAlarms(host: HostFiles): readonly string[] {
  return partsIn(host.list, HWMON, /^hwmon\d+$/).flatMap((chip) =>
    partsIn(host.list, `${HWMON}/${chip}`, ALARM)
      .filter((file) => wordIn(host, `${HWMON}/${chip}/${file}`) === '1')
      .map((file) => {
        const [sensor = '', ...what] = file.split('_')
        const label = wordIn(host, `${HWMON}/${chip}/${sensor}_label`) || sensor
        return `${wordIn(host, `${HWMON}/${chip}/name`) || chip} ${label}: ${what.join(' ')}`
      }),
  )
}

/** Critical and non-recoverable. */
const ALARM_STATES: ReadonlySet<string> = new Set(['cr', 'nr'])
const SUPPLY_FAULT = /AC lost|Failure detected|Predictive failure|out-of-range/

/** `ipmitool sdr elist`: "PS1 Status       | C8h | ok  | 10.1 | Presence detected, Power Supply AC lost". */
export function controllerAlarms(sdr: string): readonly string[] {
  return sdr.split('\n').flatMap((line) => {
    const [name, , state, , reading] = line.split('|').map((field) => field.trim())
    if (name === undefined || name === '' || state === undefined || reading === undefined) return []
    return ALARM_STATES.has(state) || SUPPLY_FAULT.test(reading) ? [`${name}: ${reading}`] : []
  })
}

export const judgeSensors = (alarms: readonly string[]): readonly Reading[] => [
  readingOf(
    { type: 'HardwareAlarm', calm: { reason: 'NoAlarms', message: 'no sensor of the host raises an alarm' } },
    // A reading such as "8400 RPM" changes with each look; its sensor does not.
    alarms.map((alarm) => alarm.replaceAll(/: [\d.]+ (RPM|degrees C|Volts|Watts|Amps)$/g, ': outside its limits')),
  ),
]
