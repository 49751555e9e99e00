// Runs the embedded API server as its own process, and hosts the control planes of Clusters in separate processes.
import { isIP } from 'node:net'
import { compiledPolicies, runApiServer } from '#apiserver/apiserver.ts'
import { EmbeddedHost } from '#controlplanes/embedded/embedded-host.ts'
import { spawnPlanes, thisProgram } from './planes/child.ts'
import { ProcessEngine } from '#controlplanes/embedded/processes/process-engine.ts'
import { programEngine } from '#controlplanes/embedded/programs/engine.ts'
import { serveHost } from '#controlplanes/embedded/socket.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { collectAtRest, thisEngine } from '#lib/collect-at-rest.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { keepFilesPrivate } from '#lib/private-folder.ts'
import { pinoLogger } from '#lib/log-pino.ts'
import { reportError } from '#lib/terminal/exit.ts'
import { announce, type Io } from '#lib/terminal/io.ts'
import { runningProgram } from '#lib/trusted-folder.ts'
import { Health } from '#runtime/health.ts'
import { StatusHttp } from '#runtime/http.ts'
import { untilEnded } from '#runtime/until-ended.ts'
import { placeText } from './planes/plane-calls.ts'
import { EMBEDDED_DATA } from './planes/plane-snapshots.ts'
import { embeddedRules } from './run/embedded-rules.ts'
import { addressIn } from './run/listeners.ts'
import { serverErrors } from './server-errors.ts'

const MAX_PORT = 65_535

export interface ServerOptions {
  readonly data: string
  readonly port: string
  readonly controlPlanes?: string
  readonly controlSocket?: string
  readonly programs?: string
  readonly server: boolean
  readonly advertise?: string
  readonly healthListen?: string
  readonly most?: number
  readonly planesPerProcess: number
  readonly webhookAllow?: string
  readonly webhookAllowIn?: string
  readonly tenantsApart?: boolean
  readonly host: string
  readonly loops: boolean
  readonly recordRights?: boolean
}

export async function runServer(options: ServerOptions, io: Io): Promise<void> {
  keepFilesPrivate()
  const { signal } = untilEnded()
  collectAtRest(systemClock, thisEngine())
  const policies = compiledPolicies()
  const serve = async (data: string, port: number): Promise<void> => {
    const { url, kubeconfig, ended } = await runApiServer({
      data,
      port,
      host: options.host,
      loops: options.loops,
      recordsRights: options.recordRights ?? false,
      rules: embeddedRules(),
      policies,
      program: runningProgram(),
      signal,
      onClosed: (count) => io.err(`removed other users' access to ${count} files and folders in ${data}\n`),
      onReading: (bytes) => io.err(`reading ${Math.round(bytes / 2 ** 20)} MiB of objects before serving\n`),
    })
    announce(`${kubeconfig}\n`)
    io.err(`serving ${url}; try: kubectl --kubeconfig ${kubeconfig} get namespaces\n`)
    await ended
  }
  try {
    if (!options.server && options.controlPlanes === undefined) throw new KubeNodeError(serverErrors.KN1002_noServer())
    const port = portOf(options.port)
    const health = healthAt(options.healthListen)
    const planes = controlPlanes(options, { signal, io }).then(async (host) => {
      await health?.start()
      await host.ended
    })
    await Promise.all([...(options.server ? [serve(options.data, port)] : []), planes])
    await health?.stop()
  } catch (e) {
    // Often a disk failure. Exit even if open handles remain.
    process.exit(reportError(io, e))
  }
}

/** Resolves once the host has ended; immediately if there is no host. */
async function controlPlanes(
  {
    controlPlanes: root,
    controlSocket: socket,
    recordRights,
    programs,
    planesPerProcess,
    tenantsApart,
    webhookAllow,
    webhookAllowIn,
    ...options
  }: ServerOptions,
  { signal, io }: { readonly signal: AbortSignal; readonly io: Io },
): Promise<{ readonly ended: Promise<void> }> {
  if (root === undefined && socket === undefined) return { ended: Promise.resolve() }
  if (root === undefined || socket === undefined) throw new KubeNodeError(serverErrors.KN1002_server())
  const host = new EmbeddedHost({
    root,
    clock: systemClock,
    engine:
      programs === undefined
        ? processEngine({ perProcess: planesPerProcess, tenantsApart: tenantsApart === true }, [
            ...(recordRights === true ? ['--record-rights'] : []),
            ...(webhookAllow === undefined ? [] : ['--webhook-allow', placesIn(webhookAllow)]),
            ...(webhookAllowIn === undefined ? [] : ['--webhook-allow-in', webhookAllowIn]),
          ])
        : await programEngine(programs),
    listen: options.host,
    onEnd: (id, why, againInMs) =>
      io.err(`control plane ${id} ended: ${why}; started again in ${againInMs / 1_000} s\n`),
    ...defined({ address: options.advertise, most: options.most }),
    ...(!options.server && { firstPort: portOf(options.port) }),
  })
  await host.open()
  const served = await serveHost(host, socket)
  const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  return { ended: ended.then(() => served.close()).then(() => host.close()) }
}

/** In the form that control plane processes compare. */
const placesIn = (text: string): string =>
  text
    .split(',')
    .map((place) => {
      const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(place.trim()) ?? []
      const host = bracketed ?? plain ?? ''
      if (isIP(host) === 0 || Number(port) > MAX_PORT)
        throw new KubeNodeError(serverErrors.KN1002_webhookPlaces({ text: JSON.stringify(place.slice(0, 100)) }))
      return placeText(host, Number(port))
    })
    .join(',')

const processEngine = (
  bounds: { readonly perProcess: number; readonly tenantsApart: boolean },
  args: readonly string[],
) =>
  new ProcessEngine({
    clock: systemClock,
    data: EMBEDDED_DATA,
    ...bounds,
    spawn: () => spawnPlanes(thisProgram(), args),
  })

/** The kubelet restarts a process that hangs. Whether the process serves is what its control planes report. */
function healthAt(listen: string | undefined) {
  if (listen === undefined) return undefined
  return new StatusHttp({
    ...addressIn('--health-listen', listen),
    health: new Health(),
    log: pinoLogger({ level: 'warn' }),
  })
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= MAX_PORT) return port
  throw new KubeNodeError(serverErrors.KN1002_port({ text: JSON.stringify(text) }))
}
