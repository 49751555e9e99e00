// The process that serves control planes for the host that started it: `run-server.ts` keeps their data, and ends a process that is stuck.
import { channelToHost } from './planes/child.ts'
import { keepFilesPrivate } from '#lib/private-folder.ts'

export async function servePlanesHere({ recordRights }: { readonly recordRights?: boolean }): Promise<void> {
  keepFilesPrivate()
  // Before anything else is loaded: the host may have asked already.
  const channel = channelToHost()
  const [{ servePlanes }, { embeddedEngine }, { embeddedRules }, lib] = await Promise.all([
    import('#controlplanes/embedded/processes/serve-planes.ts'),
    import('./planes/embedded-engine.ts'),
    import('./run/embedded-rules.ts'),
    Promise.all([import('#lib/system-clock.ts'), import('#lib/collect-at-rest.ts'), import('#lib/trusted-folder.ts')]),
  ])
  const [{ systemClock }, { collectAtRest, thisEngine }, { runningProgram }] = lib
  collectAtRest(systemClock, thisEngine())
  const engine = embeddedEngine({
    rules: embeddedRules(),
    program: runningProgram(),
    recordsRights: recordRights ?? false,
  })
  await servePlanes(channel, (wanted) => engine.start(wanted), systemClock)
  process.exit()
}
