// The image's Debian packages: listed in the lock file, downloaded by apt from the build machine's mirror, and used only if they match the lock file's digest.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import { sha256OfFile } from '#lib/whole-file.ts'
import { imageErrors } from './image-errors.ts'
import { sha256Hex } from '#lib/sha256.ts'

export const ARCHITECTURES = ['amd64', 'arm64'] as const
export type Architecture = (typeof ARCHITECTURES)[number]

export interface LockedPackage {
  readonly name: string
  readonly version: string
  /** Below a mirror: `debian/pool/main/g/git/git_2.39.5.deb`. */
  readonly path: string
  readonly size: number
  readonly sha256: string
  /** Debian's short license names, as declared by the package; empty if its copyright file is not machine-readable. */
  readonly licenses: readonly string[]
}

export interface DebianLock {
  readonly release: string
  readonly packages: Readonly<Record<Architecture, readonly LockedPackage[]>>
}

export const LOCK_FILE = 'deploy/image/debian.lock.json'

/** Only valid Debian package names, because the name becomes part of a path. */
const NAME = /^[a-z0-9][a-z0-9+.-]{1,99}$/
/** The first part is the archive; no part is `..`. */
const PATH_OF_POOL = /^debian(?:-security)?\/pool\/(?:[\w%+~-][\w.%+~-]*\/)+[\w.%+~-]+\.deb$/

export function readDebianLock(root: string): DebianLock {
  const file = join(root, LOCK_FILE)
  const bad = (why: string) => new KubeNodeError(imageErrors.KN1120({ file, why }))
  if (!existsSync(file)) throw bad('there is no such file')
  const lock: unknown = JSON.parse(readFileSync(file, 'utf8'))
  const packages = isObject(lock) ? lock['packages'] : undefined
  if (!isObject(lock) || typeof lock['release'] !== 'string' || !isObject(packages)) throw bad('it names no packages')
  for (const architecture of ARCHITECTURES) {
    const listed = packages[architecture]
    if (!Array.isArray(listed) || listed.length === 0) throw bad(`it has no packages for ${architecture}`)
    for (const one of listed) if (!isLocked(one)) throw bad(`${JSON.stringify(one)} is no package`)
  }
  return lock as unknown as DebianLock
}

function isLocked(one: unknown): one is LockedPackage {
  if (!isObject(one)) return false
  const { name, version, path, size, sha256, licenses } = one
  return (
    typeof name === 'string' &&
    NAME.test(name) &&
    typeof version === 'string' &&
    typeof path === 'string' &&
    PATH_OF_POOL.test(path) &&
    Number.isSafeInteger(size) &&
    typeof sha256 === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    Array.isArray(licenses) &&
    licenses.every((license) => typeof license === 'string')
  )
}

const fileOf = (cache: string, { name, sha256 }: LockedPackage): string =>
  join(cache, `${name}-${sha256.slice(0, 16)}.deb`)

/** The location of a Debian archive. */
export type ArchiveAt = (archive: string) => string

/** On a mirror with all archives side by side, or from this machine's apt sources. */
export function archivesOf(mirror: string | undefined): ArchiveAt {
  if (mirror !== undefined) return (archive) => `${withoutEnd(mirror, /\//)}/${archive}`
  const listed = spawnSync('apt-get', ['indextargets', '--format', '$(REPO_URI)'], { encoding: 'utf8' })
  const sources = (listed.stdout ?? '').split('\n').map((line) => withoutEnd(line.trim(), /\//))
  return (archive) => {
    const source = sources.find((uri) => /^https?:/.test(uri) && uri.endsWith(`/${archive}`))
    if (source === undefined) throw new KubeNodeError(imageErrors.KN1129({ archive }))
    return source
  }
}

export function addressOf(archiveAt: ArchiveAt, { path }: Pick<LockedPackage, 'path'>): string {
  const end = path.indexOf('/')
  return `${archiveAt(path.slice(0, end))}${path.slice(end)}`
}

const APT_HELPER = '/usr/lib/apt/apt-helper'
const FETCH_WITHIN_MS = 300_000

/** Downloads all packages into the cache, and fails if one has different bytes. */
export function fetchPackages(cache: string, packages: readonly LockedPackage[], mirror?: string): void {
  mkdirSync(cache, { recursive: true })
  const missing = packages.filter((p) => !existsSync(fileOf(cache, p)))
  if (missing.length === 0) return
  const archiveAt = archivesOf(mirror)
  const partial = (p: LockedPackage) => `${fileOf(cache, p)}.partial-${process.pid}`
  const args = missing.flatMap((p) => [addressOf(archiveAt, p), partial(p), `SHA256:${p.sha256}`])
  const ran = spawnSync(APT_HELPER, ['-o', 'APT::Sandbox::User=root', 'download-file', ...args], {
    encoding: 'utf8',
    timeout: FETCH_WITHIN_MS,
  })
  try {
    for (const p of missing) {
      if (!existsSync(partial(p))) throw cannotFetch(cache, p, whyOf(ran), addressOf(archiveAt, p))
      if (sha256OfFile(partial(p)) !== p.sha256)
        throw new KubeNodeError(imageErrors.KN1122({ name: p.name, path: p.path }))
      renameSync(partial(p), fileOf(cache, p))
    }
  } finally {
    for (const p of missing) rmSync(partial(p), { force: true })
  }
}

function whyOf({ error, stderr }: ReturnType<typeof spawnSync>): string {
  if (error !== undefined) return 'code' in error && error.code === 'ENOENT' ? 'apt is not installed' : error.message
  return String(stderr).trim().split('\n').at(-1) ?? 'apt fetched nothing'
}

const cannotFetch = (cache: string, p: LockedPackage, why: string, url: string): KubeNodeError =>
  new KubeNodeError(imageErrors.KN1120_fetch({ name: p.name, version: p.version, why, url, file: fileOf(cache, p) }))

/** Verified each time: the cache may be shared, and its content ends up in images. */
export function readPackage(cache: string, p: LockedPackage): Buffer {
  const bytes = readFileSync(fileOf(cache, p))
  if (sha256Hex(bytes) === p.sha256) return bytes
  rmSync(fileOf(cache, p), { force: true })
  throw new KubeNodeError(imageErrors.KN1122({ name: p.name, path: p.path }))
}
