// Versions in semver.org order, parsed leniently (a leading v, missing minor or patch), and ranges over them. Linear in the text.

export interface Version {
  readonly numbers: readonly [number, number, number]
  /** Dot-separated identifiers after the hyphen; such a version comes before the same one without. */
  readonly prerelease: readonly string[]
  /** With `suffix: 'vendor'`: identifiers of a vendor release, which comes after the same version without. */
  readonly release?: readonly string[]
}

export interface VersionOptions {
  /**
   * The meaning of a suffix that does not start like a prerelease (alpha, beta, rc, pre, dev). In semver it is a prerelease. For vendors' kernels, kubelets and
   * runtimes (5.10.134-16.al8, v1.32.4-eks-1) it is a release based on that version.
   */
  readonly suffix?: 'prerelease' | 'vendor'
}

/** Longer texts are not versions. */
const MAX_VERSION_CHARS = 128

/** Limit of alternatives and comparators in a range. */
const MAX_RANGE_PARTS = 32

/** `v1.32.4-rc.1+build`; undefined if the text is not a version. */
export function parseVersion(text: string, options: VersionOptions = {}): Version | undefined {
  const partial = parsePartial(text)
  if (partial === undefined || partial.wildcard) return undefined
  return versionOf(partial, options)
}

function versionOf(
  { numbers: [major = 0, minor = 0, patch = 0], prerelease }: Partial,
  { suffix }: VersionOptions,
): Version {
  const isRelease = suffix === 'vendor' && !/^(alpha|beta|rc|pre|dev)/i.test(prerelease[0] ?? '')
  return {
    numbers: [major, minor, patch],
    prerelease: isRelease ? [] : prerelease,
    release: isRelease ? prerelease : [],
  }
}

/** Negative, zero, positive: before, same precedence, after. Ignores build metadata. */
export function compareVersions(a: Version, b: Version): number {
  for (const i of [0, 1, 2] as const) if (a.numbers[i] !== b.numbers[i]) return a.numbers[i] - b.numbers[i]
  if (a.prerelease.length === 0 || b.prerelease.length === 0) {
    const order = b.prerelease.length - a.prerelease.length
    return order === 0 ? compareLists(a.release ?? [], b.release ?? []) : order
  }
  return compareLists(a.prerelease, b.prerelease)
}

function compareLists(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compareIdentifiers(a[i] ?? '', b[i] ?? '')
    if (order !== 0) return order
  }
  return a.length - b.length
}

export type Range = (version: Version) => boolean

/** `>=1.30 <1.33`, `^1.2`, `~1.2.3`, `1.30.x`, joined by `||`; undefined if the text is not a range. Prereleases count by their order. */
export function parseRange(text: string, options: VersionOptions = {}): Range | undefined {
  if (text.length > MAX_VERSION_CHARS * 4) return undefined
  const alternatives = text.split('||').map((part) => part.trim().split(/\s+/))
  if (alternatives.flat().length > MAX_RANGE_PARTS) return undefined
  const ranges: (readonly Range[])[] = []
  for (const parts of alternatives) {
    const comparators = parts.map((part) => parseComparator(part, options))
    if (!comparators.every((c) => c !== undefined)) return undefined
    ranges.push(comparators)
  }
  return (version) => ranges.some((all) => all.every((holds) => holds(version)))
}

interface Partial {
  readonly numbers: readonly number[]
  readonly prerelease: readonly string[]
  readonly wildcard: boolean
}

/** Longer ones first, because they start with the shorter. */
const COMPARISONS = ['>=', '<=', '>', '<', '=', '^', '~'] as const
type Comparison = (typeof COMPARISONS)[number]

function parseComparator(text: string, options: VersionOptions): Range | undefined {
  if (text === '*') return () => true
  const written = COMPARISONS.find((c) => text.startsWith(c))
  const operator = written ?? '='
  const partial = parsePartial(text.slice(written?.length ?? 0))
  if (partial === undefined) return undefined
  const [major = 0, minor = 0, patch = 0] = partial.numbers
  const low = versionOf(partial, options)
  const atLeast = (v: Version) => compareVersions(v, low) >= 0
  /** Below the next version that differs in the n-th number (whose prereleases are above the range too). */
  const below = (n: number) => {
    const high = { numbers: nextNumbers([major, minor, patch], n), prerelease: ['0'] }
    return (v: Version) => compareVersions(v, high) < 0
  }
  const given = partial.numbers.length
  const isWhole = given === 3
  const within = (n: number): Range => {
    const isBelow = below(n)
    return (v) => atLeast(v) && isBelow(v)
  }
  const isBelowNext = below(given - 1)
  const byOperator: Readonly<Record<Comparison, Range>> = {
    '>=': atLeast,
    '<': (v) => compareVersions(v, low) < 0,
    '>': isWhole ? (v) => compareVersions(v, low) > 0 : (v) => !isBelowNext(v),
    '<=': isWhole ? (v) => compareVersions(v, low) <= 0 : isBelowNext,
    '^': within(Math.min(caretIndex(partial.numbers), given - 1)),
    '~': within(given === 1 ? 0 : 1),
    '=': isWhole ? (v) => compareVersions(v, low) === 0 : within(given - 1),
  }
  return byOperator[operator]
}

/** The first nonzero number, which `^` keeps. */
function caretIndex(numbers: readonly number[]): number {
  const i = numbers.findIndex((n) => n > 0)
  return i === -1 ? numbers.length - 1 : i
}

function nextNumbers([major, minor, patch]: Version['numbers'], n: number): Version['numbers'] {
  return n === 0 ? [major + 1, 0, 0] : n === 1 ? [major, minor + 1, 0] : [major, minor, patch + 1]
}

function parsePartial(text: string): Partial | undefined {
  if (text.length === 0 || text.length > MAX_VERSION_CHARS) return undefined
  const plain = (text.startsWith('v') ? text.slice(1) : text).split('+', 1)[0] ?? ''
  const hyphen = plain.indexOf('-')
  const core = hyphen === -1 ? plain : plain.slice(0, hyphen)
  const prerelease = hyphen === -1 ? [] : plain.slice(hyphen + 1).split('.')
  if (!prerelease.every((id) => /^[0-9A-Za-z-_]+$/.test(id))) return undefined
  const numbers: number[] = []
  let wildcard = false
  for (const part of core.split('.')) {
    if (part === 'x' || part === 'X' || part === '*') wildcard = true
    else if (wildcard || numbers.length === 3 || !/^\d{1,15}$/.test(part)) return undefined
    else numbers.push(Number(part))
  }
  if (numbers.length === 0 || (wildcard && prerelease.length > 0)) return undefined
  return { numbers, prerelease, wildcard }
}

function compareIdentifiers(a: string, b: string): number {
  const [an, bn] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (an && bn)
    return a.length === b.length || (a.length < 16 && b.length < 16) ? Number(a) - Number(b) : a.length - b.length
  if (an !== bn) return an ? -1 : 1
  return a === b ? 0 : a < b ? -1 : 1
}
