// Temporary folders named after the process that created them, so that the next start can remove those of killed processes. Invariant: never removes a folder
// whose owner may still be alive.
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export interface OwnedFolders {
  readonly parent: string
  /** Prefix of every name; nothing else in the parent may have it. */
  readonly prefix: string
  /** Longer than any owner keeps a folder. Decides if the owner cannot be checked: another boot, another container, no /proc. */
  readonly maxAgeMs: number
}

export function makeOwnedFolder({ parent, prefix }: Pick<OwnedFolders, 'parent' | 'prefix'>): string {
  return mkdtempSync(join(parent, `${prefix}${ownerTag(process.pid)}-`))
}

/** Removes dead owners' folders and returns their paths. Other users' folders stay. */
export function sweepOwnedFolders({ parent, prefix, maxAgeMs }: OwnedFolders, now = Date.now()): readonly string[] {
  const removed: string[] = []
  for (const name of namesIn(parent)) {
    if (!name.startsWith(prefix)) continue
    const path = join(parent, name)
    const age = ageOf(path, now)
    if (age === undefined || ownerOf(name.slice(prefix.length), age, maxAgeMs) === 'Alive') continue
    if (isRemoved(path)) removed.push(path)
  }
  return removed
}

/** A folder with a mount in it stays until the next start; that is no reason to fail this one. */
function isRemoved(path: string): boolean {
  try {
    rmSync(path, { recursive: true, force: true })
    return true
  } catch {
    return false
  }
}

function namesIn(parent: string): readonly string[] {
  try {
    return readdirSync(parent)
  } catch {
    // No folder: nothing left in it.
    return []
  }
}

/** Undefined for links and for other users' folders, which stay. */
function ageOf(path: string, now: number): number | undefined {
  try {
    const stat = lstatSync(path)
    return stat.isDirectory() && stat.uid === process.getuid?.() ? now - stat.mtimeMs : undefined
  } catch {
    // Removed since the listing.
    return undefined
  }
}

/** `<boot and pid namespace>-<pid>-<start ticks>`, because pids are reused. */
function ownerTag(pid: number): string {
  return `${placeOfPids()}-${pid}-${startTicks(pid) ?? '0'}`
}

function ownerOf(tag: string, ageMs: number, maxAgeMs: number): 'Alive' | 'Dead' {
  const [here, pid, ticks] = tag.split('-')
  const isOfHere = here === placeOfPids() && here !== UNKNOWN_PLACE
  if (!isOfHere || !/^[0-9]+$/.test(pid ?? '') || ticks === undefined) return ageMs > maxAgeMs ? 'Dead' : 'Alive'
  return startTicks(Number(pid)) === ticks ? 'Alive' : 'Dead'
}

const UNKNOWN_PLACE = 'x'

/** Pids are only meaningful within one boot and one pid namespace. */
function placeOfPids(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8)
    const namespace = readlinkSync('/proc/self/ns/pid').replaceAll(/[^0-9]/g, '')
    return `${boot}.${namespace}`
  } catch {
    return UNKNOWN_PLACE
  }
}

/** Undefined if no such process is alive. The command's name may contain spaces and parentheses, so count fields from the last `)`. */
function startTicks(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .trim()
      .split(' ')
    const [state] = fields
    return state === 'Z' || state === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}
