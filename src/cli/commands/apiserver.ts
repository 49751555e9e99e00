// `kubenode apiserver`: the embedded Kubernetes API server as a process of its own.
import { Option, type Command } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import { keepFilesPrivate } from '#lib/private-folder.ts'
import { registerDataCommands } from './apiserver-data.ts'
import { reportError } from '#lib/terminal/exit.ts'
import { runningProgram } from '#lib/trusted-folder.ts'
import { announce, type Io } from '#lib/terminal/io.ts'
import { cliErrors } from '../cli-errors.ts'

interface Options {
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
  readonly tenantsApart?: boolean
  readonly planeProcess?: boolean
  readonly host: string
  readonly loops: boolean
  readonly recordRights?: boolean
}

const DEFAULT_PORT = '6443'

export function register(program: Command, io: Io): void {
  const apiserver = program
    .command('apiserver')
    .description('run the embedded Kubernetes API server and print where its kubeconfig is')
    .addOption(new Option('--data <dir>', 'folder for objects, keys and certificates').default('.kubenode/apiserver'))
    .addOption(new Option('--port <n>', 'port to listen on; 0 takes any free one').default(DEFAULT_PORT))
    .option(
      '--control-planes <dir>',
      'run the control planes of Clusters too, each in a folder below this one; needs --control-socket',
    )
    .option(
      '--programs <dir>',
      'control planes are the programs of Kubernetes in this folder: etcd, kube-apiserver, kube-controller-manager, and kube-scheduler if it is there',
    )
    .option('--control-socket <file>', 'socket at which role cluster asks for control planes')
    .option('--no-server', 'run control planes alone; each takes the first free port from --port on')
    .addOption(
      new Option('--most <n>', 'how many control planes run here at most; 200 when left out').argParser(
        countOf('--most'),
      ),
    )
    .addOption(
      new Option(
        '--planes-per-process <n>',
        'how many control planes share a process, apart from this one; one that is stuck is ended with those beside it',
      )
        .argParser(countOf('--planes-per-process'))
        .default(PLANES_PER_PROCESS),
    )
    .option(
      '--tenants-apart',
      'no process serves control planes of Clusters of two namespaces: one that is stuck stops its own tenant only',
    )
    .addOption(new Option('--plane-process', 'serve control planes for the process that started this one').hideHelp())
    .option('--advertise <name>', 'name or address by which clients reach control planes; --host when left out')
    .option('--health-listen <address:port>', 'serve /healthz and /readyz there')
    .addOption(new Option('--host <address>', 'address to listen on').default('127.0.0.1'))
    .addOption(
      new Option('--no-loops', 'leave garbage collection, namespaces, nodes and certificates to a controller manager'),
    )
    .option(
      '--record-rights',
      'keep in used-rights.jsonl of the data folder which rights clients use, for audits of roles',
    )
    .action(async (options: Options) => {
      const [
        { runApiServer },
        { compiledPolicies },
        { embeddedRules },
        { untilEnded },
        { systemClock },
        { collectAtRest, thisEngine },
      ] = await Promise.all([
        import('#apiserver/run-api-server.ts'),
        import('#apiserver/admission/compiled-policies.ts'),
        import('#programs/run/embedded-rules.ts'),
        import('#runtime/until-ended.ts'),
        import('#lib/clock.ts'),
        import('#lib/collect-at-rest.ts'),
      ])
      keepFilesPrivate()
      if (options.planeProcess === true) return servePlanesHere(options)
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
          onClosed: (count) => io.err(`closed ${count} files and folders of ${data} to other users\n`),
          onReading: (bytes) => io.err(`reading ${Math.round(bytes / 2 ** 20)} MiB of objects before serving\n`),
        })
        announce(`${kubeconfig}\n`)
        io.err(`serving ${url}; try: kubectl --kubeconfig ${kubeconfig} get namespaces\n`)
        await ended
      }
      try {
        if (!options.server && options.controlPlanes === undefined) throw new KubeNodeError(cliErrors.KN1095())
        const port = portOf(options.port)
        const health = await healthAt(options.healthListen)
        const planes = controlPlanes(options, { signal, io }).then(async (host) => {
          await health?.start()
          await host.ended
        })
        await Promise.all([...(options.server ? [serve(options.data, port)] : []), planes])
        await health?.stop()
      } catch (e) {
        // Often a disk failure: open handles must not keep the process from exiting.
        process.exit(reportError(io, e))
      }
    })
  registerDataCommands(apiserver, io)
}

