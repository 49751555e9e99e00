// The commit an image is built from. Everything in the image has its timestamp, so a build of the same commit has the same bytes.
import { spawnSync } from 'node:child_process'

export interface BuiltCommit {
  readonly time: Date
  /** Undefined if the files differ from the commit. */
  readonly revision?: string
}

/** Untracked files count too. */
const SHIPPED = ['src', 'deploy', 'package.json', 'package-lock.json']
const EPOCH = new Date(0)

/** `epoch` is SOURCE_DATE_EPOCH, for builds without a repository. */
export function builtCommit(root: string, epoch: string | undefined): BuiltCommit {
  const given = /^\d{1,11}$/.test(epoch ?? '') ? { time: new Date(Number(epoch) * 1_000) } : undefined
  const [revision, seconds] = git(root, 'log', '-1', '--no-show-signature', '--format=%H %ct').split(' ')
  if (revision === undefined || seconds === undefined) return given ?? { time: EPOCH }
  const time = given?.time ?? new Date(Number(seconds) * 1_000)
  const isClean = git(root, 'status', '--porcelain', '--', ...SHIPPED) === ''
  return isClean ? { time, revision } : { time }
}

const git = (root: string, ...args: readonly string[]): string =>
  spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' }).stdout?.trim() ?? ''
