// How far the node's clock is from the API server's, which is what leases, certificates and logs are compared with.
import { formatDuration } from '#lib/duration.ts'
import type { Reading } from './reading.ts'

/** The server's time has whole seconds, and was read at some moment of the call. */
export function skewMs(date: string | undefined, beganAt: number, endedAt: number): number | undefined {
  const server = date === undefined ? Number.NaN : Date.parse(date)
  if (!Number.isFinite(server)) return undefined
  // The second that is shown has begun, and the call lasted: inside these bounds nothing is known.
  const [earliest, latest] = [server, server + 1_000]
  if (endedAt < earliest) return endedAt - earliest
  return beganAt > latest ? beganAt - latest : 0
}

/** Two in a row: one slow answer or one jump that is mended is no skew. */
export function judgeSkew(before: number | undefined, now: number | undefined, maxSkewMs: number): Reading | undefined {
  const type = 'ClockSkewed'
  // A server that is away says nothing about the clock.
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
