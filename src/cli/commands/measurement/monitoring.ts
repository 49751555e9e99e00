// `kubenode monitoring`: how Prometheus reads a cluster.
import type { Command } from 'commander'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { countOption } from '../../counted-option.ts'
import { outputOption } from '../../output.ts'
import { type ServerOptions, connect, withServer } from '../../fleet/connect.ts'

interface ScrapeOptions extends ServerOptions {
  readonly cluster?: string
  readonly output?: 'targets' | 'operator'
  readonly port?: string
  readonly nodeExporter?: string
  readonly tokenFile: string
}

const TOKEN_FILE = '/etc/prometheus/kubenode.token'

export function register(program: Command, io: Io): void {
  const monitoring = program.command('monitoring').description('how Prometheus reads a cluster')
  withServer(monitoring.command('scrape-config'))
    .description(
      'print the scrape configuration of all agents of a cluster, rendered from its Machines; -o targets is a file for file_sd_configs, -o operator a ScrapeConfig for the Prometheus operator',
    )
    .option('--cluster <name>', 'label cluster of all series; what sync recorded in the cluster when left out')
    .addOption(countOption('--port <n>', 'port of the agents; what the cluster declares in agent.json when left out'))
    .addOption(countOption('--node-exporter <port>', 'also scrape node_exporter on each node, at this port'))
    .option('--token-file <file>', 'file with the token, as Prometheus sees it', TOKEN_FILE)
    .addOption(outputOption(['targets', 'operator']))
    .action((options: ScrapeOptions) => printScrapeConfig(options, io))
}

async function printScrapeConfig(options: ScrapeOptions, io: Io): Promise<void> {
  const { readScrapeConfig } = await import('#measure/read-scrape-config.ts')
  const { recordedName } = await import('#forecast/plan/recorded-name.ts')
  const client = await connect(options, io)
  const cluster = options.cluster ?? (await recordedName(client))
  const { text, notes } = await readScrapeConfig(client, {
    cluster,
    form: options.output ?? 'config',
    port: numberOf(options.port),
    nodeExporterPort: numberOf(options.nodeExporter),
    tokenFile: options.tokenFile,
  })
  for (const note of notes) io.err(shownLine(note))
  io.out(text)
}

const numberOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text))
