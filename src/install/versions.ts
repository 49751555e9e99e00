// Which version change an installation may make in one step. Pure.
import { compareVersions, parseVersion } from '#lib/semver.ts'

/** Programs and agents two minor versions apart work together; larger gaps are untested. */
const MAX_SKEW = 2

/** Why one version cannot directly follow the other; undefined if it can. */
export function skipProblem(from: string, to: string): string | undefined {
  const [a, b] = [parseVersion(from), parseVersion(to)]
  if (a === undefined || b === undefined) return from === to ? undefined : 'one of them is no version of KubeNode'
  const [[major, minor], [nextMajor, nextMinor]] = [a.numbers, b.numbers]
  if (major !== nextMajor) return 'the major version differs'
  const minors = Math.abs(minor - nextMinor)
  return minors > 1 ? `they are ${minors} minor versions apart, and at most 1 is supported` : undefined
}

/** A prerelease is older than its release: going back from 0.1.0 to 0.1.0-dev keeps the newer definitions too. */
export const isOlder = (a: string, b: string): boolean => {
  const [x, y] = [parseVersion(a), parseVersion(b)]
  return x !== undefined && y !== undefined && compareVersions(x, y) < 0
}

/** Whether an agent of this version works with programs of that one. Undefined for an unreadable version. */
export function isWithinSkew(agent: string, programs: string): boolean | undefined {
  const [a, b] = [parseVersion(agent), parseVersion(programs)]
  if (a === undefined || b === undefined) return undefined
  return a.numbers[0] === b.numbers[0] && Math.abs(a.numbers[1] - b.numbers[1]) <= MAX_SKEW
}
