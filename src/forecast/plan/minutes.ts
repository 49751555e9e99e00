// Predicted durations as text, never more precise than the prediction.
export const MINUTE = 60_000
const HOUR = 60

/** Minutes; hours from ninety minutes on; days and hours from two days on. Rounded up. */
export function minutesText(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE)
  if (minutes < 90) return `${minutes} min`
  if (minutes < 48 * HOUR) return joined([Math.floor(minutes / HOUR), 'h'], [minutes % HOUR, 'min'])
  const hours = Math.ceil(minutes / HOUR)
  return joined([Math.floor(hours / 24), 'days'], [hours % 24, 'h'])
}

const joined = ([a, unit]: readonly [number, string], [b, part]: readonly [number, string]): string =>
  b === 0 ? `${a} ${unit}` : `${a} ${unit} ${b} ${part}`
