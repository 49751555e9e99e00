// Applies a way back to the working copy and its index, without a commit. Git refuses by itself if files have other changes.
import { execFile } from 'node:child_process'
import { counted } from '#lib/counted.ts'
import { KubeNodeError, assertNever, messageOf } from '#lib/errors.ts'
import type { WayBack } from './revert-search.ts'
import { rolloutErrors } from '#explain/rollout/rollout-errors.ts'

/** Each revert is of one commit; git itself is faster. */
const GIT_MS = 60_000

export async function applyWayBack(
  way: WayBack,
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  switch (way.kind) {
    case 'Reverts':
      for (const { id, isMerge } of way.commits)
        await git(['revert', '--no-commit', ...(isMerge ? ['-m', '1'] : []), id], { folder, env })
      return `reverted in the working copy: ${counted(way.commits.length, 'commit')}, not committed yet`
    case 'Patch':
      await git(['apply', '--index'], { folder, env, input: way.text })
      return 'applied to the working copy, not committed yet'
    case 'Declared':
    case 'None':
      return 'nothing to write'
    default:
      return assertNever(way)
  }
}

interface GitCall {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  readonly input?: string
}

const git = (args: readonly string[], { folder, env, input }: GitCall): Promise<void> =>
  new Promise((done, fail) => {
    const child = execFile('git', [...args], { cwd: folder, env: { ...env }, timeout: GIT_MS }, (error, _, stderr) =>
      error === null
        ? done()
        : fail(
            new KubeNodeError(
              rolloutErrors.KN1385({ what: `git ${args[0]}`, why: stderr.trim().slice(0, 200) || messageOf(error) }),
            ),
          ),
    )
    // If git refuses, it exits without reading its input: its exit code reports that, not the broken pipe.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input ?? '')
  })
