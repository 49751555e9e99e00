// Parts of times and durations. Time zones are UTC, names of the tz database, or offsets like +02:00.
import { method, type Overload, type Run } from './functions.ts'
import type { Memo } from './memo.ts'
import { floorDiv } from './time.ts'
import { type CelType, DURATION, INT, STRING, TIMESTAMP } from './types.ts'
import { type CelDuration, CelError, type CelTimestamp, type CelValue } from './values.ts'

const MS = 1_000_000n
const OFFSET = /^([+-]?)(\d\d):(\d\d)$/

/** The clock on the wall of that zone, as the fields of a UTC date. */
function wallClock(t: CelTimestamp, zone: string, memo: Memo): Date | CelError {
  const ms = Number(floorDiv(t.nanos, MS))
  if (zone === 'UTC' || zone === '') return new Date(ms)
  const offset = OFFSET.exec(zone)
  if (offset !== null)
    return new Date(ms + (offset[1] === '-' ? -1 : 1) * (Number(offset[2]) * 60 + Number(offset[3])) * 60_000)
  try {
    const parts = memo.zone(zone).formatToParts(ms)
    const field = (type: string): number => Number(parts.find((p) => p.type === type)?.value)
    const sub = ((ms % 1000) + 1000) % 1000
    const date = new Date(0)
    date.setUTCFullYear(field('year'), field('month') - 1, field('day'))
    date.setUTCHours(field('hour'), field('minute'), field('second'), sub)
    return date
  } catch {
    return new CelError(`unknown time zone ${zone}`)
  }
}

/** Looking into a zone may mean to load it. */
const ZONE_COST = 100

const DAY_MS = 86_400_000

const PARTS: Readonly<Record<string, (d: Date) => number>> = {
  getFullYear: (d) => d.getUTCFullYear(),
  getMonth: (d) => d.getUTCMonth(),
  getDate: (d) => d.getUTCDate(),
  getDayOfMonth: (d) => d.getUTCDate() - 1,
  getDayOfWeek: (d) => d.getUTCDay(),
  getDayOfYear: (d) => Math.floor((d.getTime() - new Date(d).setUTCMonth(0, 1)) / DAY_MS),
  getHours: (d) => d.getUTCHours(),
  getMinutes: (d) => d.getUTCMinutes(),
  getSeconds: (d) => d.getUTCSeconds(),
  getMilliseconds: (d) => d.getUTCMilliseconds(),
}

function part(read: (d: Date) => number) {
  return (t: CelTimestamp, zone: string, run: Run): CelValue => {
    const date = wallClock(t, zone, run.memo)
    return date instanceof CelError ? date : BigInt(read(date))
  }
}

const whole = (unit: bigint) => (d: CelDuration) => d.nanos / unit

const ofDuration = (name: string, get: (d: CelDuration) => bigint): Overload => method(name, [DURATION], INT, get)
const zoned: readonly CelType[] = [TIMESTAMP, STRING]

export const TIME_FUNCTIONS: readonly Overload[] = [
  ...Object.entries(PARTS).flatMap(([name, read]) => [
    method(name, [TIMESTAMP], INT, (t: CelTimestamp, run: Run) => part(read)(t, 'UTC', run)),
    method(name, zoned, INT, part(read), () => ZONE_COST),
  ]),
  ofDuration('getHours', whole(3_600_000n * MS)),
  ofDuration('getMinutes', whole(60_000n * MS)),
  ofDuration('getSeconds', whole(1_000n * MS)),
  ofDuration('getMilliseconds', whole(MS)),
]
