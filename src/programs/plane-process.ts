// Serves control planes for the host that started this process. The host (`run-server.ts`) keeps their data and kills a stuck process.
import { channelToHost } from './planes/child.ts'
import { keepFilesPrivate } from '#lib/private-folder.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface PlaneProcessOptions {
  readonly recordRights?: boolean
  readonly webhookAllow?: string
  readonly webhookAllowIn?: string
}

export async function servePlanesHere(options: PlaneProcessOptions, env: Environment): Promise<void> {
  const { recordRights } = options
  keepFilesPrivate()
  // Open the channel before loading anything else: the host may already have sent a request.
  const channel = channelToHost()
  const [{ servePlanes }, { embeddedEngine }, { embeddedRules }, { planeCalls }, lib] = await Promise.all([
    import('#controlplanes/embedded/processes/serve-planes.ts'),
    import('./planes/embedded-engine.ts'),
    import('./run/embedded-rules.ts'),
    import('./planes/plane-calls.ts'),
    Promise.all([import('#lib/system-clock.ts'), import('#lib/collect-at-rest.ts'), import('#lib/trusted-folder.ts')]),
  ])
  const [{ systemClock }, { collectAtRest, thisEngine }, { runningProgram }] = lib
  collectAtRest(systemClock, thisEngine())
  const engine = embeddedEngine({
    rules: embeddedRules(),
    mayCall: planeCalls({ ...options, apiServer: env['KUBERNETES_SERVICE_HOST'] || undefined }),
    program: runningProgram(),
    recordsRights: recordRights ?? false,
  })
  await servePlanes(channel, (wanted) => engine.start(wanted), systemClock)
  process.exit()
}
