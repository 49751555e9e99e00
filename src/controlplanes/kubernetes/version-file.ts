// The Kubernetes versions that a hub can run as control planes: a file kept by its administrators, with each image by digest. Reading it fetches nothing.
import { LEAST_EVERY_MS } from '#api/cluster-mistakes.ts'
import { minorOf, PARTS, type Part } from '#api/constructs/control-plane/settings.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { isObject } from '#lib/json.ts'
import { parseVersion } from '#lib/semver.ts'
import { without } from '#lib/without.ts'
import { masked, parseCidr, formatCidr } from '#lib/ip-address.ts'
import type { ControlPlaneVersion } from '../upgrade/versions.ts'
import { durationMs } from '#lib/duration.ts'
import type { SnapshotDefault } from '../port.ts'
import type { HubNetwork } from './reachable.ts'

export interface ServedVersion extends ControlPlaneVersion {
  /** By digest, so that exactly the tested image runs, whatever its tag becomes. */
  readonly images: Readonly<Record<Part, string>>
}

const IMAGE = /^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[a-z0-9][a-z0-9._-]*)+(:[\w][\w.-]*)?@sha256:[0-9a-f]{64}$/
/** As in a Cluster: without a v, and with the patch version. */
const VERSION = /^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$/
/** A manually maintained file. */
const MOST_ROWS = 200

/** Defaults for a Cluster. All but the schedule are fixed when its control plane is created: a change here does not affect running ones. */
export interface PlaneDefaults {
  readonly storageClass?: string
  readonly resources?: { readonly cpu?: string; readonly memory?: string }
  readonly snapshots?: SnapshotDefault
}

export type VersionFile =
  | { readonly rows: readonly ServedVersion[]; readonly network: HubNetwork; readonly defaults: PlaneDefaults }
  /** All its problems, each with its row. */
  | { readonly problems: readonly string[] }

export function parseVersionFile(text: string): VersionFile {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (e) {
    return { problems: [`it is no JSON: ${e instanceof Error ? e.message : String(e)}`] }
  }
  const file = isObject(value) ? value : {}
  const { versions: list, hubNetworks: closed, openNetworks: open = [], defaults = {}, ...others } = file
  if (!Array.isArray(list)) return { problems: ['it has no list "versions"'] }
  if (list.length > MOST_ROWS) return { problems: [`it has ${list.length} versions; at most ${MOST_ROWS} are read`] }
  const problems = list.flatMap((row: unknown, n) => rowProblems(row).map((p) => `versions[${n}]: ${p}`))
  const names = list.map((row: unknown) => (isObject(row) ? String(row['version']) : ''))
  for (const name of new Set(names.filter((v, n) => names.indexOf(v) !== n)))
    problems.push(`version ${name} is there twice`)
  problems.push(...rangeProblems('hubNetworks', closed ?? []), ...rangeProblems('openNetworks', open))
  problems.push(...defaultProblems(defaults), ...unknownKeys(others, FILE_KEYS))
  if (problems.length > 0) return { problems }
  const network = {
    ...(closed !== undefined && { closed: closed as readonly string[] }),
    open: open as readonly string[],
  }
  return { rows: list as readonly ServedVersion[], network, defaults: defaults as PlaneDefaults }
}

const FILE_KEYS = ['versions', 'hubNetworks', 'openNetworks', 'defaults']
const ROW_KEYS = ['version', 'etcd', 'emulatesFrom', 'images']
const DEFAULT_KEYS = ['storageClass', 'resources', 'snapshots']
const MOST_KEY_CHARS = 64

