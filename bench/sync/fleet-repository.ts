// The git repository of a benchmark: one file of fleet code, committed again and again.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

function git(dir: string, ...args: readonly string[]): string {
  const identity = ['-c', 'user.name=bench', '-c', 'user.email=bench@example.org', '-c', 'commit.gpgsign=false']
  return execFileSync('git', [...identity, ...args], { cwd: dir, encoding: 'utf8' }).trim()
}

export const initFleet = (dir: string): string => git(dir, 'init', '--quiet', '--initial-branch=main')

/** The id of the commit. */
export function commitFleet(dir: string, text: string): string {
  const path = join(dir, 'fleet/main.ts')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  git(dir, 'add', 'fleet')
  git(dir, 'commit', '--quiet', '-m', 'fleet')
  return git(dir, 'rev-parse', 'HEAD')
}
