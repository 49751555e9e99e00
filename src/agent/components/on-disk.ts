// Which components the disk of a host has, by their folders.
import { KubeNodeError } from '#lib/errors.ts'
import { MAX_COMPONENTS } from '#api/kinds/machine.ts'
import { agentErrors } from '../agent-errors.ts'
import type { Files } from '../files/port.ts'
import { type NodeDir, componentsFolder } from '../node-dir.ts'

/** As many as a Machine can order, and as many that are being removed. Without an agent, a host that lists more only takes memory of the controllers. */
const MOST = 2 * MAX_COMPONENTS

export async function componentsOnDisk({
  files,
  dir,
}: {
  readonly files: Pick<Files, 'list'>
  readonly dir: NodeDir
}): Promise<readonly string[]> {
  const folder = componentsFolder(dir)
  const found = await files.list(folder)
  if (found.length <= MOST) return found
  throw new KubeNodeError(agentErrors.KN8096_components({ folder, found: found.length, most: MOST }), {
    retry: 'later',
  })
}
