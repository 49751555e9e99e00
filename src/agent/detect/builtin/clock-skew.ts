// How far the node's clock is from the API server's, the reference for leases, certificates and logs.
import { formatDuration } from '#lib/duration.ts'
import type { Reading } from './reading.ts'

/** The server's time has whole seconds, and was read at some point during the call. */
export function skewMs(date: string | undefined, beganAt: number, endedAt: number): number | undefined {
  const server = date === undefined ? Number.NaN : Date.parse(date)
  if (!Number.isFinite(server)) return undefined
  // The shown second has begun, and the call took time: a skew inside these bounds cannot be told from none.
  const [earliest, latest] = [server, server + 1_000]
  if (endedAt < earliest) return endedAt - earliest
  return beganAt > latest ? beganAt - latest : 0
}

/** Two in a row: one slow answer or one corrected jump is no skew. */
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
