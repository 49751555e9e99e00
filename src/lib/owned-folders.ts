// Temporary folders that name the process that made them, so that the next start can remove what a killed process left behind.
// Invariant: a folder whose owner may still be alive is never removed.
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export interface OwnedFolders {
  readonly parent: string
  /** Start of every name; nothing else in the parent may start like this. */
  readonly prefix: string
  /** Longer than any owner keeps a folder. Decides where the owner cannot be looked up: another boot, another container, no /proc. */
  readonly maxAgeMs: number
}

export function makeOwnedFolder({ parent, prefix }: Pick<OwnedFolders, 'parent' | 'prefix'>): string {
  return mkdtempSync(join(parent, `${prefix}${ownerTag(process.pid)}-`))
}

/** Removes the folders of dead owners and returns their paths. Folders of other users stay. */
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

/** A folder that something is still mounted in stays until the next start; that is no reason not to start now. */
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
    // No folder, nothing left in it.
    return []
  }
}

/** Undefined for a folder that is not ours: links and folders of other users are left alone. */
function ageOf(path: string, now: number): number | undefined {
  try {
    const stat = lstatSync(path)
    return stat.isDirectory() && stat.uid === process.getuid?.() ? now - stat.mtimeMs : undefined
  } catch {
    // Removed since it was listed.
    return undefined
  }
}

/** `<boot and pid namespace>-<pid>-<start ticks>`; a pid alone is given to another process sooner or later. */
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

/** Pids mean something only within one boot and one pid namespace. */
function placeOfPids(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8)
    const namespace = readlinkSync('/proc/self/ns/pid').replaceAll(/[^0-9]/g, '')
    return `${boot}.${namespace}`
  } catch {
    return UNKNOWN_PLACE
  }
}

/** Undefined when no such process lives. The command's name may hold spaces and parentheses, so fields are counted from the last `)`. */
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
