// Parses a git tree. Refuses a tree with a name that could lead any reader out of it, even if sync would handle it safely.
import { KubeNodeError } from '#lib/errors.ts'
import { foldName } from '#lib/fold-name.ts'
import { printableLine } from '#lib/printable.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import { syncErrors } from '../sync-errors.ts'

type EntryKind = 'file' | 'tree' | 'symlink' | 'submodule'

export interface TreeEntry {
  readonly name: string
  readonly kind: EntryKind
  readonly oid: string
  readonly isExecutable?: true
}

/** Names in one folder; a fleet's folders have dozens. */
const MAX_ENTRIES = 10_000
const MAX_NAME_BYTES = 255
const OID_BYTES = 20

const KINDS: Readonly<Record<string, EntryKind>> = {
  __proto__: null as never,
  '100644': 'file',
  '100755': 'file',
  '100664': 'file',
  '40000': 'tree',
  '040000': 'tree',
  '120000': 'symlink',
  '160000': 'submodule',
}

const EXECUTABLE = '100755'
const SPACE = 0x20
const NUL = 0

/** `where`: commit and folder, for the message. */
export function parseTree(bytes: Uint8Array, where: string): readonly TreeEntry[] {
  const entries: TreeEntry[] = []
  const seen = new Set<string>()
  let at = 0
  while (at < bytes.length) {
    if (entries.length >= MAX_ENTRIES)
      throw new KubeNodeError(
        syncErrors.KN7114_files({ where, seen: `has more than ${MAX_ENTRIES} entries in one folder` }),
      )
    const space = bytes.indexOf(SPACE, at)
    const end = space < 0 ? -1 : bytes.indexOf(NUL, space)
    if (space < 0 || end < 0 || end + 1 + OID_BYTES > bytes.length) throw hostile(where, 'a truncated tree entry')
    const mode = Buffer.from(bytes.subarray(at, space)).toString('latin1')
    const kind = KINDS[mode]
    const name = entryName(bytes.subarray(space + 1, end), where)
    if (kind === undefined) throw hostile(where, `the entry ${JSON.stringify(name)} with an unknown mode`)
    if (seen.has(name)) throw hostile(where, `the name ${JSON.stringify(name)} twice`)
    seen.add(name)
    const oid = Buffer.from(bytes.subarray(end + 1, end + 1 + OID_BYTES)).toString('hex')
    entries.push({ name, kind, oid, ...(mode === EXECUTABLE && { isExecutable: true as const }) })
    at = end + 1 + OID_BYTES
  }
  return entries
}

function entryName(bytes: Uint8Array, where: string): string {
  let name: string
  try {
    name = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw hostile(where, 'a name that is not UTF-8')
  }
  const problem = nameProblem(name)
  if (problem !== undefined) throw hostile(where, `the name ${JSON.stringify(name.slice(0, 100))}, which ${problem}`)
  return name
}

const CONTROL = /[\u0000-\u001f\u007f]/ // oxlint-disable-line no-control-regex

/** Why this name is dangerous; undefined when it is harmless. */
export function nameProblem(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'leads to another folder'
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `is longer than ${MAX_NAME_BYTES} bytes`
  if (CONTROL.test(name)) return 'has control characters'
  if (/[/\\]/.test(name)) return 'has a path separator'
  // Names that map to the .git folder on file systems that fold case, trim names or use short names.
  const folded = withoutEnd(foldName(name), /[. ]/).replace(/::?\$.*$/, '')
  if (folded === '' || folded === '.git' || /^git~\d+$/.test(folded)) return 'means .git on some file systems'
  return undefined
}

const hostile = (where: string, seen: string): KubeNodeError =>
  new KubeNodeError(syncErrors.KN7015({ path: where, problem: printableLine(seen) }))
