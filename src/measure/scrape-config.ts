// Prometheus' configuration for the agents of a cluster, and for node_exporter beside them. Pure: text that a person or a file-based discovery reads.
import { stringify } from 'yaml'
import { type ScrapeTarget, targetText } from './scrape-targets.ts'

export interface ScrapeConfigAsked {
  readonly cluster: string
  readonly targets: readonly ScrapeTarget[]
  readonly agentPort: number
  /** Left out: node_exporter is not scraped. */
  readonly nodeExporterPort?: number | undefined
  /** File with the token, as Prometheus sees it. */
  readonly tokenFile: string
}

const INTERVAL = '30s'

type Group = { readonly targets: readonly string[]; readonly labels: Readonly<Record<string, string>> }

const groupsOf = (targets: readonly ScrapeTarget[], port: number): readonly Group[] =>
  targets.map(({ host, labels }) => ({ targets: [targetText(host, port)], labels }))

const agentJob = ({ targets, agentPort, tokenFile }: ScrapeConfigAsked) => ({
  job_name: 'kubenode-agent',
  scheme: 'https',
  scrape_interval: INTERVAL,
  authorization: { type: 'Bearer', credentials_file: tokenFile },
  // Agents sign their own certificates, as kubelets do by default. With certificates of the cluster: ca_file instead.
  tls_config: { insecure_skip_verify: true },
  static_configs: groupsOf(targets, agentPort),
})

export function scrapeConfigText(asked: ScrapeConfigAsked): string {
  const { cluster, targets, nodeExporterPort, tokenFile } = asked
  const jobs = [
    agentJob(asked),
    ...(nodeExporterPort === undefined
      ? []
      : [
          {
            job_name: 'node-exporter',
            scrape_interval: INTERVAL,
            static_configs: groupsOf(targets, nodeExporterPort),
          },
        ]),
  ]
  const head = [
    `# Agents of cluster ${cluster}: ${targets.length}. For scrape_configs of prometheus.yml, or a file of scrape_config_files.`,
    `# ${tokenFile}: the token of an account that is bound to ClusterRole kubenode-metrics-reader; deploy/monitoring/monitoring.yaml makes one:`,
    `#   kubectl -n kubenode-system get secret kubenode-scraper-token -o jsonpath='{.data.token}' | base64 -d`,
  ]
  return `${head.join('\n')}\n${stringify({ scrape_configs: jobs }, { lineWidth: 0, aliasDuplicateObjects: false })}`
}

/** A file of file_sd_configs: Prometheus reads it again when it changes. */
export const targetsText = ({ targets, agentPort }: ScrapeConfigAsked): string =>
  `${JSON.stringify(groupsOf(targets, agentPort), null, 2)}\n`
