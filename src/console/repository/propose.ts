// Proposes a fleet change as a patch of the declaring files, or writes it into the working copy.
import { resolve } from 'node:path'
import { messageOf } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { shellWord } from '#lib/shell-word.ts'
import { diffText } from './patch.ts'
import { type Step, WorkingCopy } from './working-copy.ts'
import type { Io } from '#lib/terminal/io.ts'

export interface CopyOptions {
  readonly repo?: string
  readonly path: string
  readonly weakCage: 'allow' | 'refuse'
  readonly write?: boolean
}

export interface Proposal {
  /** The effect of the change, as the start of a sentence. */
  readonly what: string
  /** Commit subject. */
  readonly subject: string
  readonly steps: readonly Step[]
}

/** Returns whether some edit's render does exactly this; standard error has the reason if not. */
export async function proposeEdits({ what, subject, steps }: Proposal, options: CopyOptions, io: Io): Promise<boolean> {
  const { repo = '.', path, weakCage, write = false } = options
  io.err('searching the files of the fleet: each likely edit is rendered\n')
  const open = WorkingCopy.open({ folder: resolve(io.cwd, repo), path, weakCage })
  const found = await open.then(
    async (copy) => ({ copy, edits: await copy.find(steps) }),
    (error: unknown) => ({ error: messageOf(error) }),
  )
  if ('error' in found) {
    io.err(shownLine(`no file is edited: ${found.error}`))
    return false
  }
  const { copy, edits } = found
  if (edits === undefined) {
    io.err(shownLine(`no file is edited: no single line of the fleet does exactly this (${what})`))
    return false
  }
  const commit = `git commit -m ${shellWord(subject)} -- ${edits.map((e) => shellWord(e.path)).join(' ')}`
  if (!write) {
    // Git reads the patch, so print it unchanged.
    io.out(diffText(edits))
    io.err(
      shownLine(`rendered: ${what}, and nothing else changes; run it again with --write, or pipe it into git apply`),
    )
    return true
  }
  for (const file of await copy.write(edits)) io.err(shownLine(`edited ${file}`))
  io.err(
    shownLine(`rendered: ${what}, and nothing else changes; read the effect with kubenode plan --dirty, then commit:`),
  )
  io.out(shownLine(commit))
  return true
}
