// Moves the host's files out of the agent's folder before that folder is removed: originals that were not restored, and files that people put in place
// of component files. There may be no other copy of them.
import { basename, dirname, join } from 'node:path'
import { copyFile, copyWhole } from '../components/copy.ts'
import {
  digestIn,
  isIntact,
  keptContent,
  originalAt,
  readKept,
  type KeptDeps,
  type Original,
  type OriginalFile,
  type OriginalLink,
} from '../components/kept.ts'
import { makeFolderDurably, PARTIAL, relink } from '../files/durable.ts'
import {
  allForeignFolder,
  foreignFolder,
  keptFile,
  keptFolder,
  onNode,
  originalsFolder,
  savedFolder,
} from '../node-dir.ts'

/** The files may include set-user-id programs. */
const PRIVATE = 0o700
/** Copies of one path, from several times that the host was managed. */
const MOST_COPIES = 100
/** Drift repair put them aside, as a number and their name. */
const CHANGED = 'changed'
const UNLISTED = 'unlisted'

/** Returns the paths of the copies. Repeating it makes no second copy. */
export async function saveOriginals(deps: KeptDeps): Promise<readonly string[]> {
  const saved: (string | undefined)[] = []
  for (const component of await deps.files.list(originalsFolder(deps.dir))) {
    const originals = (await readKept(deps, component))?.originals ?? []
    for (const original of originals) {
      if (original.kind === 'Absent' || isSame(original, await originalAt(deps, original.path))) continue
      // A copy damaged by a failing disk must not keep the agent on its host.
      if (!(await isIntact(deps, component, original))) continue
      saved.push(
        await saveOne(deps, component, {
          to: original.path,
          original,
          put: (to) => place(deps, component, original, to),
        }),
      )
    }
    saved.push(...(await saveUnlisted(deps, component, originals)))
  }
  for (const component of await deps.files.list(allForeignFolder(deps.dir)))
    for (const name of await deps.files.list(foreignFolder(deps.dir, component)))
      saved.push(await saveFile(deps, component, { from: join(foreignFolder(deps.dir, component), name), to: CHANGED }))
  return saved.filter((path) => path !== undefined)
}

/** Copies that are not listed because the list was damaged. Their paths are unknown, or in what is left of the list. */
async function saveUnlisted(
  deps: KeptDeps,
  component: string,
  originals: readonly Original[],
): Promise<readonly (string | undefined)[]> {
  const { files, dir } = deps
  const listed = new Set(originals.flatMap((o) => (o.kind === 'Absent' ? [] : [keptContent(dir, component, o)])))
  const saved: (string | undefined)[] = []
  for (const name of await files.list(keptFolder(dir, component))) {
    const from = join(keptFolder(dir, component), name)
    if (from === keptFile(dir, component) || listed.has(from) || name.endsWith(PARTIAL)) continue
    saved.push(await saveFile(deps, component, { from, to: UNLISTED }))
  }
  return saved
}

/** Saves one file that is in the agent's folder under another name. */
async function saveFile(
  deps: KeptDeps,
  component: string,
  place: { readonly from: string; readonly to: string },
): Promise<string | undefined> {
  const { files } = deps
  const { from } = place
  const stat = await files.stat(from)
  if (stat?.kind !== 'File') return undefined
  const to = join('/', place.to, basename(from))
  const { mode, size } = stat
  const sha256 = await digestIn(deps, from)
  const original = { kind: 'File', path: to, mode, size, sha256 } as const
  const put = async (path: string): Promise<void> => void (await copyFile(files, from, path, { mode, sha256 }))
  return saveOne(deps, component, { to, original, put })
}

const isSame = (a: Original, b: Original | undefined): boolean =>
  (a.kind === 'File' && b?.kind === 'File' && a.sha256 === b.sha256) ||
  (a.kind === 'Link' && b?.kind === 'Link' && a.target === b.target)

interface Saving {
  /** Path below the component's folder. */
  readonly to: string
  readonly original: OriginalFile | OriginalLink
  readonly put: (to: string) => Promise<void>
}

async function saveOne(deps: KeptDeps, component: string, { to, original, put }: Saving): Promise<string | undefined> {
  const { files, dir } = deps
  const first = join(savedFolder(component), to)
  for (let copy = 0; copy < MOST_COPIES; copy++) {
    const path = copy === 0 ? first : `${first}.${copy}`
    const there = await originalAt(deps, path)
    if (isSame(original, there)) return path
    if (there?.kind !== 'Absent') continue
    const ours = onNode(dir, dirname(savedFolder(component)))
    await makeFolderDurably(files, dirname(ours))
    await makeFolderDurably(files, ours, PRIVATE)
    await makeFolderDurably(files, dirname(onNode(dir, path)))
    await put(onNode(dir, path))
    return path
  }
  return undefined
}

async function place(
  { files, dir }: KeptDeps,
  component: string,
  original: OriginalFile | OriginalLink,
  to: string,
): Promise<void> {
  const from = keptContent(dir, component, original)
  const sha256 = original.kind === 'File' ? original.sha256 : undefined
  if (original.isWhole === true && (await copyWhole(files, from, to, sha256))) return
  if (original.kind === 'Link') await relink(files, to, original.target, original.owner)
  else await copyFile(files, from, to, { mode: original.mode, owner: original.owner, sha256: original.sha256 })
}
