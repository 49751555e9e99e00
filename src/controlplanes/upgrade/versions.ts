// The version table: which programs make up each control plane version, and which older minors they can emulate. Pure data that a fleet may extend.
import { minorOf } from '#api/constructs/control-plane/settings.ts'
import { compareVersions, parseVersion } from '#lib/semver.ts'
import { someOf } from '#lib/some-of.ts'

export interface ControlPlaneVersion {
  /** The Kubernetes version, such as 1.36.2. */
  readonly version: string
  /** The etcd version that belongs to it. */
  readonly etcd: string
  /** The oldest minor whose behavior its programs can keep: 33 for 1.33. */
  readonly emulatesFrom: number
}

export type VersionTable = readonly ControlPlaneVersion[]

export const rowOf = (table: VersionTable, version: string): ControlPlaneVersion | undefined =>
  table.find((row) => row.version === version)

/** Negative if the first is older. Invalid versions equal nothing and are older than all. */
export function orderOf(a: string, b: string): number {
  const [x, y] = [parseVersion(a), parseVersion(b)]
  if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? -1 : 1
  return compareVersions(x, y)
}

/** The newest version of a minor in the table. */
function newestOf(table: VersionTable, minor: number): ControlPlaneVersion | undefined {
  return table.filter((row) => minorOf(row.version) === minor).toSorted((a, b) => orderOf(b.version, a.version))[0]
}

/** The next version on the way: the wanted one, or the newest of the next minor if minors would be skipped and may be walked. A message if there is no way. */
export function nextVersion(
  table: VersionTable,
  from: string,
  wanted: string,
  walksMinors: boolean,
): { readonly version: string } | { readonly problem: string } {
  const [here, there] = [minorOf(from), minorOf(wanted)]
  if (here === undefined) return { problem: `the running version ${from} is not one of Kubernetes 1` }
  if (there === undefined || rowOf(table, wanted) === undefined)
    return { problem: `version ${wanted} is not in the version table; it has ${versionsIn(table)}` }
  if (there <= here + 1) return { version: wanted }
  if (!walksMinors)
    return {
      problem: `1.${here} to 1.${there} skips ${there - here - 1} ${there - here === 2 ? 'minor' : 'minors'}; set upgrade.chain to walk them one by one, or ask for 1.${here + 1} first`,
    }
  const next = newestOf(table, here + 1)
  return next === undefined
    ? { problem: `the way to ${wanted} leads through 1.${here + 1}, and the version table has none of it` }
    : { version: next.version }
}

const MAX_NAMED = 8

export function versionsIn(table: VersionTable): string {
  const known = table.map((row) => row.version).toSorted((a, b) => orderOf(b, a))
  return known.length === 0 ? 'none' : someOf(known, MAX_NAMED)
}
