// The Kubernetes version that an API server serves, from its /version. During an upgrade a new program keeps the previous minor's behavior and may be rolled
// back, so anything that depends on the server's version must fit that behavior. Pure.
import { isObject } from '#lib/json.ts'
import { parseVersion } from '#lib/semver.ts'

/** `v1.36.2`; `v1.35.0+by.1.36.2` for a 1.36.2 with the behavior of 1.35. Undefined if the response names none. */
export function servedVersion(answer: unknown): string | undefined {
  if (!isObject(answer) || typeof answer['gitVersion'] !== 'string') return undefined
  const own = answer['gitVersion']
  const [major, minor] = [numberIn(answer['emulationMajor']), numberIn(answer['emulationMinor'])]
  const parsed = parseVersion(own, { suffix: 'vendor' })
  if (parsed === undefined || major === undefined || minor === undefined) return own
  if (major !== parsed.numbers[0] || minor >= parsed.numbers[1]) return own
  return `v${major}.${minor}.0+by.${parsed.numbers.join('.')}`
}

/** Some providers report `35+`. */
const numberIn = (value: unknown): number | undefined => {
  const [, digits] = typeof value === 'string' ? (/^(\d{1,4})\+?$/.exec(value) ?? []) : []
  return digits === undefined ? undefined : Number(digits)
}
