// Pure: when a log line was written, as far as the line shows it: RFC 3339 near its start, or a klog header.

const NEAR_START = 200
const RFC3339 = /\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?/
const KLOG = /^[IWEF](\d{2})(\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?)/
const HALF_YEAR_MS = 182 * 86_400_000

/** Undefined: the line has no time. Times without a zone are UTC, like those of containers. */
export function lineTime(line: string, now: number): number | undefined {
  const klog = KLOG.exec(line)
  if (klog !== null) return klogTime(klog, now)
  const text = RFC3339.exec(line.slice(0, NEAR_START))?.[0].replace(' ', 'T')
  if (text === undefined) return undefined
  const at = Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}Z`)
  return Number.isNaN(at) ? undefined : at
}

/** klog omits the year: the line is from the last twelve months. */
function klogTime([, month = '', day = '', time = '']: readonly string[], now: number): number | undefined {
  const year = new Date(now).getUTCFullYear()
  const at = Date.parse(`${year}-${month}-${day}T${time}Z`)
  if (Number.isNaN(at)) return undefined
  return at > now + HALF_YEAR_MS ? Date.parse(`${year - 1}-${month}-${day}T${time}Z`) : at
}

/** The lines starting with the first one that is not older than `since`; all lines if none has a time. */
export function linesSince(
  lines: readonly string[],
  since: number,
  now: number,
): { readonly lines: readonly string[]; readonly areTimed: boolean } {
  const times = lines.map((line) => lineTime(line, now))
  if (times.every((at) => at === undefined)) return { lines, areTimed: lines.length === 0 }
  const first = times.findIndex((at) => at !== undefined && at >= since)
  return { lines: first === -1 ? [] : lines.slice(first), areTimed: true }
}
