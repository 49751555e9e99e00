// Semantic versions in CEL: semver("1.2.3").isLessThan(semver("2.0.0")). Strict unless asked to be lenient.
import { compareVersions, parseVersion, type Version } from '#lib/semver.ts'
import { fn, method, type Overload, readsFirst } from './functions.ts'
import { BOOL, INT, opaque, STRING } from './types.ts'
import { CelBox, CelError, type CelOpaque, type CelValue } from './values.ts'

export const SEMVER = opaque('kubernetes.Semver')

/** As semver.org has it: three numbers without leading zeros, then perhaps identifiers. Linear in the text. */
const NUMBER = '(?:0|[1-9][0-9]{0,19})'
const IDENTIFIER = '(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)'
const STRICT = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${IDENTIFIER}(?:\\.${IDENTIFIER})*)?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
)
const MAX_CHARS = 256

class CelSemver extends CelBox<Version> {
  readonly type = SEMVER

  equals(other: CelOpaque): boolean {
    return other instanceof CelSemver && compareVersions(this.of, other.of) === 0
  }
}

/** `v1.2` is `1.2.0`, `01.2.3` is `1.2.3`; what stands behind the numbers is left as it is. */
function normalized(text: string): string {
  const [head = '', numbers = ''] = /^v?([0-9.]*)/.exec(text) ?? []
  const rest = text.slice(head.length)
  const parts = numbers.split('.').map((n) => n.replace(/^0+(?=[0-9])/, ''))
  // a prerelease of a short version is not defined
  if (parts.length > 3 || (parts.length < 3 && rest !== '')) return text
  return [...parts, '0', '0'].slice(0, 3).join('.') + rest
}

function parse(text: string, lenient: boolean): Version | undefined {
  if (text.length > MAX_CHARS) return undefined
  const whole = lenient ? normalized(text) : text
  return STRICT.test(whole) ? parseVersion(whole) : undefined
}

function make(text: string, lenient: boolean): CelValue {
  const version = parse(text, lenient)
  if (version !== undefined) return new CelSemver(version)
  return new CelError(
    text.split('.').length < 3
      ? 'No Major.Minor.Patch elements found'
      : `${JSON.stringify(text)} is no semantic version`,
  )
}

const part = (i: 0 | 1 | 2) => (s: CelSemver) => BigInt(s.of.numbers[i])
const order = (a: CelSemver, b: CelSemver): number => compareVersions(a.of, b.of)
const V = SEMVER

export const SEMVER_FUNCTIONS: readonly Overload[] = [
  fn('semver', [STRING], V, (s: string) => make(s, false), readsFirst()),
  fn('semver', [STRING, BOOL], V, (s: string, lenient: boolean) => make(s, lenient), readsFirst()),
  fn('isSemver', [STRING], BOOL, (s: string) => parse(s, false) !== undefined, readsFirst()),
  fn('isSemver', [STRING, BOOL], BOOL, (s: string, lenient: boolean) => parse(s, lenient) !== undefined, readsFirst()),
  method('major', [V], INT, part(0)),
  method('minor', [V], INT, part(1)),
  method('patch', [V], INT, part(2)),
  method('compareTo', [V, V], INT, (a: CelSemver, b: CelSemver) => BigInt(Math.sign(order(a, b)))),
  method('isGreaterThan', [V, V], BOOL, (a: CelSemver, b: CelSemver) => order(a, b) > 0),
  method('isLessThan', [V, V], BOOL, (a: CelSemver, b: CelSemver) => order(a, b) < 0),
]
