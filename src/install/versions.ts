// Which change of version an installation may make in one go. Pure.

interface Version {
  readonly major: number
  readonly minor: number
  readonly patch: number
}

const FORM = /^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:[-+].*)?$/

function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch] = FORM.exec(text) ?? []
  return major === undefined ? undefined : { major: Number(major), minor: Number(minor), patch: Number(patch) }
}

/** Programs and agents of two minor versions work together; further apart nothing was tried. */
const MAX_SKEW = 2

/** Why one cannot follow the other directly; undefined when it can. */
export function skipProblem(from: string, to: string): string | undefined {
  const [a, b] = [parseVersion(from), parseVersion(to)]
  if (a === undefined || b === undefined) return from === to ? undefined : 'one of them is no version of KubeNode'
  if (a.major !== b.major) return 'the major version differs'
  const minors = Math.abs(a.minor - b.minor)
  return minors > 1 ? `they are ${minors} minor versions apart, and at most 1 is supported` : undefined
}

export const isOlder = (a: string, b: string): boolean => {
  const [x, y] = [parseVersion(a), parseVersion(b)]
  if (x === undefined || y === undefined) return false
  return x.major !== y.major ? x.major < y.major : x.minor !== y.minor ? x.minor < y.minor : x.patch < y.patch
}

/** Whether an agent of this version works with programs of that one. An unreadable version is unknown, and so is its skew. */
export function isWithinSkew(agent: string, programs: string): boolean | undefined {
  const [a, b] = [parseVersion(agent), parseVersion(programs)]
  if (a === undefined || b === undefined) return undefined
  return a.major === b.major && Math.abs(a.minor - b.minor) <= MAX_SKEW
}
