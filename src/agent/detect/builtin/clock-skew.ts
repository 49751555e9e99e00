// How far the node's clock is off from the API server's, the reference for leases, certificates and logs.
import { formatDuration } from '#lib/duration.ts'
import type { Reading } from './reading.ts'

/** The server's time is in whole seconds, and was taken at some point during the call. */
export function skewMs(date: string | undefined, beganAt: number, endedAt: number): number | undefined {
  const server = date === undefined ? Number.NaN : Date.parse(date)
  if (!Number.isFinite(server)) return undefined
  // The reported second already started, and the call took time: a skew within these bounds cannot be measured.
  const [earliest, latest] = [server, server + 1_000]
  if (endedAt < earliest) return endedAt - earliest
  return beganAt > latest ? beganAt - latest : 0
}

/** Needs two in a row: one slow answer or one corrected jump is not a skew. */
export function judgeSkew(before: number | undefined, now: number | undefined, maxSkewMs: number): Reading | undefined {
  const type = 'ClockSkewed'
  // An unreachable server proves nothing about the clock.
  if (now === undefined) return undefined
  const isFar = (ms: number | undefined): boolean => ms !== undefined && Math.abs(ms) > maxSkewMs
  if (isFar(now) && isFar(before))
    return {
      type,
      status: 'True',
      reason: 'ClockSkewed',
      message: `the clock is ${formatDuration(Math.abs(now))} ${now > 0 ? 'ahead of' : 'behind'} the API server`,
    }
  return isFar(now)
    ? undefined
    : { type, status: 'False', reason: 'ClockInTime', message: 'the clock matches the API server' }
}