/** A list that closes networks would be void with a letter wrong. */
function unknownKeys(others: object, known: readonly string[], prefix = ''): readonly string[] {
  return Object.keys(others).map((key) => {
    const near = didYouMean(key, known)
    const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`
    return `${prefix}${key.slice(0, MOST_KEY_CHARS)} is unknown; ${hint}`
  })
}

const CLASS = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const QUANTITY = /^\d+(\.\d+)?(m|[kMGTPE]i?)?$/
const MOST_KEPT = 7

function defaultProblems(defaults: unknown): readonly string[] {
  if (!isObject(defaults)) return ['defaults is no object']
  const { storageClass, resources = {}, snapshots, ...others } = defaults
  const problems = [...unknownKeys(others, DEFAULT_KEYS, 'defaults.')]
  if (storageClass !== undefined && !(typeof storageClass === 'string' && CLASS.test(storageClass)))
    problems.push('defaults.storageClass is no name of a StorageClass')
  for (const [key, value] of Object.entries(isObject(resources) ? resources : { resources }))
    if (!['cpu', 'memory'].includes(key) || typeof value !== 'string' || !QUANTITY.test(value))
      problems.push(`defaults.resources.${key} is no quantity of cpu or memory, such as 500m or 1Gi`)
  if (snapshots === undefined) return problems
  const { every, keep } = isObject(snapshots) ? snapshots : {}
  if (!((typeof every === 'string' ? (durationMs(every) ?? 0) : 0) >= LEAST_EVERY_MS))
    problems.push('defaults.snapshots.every is no duration of at least 5m, such as 6h')
  if (!Number.isSafeInteger(keep) || Number(keep) < 1 || Number(keep) > MOST_KEPT)
    problems.push(`defaults.snapshots.keep is no number from 1 to ${MOST_KEPT}`)
  return problems
}

/** More than any real network needs. */
const MOST_RANGES = 100

function rangeProblems(name: string, list: unknown): readonly string[] {
  if (!Array.isArray(list) || list.length > MOST_RANGES)
    return [`${name} is no list of at most ${MOST_RANGES} ranges such as 10.244.0.0/16`]
  return list.flatMap((range: unknown, n) => {
    const block = typeof range === 'string' ? parseCidr(range) : undefined
    if (block === undefined || block.prefix === 0) return [`${name}[${n}] is no range such as 10.244.0.0/16`]
    const canonical = formatCidr(masked(block))
    return canonical === range ? [] : [`${name}[${n}] is written as ${canonical}`]
  })
}

/** The first etcd with etcdutl, which opens every snapshot. */
const LEAST_ETCD = [3, 5] as const

function etcdProblems(etcd: unknown): readonly string[] {
  const version = typeof etcd === 'string' && VERSION.test(etcd) ? parseVersion(etcd) : undefined
  if (version === undefined) return ['etcd is no version, such as 3.6.6']
  const [major, minor] = version.numbers
  const [leastMajor, leastMinor] = LEAST_ETCD
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return []
  return [
    `etcd ${String(etcd).slice(0, MOST_KEY_CHARS)} is too old for these control planes: list ${LEAST_ETCD.join('.')} or newer, with the image of that version`,
  ]
}

function rowProblems(row: unknown): readonly string[] {
  if (!isObject(row)) return ['it is no object']
  const { version, etcd, emulatesFrom, images, ...others } = row
  const minor = typeof version === 'string' && VERSION.test(version) ? minorOf(version) : undefined
  const problems = [...unknownKeys(others, ROW_KEYS)]
  if (minor === undefined) problems.push('version is none of Kubernetes 1, such as 1.36.2')
  problems.push(...etcdProblems(etcd))
  if (!Number.isSafeInteger(emulatesFrom) || Number(emulatesFrom) > (minor ?? Infinity) || Number(emulatesFrom) < 0)
    problems.push('emulatesFrom is no minor up to its own, such as 33')
  for (const part of PARTS) {
    const image = isObject(images) ? images[part] : undefined
    if (typeof image !== 'string' || !IMAGE.test(image))
      problems.push(`images.${part} is no image with its digest, such as registry.example.org/${part}@sha256:…`)
  }
  if (isObject(images)) problems.push(...unknownKeys(without(images, ...PARTS), PARTS, 'images.'))
  return problems
}
