// The configuration of a Prometheus beside the local fleet. Programs and agents are found in files, which it reads again when they change. Pure.
import { stringify } from 'yaml'

export interface PrometheusFiles {
  /** Folder in which each program of the fleet announces its port. */
  readonly programs: string
  /** By cluster, the targets and the token of its agents. */
  readonly agents: readonly { readonly targets: string; readonly token: string }[]
  readonly rules: string
}

const INTERVAL = '5s'
/** A cluster that comes later is found within this time. */
const FOUND_WITHIN = '5s'

export const prometheusConfig = ({ programs, agents, rules }: PrometheusFiles): string =>
  stringify(
    {
      global: { scrape_interval: INTERVAL, scrape_timeout: INTERVAL, evaluation_interval: INTERVAL },
      rule_files: [rules],
      scrape_configs: [
        {
          job_name: 'kubenode',
          // Programs label their figures with the name of their cluster.
          honor_labels: true,
          file_sd_configs: [{ files: [`${programs}/*.json`], refresh_interval: FOUND_WITHIN }],
        },
        ...agents.map(({ targets, token }, n) => ({
          job_name: `kubenode-agent-${n}`,
          scheme: 'https',
          authorization: { type: 'Bearer', credentials_file: token },
          // Agents sign their own certificates, as kubelets do by default.
          tls_config: { insecure_skip_verify: true },
          file_sd_configs: [{ files: [targets], refresh_interval: FOUND_WITHIN }],
          // Alerts name the job that all clusters share.
          relabel_configs: [{ target_label: 'job', replacement: 'kubenode-agent' }],
        })),
      ],
    },
    { lineWidth: 0, aliasDuplicateObjects: false },
  )
