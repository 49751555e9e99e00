// Moves originals that were not put back out of the agent's folder before that is removed: they belong to the host, and there may be no other copy of them.
import { dirname, join } from 'node:path'
import { copyFile, copyWhole } from '../components/copy.ts'
import {
  isIntact,
  keptContent,
  originalAt,
  readKept,
  type KeptDeps,
  type Original,
  type OriginalFile,
  type OriginalLink,
} from '../components/kept.ts'
import { makeFolderDurably, relink } from '../files/durable.ts'
import { onNode, originalsFolder, savedFolder } from '../node-dir.ts'

/** Programs that run as another user are among them. */
const PRIVATE = 0o700
/** Of one path, from several times that the host was managed. */
const MOST_COPIES = 100

/** The paths of the copies. Repeating it makes no second copy. */
export async function saveOriginals(deps: KeptDeps): Promise<readonly string[]> {
  const saved: string[] = []
  for (const component of await deps.files.list(originalsFolder(deps.dir)))
    for (const original of (await readKept(deps, component))?.originals ?? []) {
      if (original.kind === 'Absent' || isSame(original, await originalAt(deps, original.path))) continue
      // What a failing disk damaged must not keep the agent on its host.
      if (!(await isIntact(deps, component, original))) continue
      const path = await saveOne(deps, component, original)
      if (path !== undefined) saved.push(path)
    }
  return saved
}

const isSame = (a: Original, b: Original | undefined): boolean =>
  (a.kind === 'File' && b?.kind === 'File' && a.sha256 === b.sha256) ||
  (a.kind === 'Link' && b?.kind === 'Link' && a.target === b.target)

async function saveOne(
  deps: KeptDeps,
  component: string,
  original: OriginalFile | OriginalLink,
): Promise<string | undefined> {
  const { files, dir } = deps
  const first = join(savedFolder(component), original.path)
  for (let copy = 0; copy < MOST_COPIES; copy++) {
    const path = copy === 0 ? first : `${first}.${copy}`
    const there = await originalAt(deps, path)
    if (isSame(original, there)) return path
    if (there?.kind !== 'Absent') continue
    const ours = onNode(dir, dirname(savedFolder(component)))
    await makeFolderDurably(files, dirname(ours))
    await makeFolderDurably(files, ours, PRIVATE)
    await makeFolderDurably(files, dirname(onNode(dir, path)))
    await place(deps, component, original, onNode(dir, path))
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
