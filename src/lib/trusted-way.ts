// Checks whether another user could replace a folder, like sshd's StrictModes: each folder and link on the path from the root must belong to root or this user
// and be writable only by its owner. Invariant: an unreadable path counts as another user's.
import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { KubeNodeError } from './errors.ts'
import { libErrors } from './lib-errors.ts'
import { shellWord } from './shell-word.ts'

/** A folder or link on the path. */
export interface Step {
  readonly path: string
  readonly uid: number
  readonly gid: number
  readonly mode: number
  readonly isLink: boolean
}

/** Users and groups whose write access is harmless. */
export interface Trusted {
  readonly own: number
  /** Only root and this user are in this group. */
  readonly isOurs: (gid: number) => boolean
}

export interface Doubt {
  /** "/srv/x belongs to uid 1001 (mode 0755)" */
  readonly seen: string
  /** The command that fixes it. */
  readonly command: string
  readonly path: string
}

const ROOT = 0
const GROUP_WRITES = 0o020
const ALL_WRITE = 0o002
const STICKY = 0o1000
/** Same as the kernel's limit: more links are a loop. */
const MOST_LINKS = 40

/** The sticky bit keeps entries of a folder like /tmp with their owners; each entry on the path is checked itself. */
export function doubtOf(step: Step, { own, isOurs }: Trusted): Doubt | undefined {
  const { path, uid, gid, mode, isLink } = step
  const sudo = own === ROOT ? '' : 'sudo '
  if (uid !== ROOT && uid !== own) {
    return isLink
      ? { path, seen: `${path} is a link that belongs to uid ${uid}`, command: `${sudo}rm ${shellWord(path)}` }
      : {
          path,
          seen: `${path} belongs to uid ${uid} (mode ${octal(mode)})`,
          command: `${sudo}chown ${own} ${shellWord(path)}`,
        }
  }
  const writers = (mode & ALL_WRITE) !== 0 ? 'everyone' : (mode & GROUP_WRITES) !== 0 && !isOurs(gid) ? 'group' : ''
  if (isLink || writers === '' || (mode & STICKY) !== 0) return undefined
  const by = writers === 'group' ? `its group (gid ${gid})` : 'every user'
  const seen = `${path} belongs to uid ${uid} and is writable by ${by} (mode ${octal(mode)})`
  return { path, seen, command: `${uid === own ? '' : sudo}chmod go-w ${shellWord(path)}` }
}

const octal = (mode: number): string => `0${(mode & 0o7777).toString(8)}`

/** As far as it exists, including every link on the way. */
export function wayTo(path: string): readonly Step[] {
  const steps = [stepAt('/')]
  const left = resolve(path).split(sep)
  let at = '/'
  for (let links = 0; left.length > 0 && links <= MOST_LINKS;) {
    const name = left.shift() ?? ''
    if (name === '' || name === '.') continue
    const next = join(at, name)
    if (name !== '..') {
      const step = stepAt(next)
      if (step === undefined) break
      steps.push(step)
      if (step.isLink) {
        const target = readlinkSync(next)
        left.unshift(...target.split(sep))
        if (isAbsolute(target)) at = '/'
        links++
        continue
      }
    }
    at = next
  }
  return steps.filter((step) => step !== undefined)
}

function stepAt(path: string): Step | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  const { uid, gid, mode } = stat
  return { path, uid, gid, mode, isLink: stat.isSymbolicLink() }
}

/**
 * Groups that a distribution creates for a single user, so that a umask of 002 opens nothing. A group with several members, or one not in these files, does not
 * count, unless its id equals the user's, as for users from a directory.
 */
export function ownGroups(passwd: string, group: string, own: { readonly uid: number; readonly gid: number }) {
  const fields = (text: string) => text.split('\n').map((line) => line.split(':'))
  const trusted = new Set<number>([ROOT, own.uid])
  const users = fields(passwd).map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
  const known = new Set(users.filter((u) => trusted.has(u.uid)).map((u) => u.name))
  return (gid: number): boolean => {
    const members = fields(group).flatMap(([, , number, names = '']) =>
      Number(number) === gid ? names.split(',').filter((n) => n !== '') : [],
    )
    if (members.some((name) => !known.has(name))) return false
    if (gid === ROOT) return true
    const primary = users.filter((u) => u.gid === gid)
    if (primary.length > 0) return primary.every((u) => trusted.has(u.uid))
    return gid === own.gid && gid === own.uid
  }
}

const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function trustedHere(own: number): Trusted {
  let isOurs: ((gid: number) => boolean) | undefined
  const groups = () => ownGroups(readText('/etc/passwd'), readText('/etc/group'), { uid: own, gid: gidOf() })
  return { own, isOurs: (gid) => (isOurs ??= groups())(gid) }
}

/** A user that is not listed has no group of their own. */
function gidOf(): number {
  try {
    return userInfo().gid
  } catch {
    return -1
  }
}

export interface WayOptions {
  /** The running program. Users who can change the folders above it are already trusted: warn instead of refusing. */
  readonly program?: string | undefined
  readonly onWarning?: (doubt: Doubt) => void
  /** The caller closes the folder itself to others, and refuses one it does not own. */
  readonly isClosedByCaller?: boolean
}

/** Refuses a folder that another user could replace. */
export function requireTrustedWay(path: string, options: WayOptions = {}): void {
  const { program, onWarning = () => undefined, isClosedByCaller = false } = options
  const own = process.geteuid?.()
  if (own === undefined) return
  const trusted = trustedHere(own)
  const above = program === undefined ? new Set<string>() : foldersAbove(program)
  const steps = wayTo(path)
  const folder = isClosedByCaller && existsSync(path) ? steps.at(-1) : undefined
  for (const step of steps) {
    const doubt = doubtOf(step, trusted)
    if (doubt === undefined || step === folder) continue
    if (!above.has(step.path))
      throw new KubeNodeError(libErrors.KN1040_writable({ ...doubt, path }), { retry: 'later' })
    onWarning(doubt)
  }
}

function foldersAbove(path: string): ReadonlySet<string> {
  const above = new Set<string>()
  for (let at = dirname(realpathSync(path)); !above.has(at); at = dirname(at)) above.add(at)
  return above
}
