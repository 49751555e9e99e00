// Finds the git folder behind a path or file URL. Refuses layouts that it would read wrongly, and explains what to do instead.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KubeNodeError } from '#lib/errors.ts'
import { syncErrors } from '../sync-errors.ts'

export interface GitFolder {
  /** The folder with this work tree's HEAD. */
  readonly headDir: string
  /** The folder with objects, branches and tags. */
  readonly commonDir: string
  /** The folder with the files, if there is one. */
  readonly workTree: string | undefined
}

const localPath = (url: string): string => (url.startsWith('file:') ? fileURLToPath(url) : url)

/** `above` also searches parent folders, as git does for a user in a subfolder. */
export function locateGit(url: string, { above = false }: { readonly above?: boolean } = {}): GitFolder {
  const start = resolve(localPath(url))
  if (!existsSync(start)) throw new KubeNodeError(syncErrors.KN1011_repository({ folder: start }))
  for (let dir = start; ; dir = dirname(dir)) {
    const found = gitFolderAt(dir)
    if (found !== undefined) {
      refuseUnknownLayouts(found)
      return found
    }
    if (!above || dirname(dir) === dir) break
  }
  throw new KubeNodeError(syncErrors.KN1209_noRepository({ folder: start }))
}

function gitFolderAt(dir: string): GitFolder | undefined {
  const dotGit = join(dir, '.git')
  if (existsSync(dotGit)) {
    if (statSync(dotGit).isDirectory()) return { headDir: dotGit, commonDir: dotGit, workTree: dir }
    return linkedWorkTree(dir, dotGit)
  }
  const isBare = existsSync(join(dir, 'HEAD')) && existsSync(join(dir, 'objects')) && existsSync(join(dir, 'refs'))
  return isBare ? { headDir: dir, commonDir: dir, workTree: undefined } : undefined
}

/** `git worktree add` leaves a file that points to the folder with HEAD, which points to the folder with everything else. */
function linkedWorkTree(dir: string, dotGit: string): GitFolder | undefined {
  const [, target] = /^gitdir: (.+)$/.exec(readFileSync(dotGit, 'utf8').trimEnd()) ?? []
  if (target === undefined) return undefined
  const headDir = isAbsolute(target) ? target.trim() : resolve(dir, target.trim())
  const commonFile = join(headDir, 'commondir')
  const commonDir = existsSync(commonFile) ? resolve(headDir, readFileSync(commonFile, 'utf8').trim()) : headDir
  return { headDir, commonDir, workTree: dir }
}

/** Settings are small; a larger file is not valid. */
const MAX_CONFIG_BYTES = 1024 * 1024

function refuseUnknownLayouts({ commonDir }: GitFolder): void {
  const config = join(commonDir, 'config')
  const text =
    existsSync(config) && statSync(config).size <= MAX_CONFIG_BYTES ? readFileSync(config, 'utf8').toLowerCase() : ''
  const refuse = (what: string, todo: string) => {
    throw new KubeNodeError(syncErrors.KN7004({ commonDir, what, todo }))
  }
  if (/^[ \t]*objectformat[ \t]*=[ \t]*sha256/m.test(text))
    refuse('it uses the SHA-256 object format', 'use a repository with the SHA-1 object format')
  if (/^[ \t]*refstorage[ \t]*=[ \t]*reftable/m.test(text))
    refuse('it stores its branches in a reftable', 'run git refs migrate --ref-format=files')
  if (/^[ \t]*partialclone[ \t]*=/m.test(text)) refuse('it is a partial clone', 'make a full clone')
  const alternates = join(commonDir, 'objects/info/alternates')
  if (existsSync(alternates))
    refuse(
      'it borrows objects from another one, as clones with --shared or --reference do',
      `run git -C ${commonDir} repack -a -d && rm ${alternates}; or clone with --dissociate`,
    )
}