/** Enough to share what each process needs for itself, and few enough to be started again within seconds. */
const PLANES_PER_PROCESS = 50

/** Resolves once the host has ended; nothing to wait for without one. */
async function controlPlanes(
  { controlPlanes: root, controlSocket: socket, recordRights, programs, planesPerProcess, tenantsApart, ...options }: Options,
  { signal, io }: { readonly signal: AbortSignal; readonly io: Io },
): Promise<{ readonly ended: Promise<void> }> {
  if (root === undefined && socket === undefined) return { ended: Promise.resolve() }
  if (root === undefined || socket === undefined) throw new KubeNodeError(cliErrors.KN1094())
  const [{ EmbeddedHost }, { serveHost }, { systemClock }] = await Promise.all([
    import('#controlplanes/embedded/embedded-host.ts'),
    import('#controlplanes/embedded/socket.ts'),
    import('#lib/clock.ts'),
  ])
  const host = new EmbeddedHost({
    root,
    clock: systemClock,
    engine:
      programs === undefined
        ? await processEngine(
            { perProcess: planesPerProcess, tenantsApart: tenantsApart === true },
            recordRights === true ? ['--record-rights'] : [],
          )
        : await programEngineOf(programs),
    listen: options.host,
    onEnd: (id, why, againInMs) =>
      io.err(`control plane ${id} ended: ${why}; started again in ${againInMs / 1_000} s\n`),
    ...(options.advertise !== undefined && { address: options.advertise }),
    ...(options.most !== undefined && { most: options.most }),
    ...(!options.server && { firstPort: portOf(options.port) }),
  })
  await host.open()
  const served = await serveHost(host, socket)
  const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  return { ended: ended.then(() => served.close()).then(() => host.close()) }
}

async function processEngine(
  bounds: { readonly perProcess: number; readonly tenantsApart: boolean },
  args: readonly string[],
) {
  const [{ ProcessEngine }, { spawnPlanes, thisProgram }, { systemClock }] = await Promise.all([
    import('#controlplanes/embedded/processes/process-engine.ts'),
    import('#programs/planes/child.ts'),
    import('#lib/clock.ts'),
  ])
  return new ProcessEngine({ clock: systemClock, ...bounds, spawn: () => spawnPlanes(thisProgram(), args) })
}

/** In the process that `processEngine` starts. */
async function servePlanesHere({ recordRights }: Options): Promise<void> {
  const [{ servePlanes }, { channelToHost }] = await Promise.all([
    import('#controlplanes/embedded/processes/serve-planes.ts'),
    import('#programs/planes/child.ts'),
  ])
  // Before anything else is loaded: the host may have asked already.
  const channel = channelToHost()
  const [{ embeddedEngine }, { embeddedRules }, { systemClock }, { collectAtRest, thisEngine }] = await Promise.all([
    import('#programs/planes/embedded-engine.ts'),
    import('#programs/run/embedded-rules.ts'),
    import('#lib/clock.ts'),
    import('#lib/collect-at-rest.ts'),
  ])
  collectAtRest(systemClock, thisEngine())
  const engine = embeddedEngine({
    rules: embeddedRules(),
    program: runningProgram(),
    recordsRights: recordRights ?? false,
  })
  await servePlanes(channel, (wanted) => engine.start(wanted), systemClock)
  process.exit()
}

async function programEngineOf(folder: string) {
  const { programEngine } = await import('#controlplanes/embedded/programs/engine.ts')
  return programEngine(folder)
}

/** A process that hangs is ended by the kubelet; that it serves is what its control planes answer. */
async function healthAt(listen: string | undefined) {
  if (listen === undefined) return undefined
  const [{ addressIn }, { Health }, { StatusHttp }, { pinoLogger }] = await Promise.all([
    import('#programs/run/listeners.ts'),
    import('#runtime/health.ts'),
    import('#runtime/http.ts'),
    import('#lib/log-pino.ts'),
  ])
  return new StatusHttp({
    ...addressIn('--health-listen', listen),
    health: new Health(),
    log: pinoLogger({ level: 'warn' }),
  })
}

const countOf =
  (option: string) =>
  (text: string): number => {
    const count = Number(text)
    if (/^\d{1,4}$/.test(text) && count > 0) return count
    throw new KubeNodeError(cliErrors.KN1096({ option, text: JSON.stringify(text) }))
  }

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new KubeNodeError(cliErrors.KN1031({ text: JSON.stringify(text) }))
}
