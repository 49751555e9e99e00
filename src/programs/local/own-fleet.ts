// Finds the user's fleet around the current folder: `fleet/main.ts` in a git repository that is neither this release nor a demo repository.
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { git } from './git-run.ts'
import { lastLine } from '#lib/last-line.ts'
import { type Followed, layoutOf } from './layout.ts'
import { localErrors } from './local-errors.ts'

const ENTRY = 'fleet/main.ts'

/** The folder with `fleet/`; undefined if no parent has one. */
export function ownFleetFolder(from: string, release: string): string | undefined {
  for (let dir = realpathSync(from); ; dir = dirname(dir)) {
    if (existsSync(join(dir, ENTRY))) return isOfRelease(dir, release) ? undefined : dir
    if (existsSync(join(dir, '.git')) || dirname(dir) === dir) return undefined
  }
}

/** A checkout of KubeNode, or the demo repository that a start made from one. */
function isOfRelease(dir: string, release: string): boolean {
  if (dir === realpathSync(release)) return true
  const data = layoutOf(dirname(dir))
  return data.repository === dir && existsSync(data.state)
}

/** Repository, folder and branch at the time the fleet starts. */
export async function followedAt(folder: string): Promise<Followed> {
  const ask = (...args: readonly string[]) => git(folder, args)
  try {
    const repository = await ask('rev-parse', '--show-toplevel')
    await ask('rev-parse', '--verify', 'HEAD^{commit}')
    const branch = await ask('symbolic-ref', '--quiet', '--short', 'HEAD').catch(() => '')
    const path = relative(repository, folder)
    return { repository, path: path === '' ? '.' : path, ...(branch !== '' && { branch }) }
  } catch (cause) {
    if (cause instanceof KubeNodeError) throw cause
    throw new KubeNodeError(localErrors.KN1209({ source: folder, why: lastLine(cause) }), { cause })
  }
}
