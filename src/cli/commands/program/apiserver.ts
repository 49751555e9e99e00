// `kubenode apiserver`: runs the embedded Kubernetes API server as its own process.
import { Option, type Command } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import { registerDataCommands } from './apiserver-data.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { ServerOptions } from '#programs/run-server.ts'
import { cliErrors } from '../../cli-errors.ts'
import { PROGRAMS } from '#programs/all.ts'

const DEFAULT_PORT = '6443'
/** Enough to share each process's fixed cost, few enough to restart within seconds. */
const PLANES_PER_PROCESS = 50

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
    .option(
      '--webhook-allow <places>',
      'ADDRESS:PORT, joined by commas, that webhooks of control planes may have although they belong to this host, its link or the API server of the hub; none when left out',
    )
    .addOption(
      new Option(
        '--webhook-allow-in <folder>',
        'folder of files that --webhook-announce of kubenode run wrote',
      ).hideHelp(),
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
    .action(async ({ planeProcess, ...options }: ServerOptions & { readonly planeProcess?: boolean }) => {
      if (planeProcess === true) {
        const { servePlanesHere } = await PROGRAMS.planes.load()
        return servePlanesHere(options, io.env)
      }
      const { runServer } = await PROGRAMS.apiserver.load()
      await runServer(options, io)
    })
  registerDataCommands(apiserver, io)
}

const countOf =
  (option: string) =>
  (text: string): number => {
    const count = Number(text)
    if (/^\d{1,4}$/.test(text) && count > 0) return count
    throw new KubeNodeError(cliErrors.KN1002_number({ option, text: JSON.stringify(text) }))
  }
