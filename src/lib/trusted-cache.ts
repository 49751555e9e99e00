// The cache folder for a checkout's compiled code and builds. Its content is executed unchecked, so a folder that another user owns or can write to is
// recreated empty. Trusted are root, this user, and the checkout's owner, who can change the programs anyway.
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'

const OTHERS_WRITE = 0o022
const PLACE = 'node_modules/.cache/kubenode'
/** Contains the builds, each in a folder. Node's compile caches are next to it: thousands of files per Node version, readable only by their owner. */
const BUILDS = 'programs'

/** Undefined if no folder can be trusted: programs run without one. */
export function trustedCache(root: string): string | undefined {
  const folder = join(root, PLACE)
  try {
    const isTrusted = trustedOwners(root)
    closeParent(dirname(folder), isTrusted)
    if (!isClosed(folder, isTrusted)) rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    return isTrusted(lstatSync(folder)) ? folder : undefined
  } catch {
    return undefined
  }
}

/** True for a build that only trusted users could have written. */
export function isTrustedBuild(root: string, folder: string): boolean {
  const isTrusted = trustedOwners(root)
  return [folder, ...readdirSync(folder).map((name) => join(folder, name))].every((path) => isTrusted(lstatSync(path)))
}

type IsTrusted = (stat: Stats) => boolean

function trustedOwners(root: string): IsTrusted {
  const owners = new Set([0, process.geteuid?.() ?? 0, lstatSync(root).uid])
  return (stat) => !stat.isSymbolicLink() && owners.has(stat.uid) && (stat.mode & OTHERS_WRITE) === 0
}

/** Other packages keep their caches there too. */
function closeParent(parent: string, isTrusted: IsTrusted): void {
  mkdirSync(parent, { recursive: true })
  const stat = lstatSync(parent)
  if (stat.isDirectory() && !isTrusted(stat)) chmodSync(parent, stat.mode & 0o7777 & ~OTHERS_WRITE)
  if (!isTrusted(lstatSync(parent))) throw new Error(`${parent} belongs to another user`)
}

function isClosed(folder: string, isTrusted: IsTrusted): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  if (stat === undefined) return true
  if (!isTrusted(stat)) return false
  const below = readdirSync(folder).map((name) => join(folder, name))
  const builds = join(folder, BUILDS)
  if (!below.every((path) => isTrusted(lstatSync(path)))) return false
  return !below.includes(builds) || readdirSync(builds).every((name) => isTrusted(lstatSync(join(builds, name))))
}
