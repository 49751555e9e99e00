// Freezes and thaws one node with a file in its agent's folder.
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { holdErrors } from './hold-errors.ts'
import { freezeNode, thawNode } from './node-file.ts'

/** The file freezes the node until it is removed, so other options do not apply. */
function refuseBeside(isGiven: boolean, what: string): void {
  if (!isGiven) return
  throw new KubeNodeError(holdErrors.KN1002_nodeFolder({ what }))
}

interface FolderFreeze {
  readonly what: string | undefined
  readonly reason: string
  readonly isForGiven: boolean
  readonly io: Io
}

export async function freezeFolder(folder: string, { what, reason, isForGiven, io }: FolderFreeze): Promise<void> {
  refuseBeside(what !== undefined, `${what}`)
  refuseBeside(isForGiven, '--for: the file stays until it is taken away')
  const author = io.env['SUDO_USER'] ?? io.env['USER'] ?? 'unknown'
  const file = await freezeNode(folder, { reason, author }, systemClock.now())
  io.out(shownInWindow(io, [`frozen: ${file}`]))
  io.err(
    'running components continue; nothing is switched or repaired until kubenode thaw or until the file is removed\n',
  )
}

interface FolderThaw {
  readonly what: string | undefined
  readonly isAll: boolean
  readonly io: Io
}

export async function thawFolder(folder: string, { what, isAll, io }: FolderThaw): Promise<void> {
  refuseBeside(what !== undefined, `${what}`)
  refuseBeside(isAll, '--all')
  const file = await thawNode(folder)
  io.out(file === undefined ? 'this node is not frozen by a file\n' : shownLine(`thawed: ${file}`))
}
