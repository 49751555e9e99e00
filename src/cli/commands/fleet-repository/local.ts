// `kubenode local up`, also run by `npm start`: a whole fleet on this machine.
import { Option, type Command } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import type { BreakAsked } from '#programs/local/break/break-node.ts'
import { type Fault, FAULTS } from '#programs/local/break/faults.ts'
import { DRIVERS } from '#programs/local/driver.ts'
import type { PrometheusAsked } from '#programs/local/prometheus/run.ts'
import type { StatusAsked } from '#programs/local/show-status.ts'
import type { UpAsked } from '#programs/local/start-fleet.ts'
import type { Io } from '#lib/terminal/io.ts'
import { cliErrors } from '../../cli-errors.ts'
import { countOption } from '../../counted-option.ts'
import { waitScreen } from '../../wait-screen.ts'
import { PROGRAMS } from '#programs/all.ts'

interface UpOptions extends Omit<UpAsked, 'nodes'> {
  readonly nodes?: string
}

const MAX_LOCAL_NODES = 50

function nodesOf(text: string | undefined): { nodes: number } | Record<string, never> {
  if (text === undefined) return {}
  const nodes = Number(text)
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > MAX_LOCAL_NODES) {
    throw new KubeNodeError(cliErrors.KN1002_nodes({ text, maxLocalNodes: MAX_LOCAL_NODES }))
  }
  return { nodes }
}

function faultOf(text: string): Fault {
  const fault = FAULTS.find((f) => f === text)
  if (fault === undefined) throw new KubeNodeError(cliErrors.KN1002_fault({ text, faults: FAULTS.join(', ') }))
  return fault
}

const withData = (command: Command): Command =>
  command.option(
    '--data <dir>',
    'data folder of the local fleet; when left out, .kubenode in the fleet around the current folder, or in the checkout',
  )

export function register(program: Command, io: Io): void {
  const local = program.command('local').description('a whole fleet on this machine')
  withData(local.command('up'))
    .description(
      'start the fleet in the current folder on this machine, or the demo in a checkout of KubeNode: a hub, its clusters, nodes; follow its commits and show what happens; Ctrl-C stops all',
    )
    .option(
      '--nodes <n>',
      'nodes in each cluster of the demo, by a commit; in a fleet of your own the machines of each pool here',
    )
    .addOption(
      new Option(
        '--driver <name>',
        'what the nodes are: process, of this user, with demo components; or nspawn, systemd machines with components of real nodes, which needs root and Debian 12',
      ).choices(DRIVERS),
    )
    .option(
      '--real',
      'clusters get the etcd, kube-apiserver and kube-controller-manager of the folder that KUBEBUILDER_ASSETS names; the hub stays embedded',
    )
    .option('--reset', 'delete the data of earlier runs first')
    .option('--check', 'exit when the fleet is in sync with git: 0, or 1 when it did not get there')
    .option('--record-rights', 'keep in used-rights.jsonl of each API server which rights its clients use')
    .action(async ({ nodes, ...options }: UpOptions) => {
      const { startFleet } = await PROGRAMS.local.load()
      await startFleet({ ...options, ...nodesOf(nodes) }, io)
    })

  withData(local.command('prometheus'))
    .description(
      'run a Prometheus of this machine beside the local fleet, with the shipped rules and alerts; Ctrl-C stops it',
    )
    .addOption(countOption('--port <n>', 'port of its page on 127.0.0.1').default('9090'))
    .option('--program <file>', 'the program; prometheus of PATH when left out', 'prometheus')
    .option('--rules <file>', 'file with rules instead of the shipped ones')
    .action(async ({ port, ...options }: Omit<PrometheusAsked, 'port'> & { readonly port: string }) => {
      const { runPrometheus } = await import('#programs/local/prometheus/run.ts')
      await runPrometheus({ ...options, port: Number(port) }, io)
    })

  withData(local.command('break'))
    .argument('<fault>', `the fault: ${FAULTS.join(', ')}`)
    .argument('<node>', 'node of the local fleet')
    .description('provoke a fault of a real machine on a node of the local fleet, and print what to watch')
    .option(
      '--component <name>',
      'for hung, of a node that is a process: the component that hangs; the last one of the node when left out',
    )
    .option('--undo', 'end the fault')
    .action(async (fault: string, node: string, options: BreakAsked) => {
      const { breakNode } = await import('#programs/local/break/break-node.ts')
      await breakNode(faultOf(fault), node, options, io)
    })

  withData(local.command('status'))
    .description(
      'show the state of the local fleet; exit 1 while it is not in sync with git, or something needs attention',
    )
    .option('--wait', 'wait until in sync with git')
    .option('--timeout <duration>', 'how long to wait', '5m')
    .action(async (options: StatusAsked) => {
      const { showStatus } = await import('#programs/local/show-status.ts')
      await showStatus(options, waitScreen(io), io)
    })
}
