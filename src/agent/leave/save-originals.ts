// Moves what belongs to the host out of the agent's folder before that is removed: originals that were not put back, and files that people put in place of those of
// components. There may be no other copy of them.
import { dirname, join } from 'node:path'
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
import { makeFolderDurably, relink } from '../files/durable.ts'
import { allForeignFolder, foreignFolder, onNode, originalsFolder, savedFolder } from '../node-dir.ts'

/** Programs that run as another user are among them. */
const PRIVATE = 0o700
/** Of one path, from several times that the host was managed. */
const MOST_COPIES = 100
const CHANGED = 'changed'

/** The paths of the copies. Repeating it makes no second copy. */
export async function saveOriginals(deps: KeptDeps): Promise<readonly string[]> {
  const saved: (string | undefined)[] = []
  for (const component of await deps.files.list(originalsFolder(deps.dir)))
    for (const original of (await readKept(deps, component))?.originals ?? []) {
      if (original.kind === 'Absent' || isSame(original, await originalAt(deps, original.path))) continue
      // What a failing disk damaged must not keep the agent on its host.
      if (!(await isIntact(deps, component, original))) continue
      saved.push(
        await saveOne(deps, component, {
          to: original.path,
          original,
          put: (to) => place(deps, component, original, to),
        }),
      )
    }
  for (const component of await deps.files.list(allForeignFolder(deps.dir)))
    for (const name of await deps.files.list(foreignFolder(deps.dir, component)))
      saved.push(await saveForeign(deps, component, name))
  return saved.filter((path) => path !== undefined)
}

/** The repair of drift put it aside, under a number and its name. */
async function saveForeign(deps: KeptDeps, component: string, name: string): Promise<string | undefined> {
  const { files, dir } = deps
  const from = join(foreignFolder(dir, component), name)
  const stat = await files.stat(from)
  if (stat?.kind !== 'File') return undefined
  const to = join('/', CHANGED, name)
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
  /** Below the folder of the component. */
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
