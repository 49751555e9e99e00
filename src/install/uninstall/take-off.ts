// Uninstalls KubeNode from a cluster once the user has typed its name.
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { InstallContext } from '../context.ts'
import { installErrors } from '../install-errors.ts'
import { untilInterrupted } from '../until-interrupted.ts'
import type { UninstallOptions } from '../install-options.ts'
import { uninstall } from './uninstall.ts'

interface InstalledThere {
  readonly context: InstallContext
  /** The cluster's name. */
  readonly name: string
  /** The user who runs the uninstall. */
  readonly author: string
}

/** Asks for the cluster's name first. */
export async function takeOff(
  options: UninstallOptions,
  { context, name, author }: InstalledThere,
  io: Io,
): Promise<void> {
  const dryRun = options.dryRun === true
  await untilInterrupted(context, (run) =>
    uninstall(run, {
      dryRun,
      deleteDefinitions: options.deleteCrds === true,
      keepNamespace: options.keepNamespace === true,
      keepAgents: options.keepAgents === true,
      now: options.now === true,
      author,
      confirm: async (lines, isNeeded) => {
        for (const line of lines) io.err(shownLine(line))
        if (!dryRun && isNeeded) await confirmName(name, options.yes, io)
      },
    }),
  )
  if (!dryRun) io.out(shownLine(`KubeNode is uninstalled from ${name}`))
}

async function confirmName(name: string, given: string | undefined, io: Io): Promise<void> {
  if (given === undefined && io.ask === undefined) throw new KubeNodeError(installErrors.KN1423({ name }))
  const answer = given ?? (await io.ask?.(`type the name of the cluster, ${name}, to uninstall KubeNode: `)) ?? ''
  if (answer.trim() !== name)
    throw new KubeNodeError(installErrors.KN1423_given({ given: JSON.stringify(answer.trim()), name }))
}
