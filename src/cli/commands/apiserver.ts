// `kubenode apiserver`: the embedded Kubernetes API server as a process of its own.
import { Option, type Command } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import { keepFilesPrivate } from '#lib/private-folder.ts'
import { registerDataCommands } from './apiserver-data.ts'
import { reportError } from '../exit.ts'
import { runningProgram } from '../trusted-folder.ts'
import { announce, type Io } from '../io.ts'
import { cliErrors } from '../cli-errors.ts'

interface Options {
  readonly data: string
  readonly port: string
  readonly host: string
  readonly loops: boolean
}

const DEFAULT_PORT = '6443'

export function register(program: Command, io: Io): void {
  const apiserver = program
    .command('apiserver')
    .description('run the embedded Kubernetes API server and print where its kubeconfig is')
    .addOption(new Option('--data <dir>', 'folder for objects, keys and certificates').default('.kubenode/apiserver'))
    .addOption(new Option('--port <n>', 'port to listen on; 0 takes any free one').default(DEFAULT_PORT))
    .addOption(new Option('--host <address>', 'address to listen on').default('127.0.0.1'))
    .addOption(
      new Option('--no-loops', 'leave garbage collection, namespaces, nodes and certificates to a controller manager'),
    )
    .action(async (options: Options) => {
      const [{ runApiServer }, { embeddedRules }, { untilEnded }] = await Promise.all([
        import('#apiserver/run-api-server.ts'),
        import('../run/embedded-rules.ts'),
        import('../until-ended.ts'),
      ])
      keepFilesPrivate()
      try {
        const { url, kubeconfig, ended } = await runApiServer({
          data: options.data,
          port: portOf(options.port),
          host: options.host,
          loops: options.loops,
          rules: embeddedRules(),
          program: runningProgram(),
          signal: untilEnded().signal,
          onClosed: (count) => io.err(`closed ${count} files and folders of ${options.data} to other users\n`),
          onReading: (bytes) => io.err(`reading ${Math.round(bytes / 2 ** 20)} MiB of objects before serving\n`),
        })
        announce(`${kubeconfig}\n`)
        io.err(`serving ${url}; try: kubectl --kubeconfig ${kubeconfig} get namespaces\n`)
        await ended
      } catch (e) {
        // Often a disk failure: open handles must not keep the process from exiting.
        process.exit(reportError(io, e))
      }
    })
  registerDataCommands(apiserver, io)
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new KubeNodeError(cliErrors.KN1031({ text: JSON.stringify(text) }))
}
