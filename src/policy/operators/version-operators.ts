// Operators over versions (kubelet, kernel, container runtime). A text that is not a version is unknown. Nodes report vendor builds. So a suffix means a
// release built from that version (5.10.134-16.al8 is after 5.10.134), unless it starts like a prerelease (v1.33.0-rc.1 is before v1.33.0).
import { compareVersions, parseRange, parseVersion } from '#lib/semver.ts'
import { verdictOf } from '../verdict.ts'
import type { Verdict } from '../verdict.ts'
import { badValue, bound, wrongType } from './operator.ts'
import type { Operator } from './operator.ts'
import type { Shape } from '../vocabulary.ts'

const VENDOR = { suffix: 'vendor' } as const

const ON_VERSION = {
  readAs: 'value',
  accepts: 'a version',
  fits: ({ type }: Shape) => type === 'version',
} as const

const ordering = (name: string, doc: string, holds: (order: number) => boolean): Operator => {
  const compare = (seen: unknown, other: unknown): Verdict => {
    const [a, b] = [seenVersion(seen), seenVersion(other)]
    return a && b ? verdictOf(holds(compareVersions(a, b))) : 'unknown'
  }
  return {
    name,
    doc,
    ...ON_VERSION,
    bind: (value) => {
      if (typeof value !== 'string') return wrongType('a version such as "1.32.4"', value)
      if (!parseVersion(value, VENDOR)) return badValue('not a version; write one like 1.32.4')
      return bound((seen) => compare(seen, value))
    },
    compare,
  }
}

const seenVersion = (seen: unknown) => (typeof seen === 'string' ? parseVersion(seen, VENDOR) : undefined)

const satisfies: Operator = {
  name: 'semverSatisfies',
  doc: 'The version is in this range, such as ">=1.30 <1.33 || ^2".',
  ...ON_VERSION,
  bind: (value) => {
    if (typeof value !== 'string') return wrongType('a range such as ">=1.30 <1.33"', value)
    const range = parseRange(value, VENDOR)
    if (range === undefined) return badValue('not a version range; write one like ">=1.30 <1.33 || ^2"')
    return bound((seen) => {
      const version = seenVersion(seen)
      return version ? verdictOf(range(version)) : 'unknown'
    })
  },
}

export const VERSION_OPERATORS: readonly Operator[] = [
  ordering('semverEqual', 'The same version, ignoring build metadata.', (order) => order === 0),
  ordering('semverLess', 'An older version.', (order) => order < 0),
  ordering('semverAtMost', 'This version or an older one.', (order) => order <= 0),
  ordering('semverGreater', 'A newer version.', (order) => order > 0),
  ordering('semverAtLeast', 'This version or a newer one.', (order) => order >= 0),
  satisfies,
]
