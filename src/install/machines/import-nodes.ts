// Imports the Nodes that a user named, or those on cloud hosts with a tag.
import { resolve } from 'node:path'
import { machinesErrors } from '#agent/join/machines-errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { runImport } from './run-import.ts'

export interface ImportAsked {
  readonly selector?: string
  readonly all?: boolean
  readonly dryRun?: boolean
  readonly undo?: boolean
  readonly output?: string
  readonly provider?: string
  readonly tag?: string
  readonly providers?: string
}

/** Returns how many could not be imported. Bad options are reported before any request. */
export async function importNodes(
  names: readonly string[],
  options: ImportAsked,
  io: Io,
  reach: () => Promise<KubeClient>,
): Promise<{ readonly failed: number }> {
  const { provider, tag, providers, ...others } = options
  const isTagged = [provider, tag, providers].some((o) => o !== undefined)
  const isNamed = names.length > 0 || options.selector !== undefined || options.all === true
  if (isTagged && isNamed)
    throw new KubeNodeError(machinesErrors.KN1002_byTag({ why: 'other Nodes are chosen as well' }))
  if (!isTagged && !isNamed) throw new KubeNodeError(machinesErrors.KN1002_noNodes())
  if (options.output !== undefined && !['yaml', 'ts'].includes(options.output))
    throw new KubeNodeError(machinesErrors.KN1002_output({ output: options.output }))
  const at = providers === undefined ? {} : { providers: resolve(io.cwd, providers) }
  const hosts = isTagged
    ? await (await import('./tagged-hosts.ts')).taggedHosts({ ...options, ...at, env: io.env })
    : undefined
  return runImport({ client: await reach(), names, ...others, ...defined({ hosts }) }, io)
}
