// The commit that a release is made of, as git knows it.
import { spawnSync } from 'node:child_process'

export interface Checkout {
  readonly revision: string
  /** Of the commit: a release has the time of what it is made of. */
  readonly time: Date
  /** Files that differ from the commit. */
  readonly changes: readonly string[]
  readonly tags: readonly string[]
}

export function readCheckout(root: string): Checkout {
  const [revision = '', seconds = ''] = git(root, 'log', '-1', '--no-show-signature', '--format=%H %ct').split(' ')
  return {
    revision,
    time: new Date(Number(seconds) * 1_000),
    changes: linesOf(git(root, 'status', '--porcelain')).map((line) => line.replace(/^\S+\s+/, '')),
    tags: linesOf(git(root, 'tag', '--points-at', 'HEAD')),
  }
}

const linesOf = (text: string): readonly string[] => text.split('\n').flatMap((line) => line.trim() || [])

function git(root: string, ...args: readonly string[]): string {
  const { error, status, stdout, stderr } = spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' })
  if (error !== undefined || status !== 0)
    throw new Error(`cannot read the commit of ${root}: ${error?.message ?? stderr.trim()}; release from a clone`)
  return stdout.trim()
}
