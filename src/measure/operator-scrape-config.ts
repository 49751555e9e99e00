// The ScrapeConfig by which the Prometheus operator finds the agents of its cluster: Nodes are no pods, so Prometheus finds them itself. Pure.
import { LABELS, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { stringify } from 'yaml'

/** Of the account that deploy/monitoring/monitoring.yaml makes. */
export const SCRAPER_TOKEN = 'kubenode-scraper-token'
const PART_OF = { 'app.kubernetes.io/part-of': 'kubenode' }

/** Prometheus' name of a label of a Node. */
const ofNode = (label: string): string => `__meta_kubernetes_node_label_${label.replaceAll(/[^a-zA-Z0-9]/g, '_')}`

/** Agents are closed until the fleet declares `metrics.scrape`, and until then each is a target that is down. */
export const operatorScrapeConfig = (port: number): KubeObject => ({
  apiVersion: 'monitoring.coreos.com/v1alpha1',
  kind: 'ScrapeConfig',
  metadata: { name: 'kubenode-agent', namespace: SYSTEM_NAMESPACE, labels: PART_OF },
  spec: {
    jobName: 'kubenode-agent',
    scheme: 'HTTPS',
    scrapeInterval: '30s',
    authorization: { type: 'Bearer', credentials: { name: SCRAPER_TOKEN, key: 'token' } },
    // Agents sign their own certificates, as kubelets do by default.
    tlsConfig: { insecureSkipVerify: true },
    kubernetesSDConfigs: [{ role: 'Node' }],
    relabelings: [
      {
        action: 'keep',
        sourceLabels: ['__meta_kubernetes_node_annotationpresent_kubenode_io_owned_by_machine'],
        regex: 'true',
      },
      {
        action: 'replace',
        sourceLabels: ['__meta_kubernetes_node_address_InternalIP'],
        regex: '(.+)',
        targetLabel: '__address__',
        replacement: `$1:${port}`,
      },
      { action: 'replace', sourceLabels: ['__meta_kubernetes_node_name'], targetLabel: 'node' },
      { action: 'replace', sourceLabels: [ofNode(LABELS.pool)], targetLabel: 'pool' },
      { action: 'replace', sourceLabels: [ofNode(LABELS.zone)], targetLabel: 'zone' },
      { action: 'replace', sourceLabels: [ofNode(LABELS.class)], targetLabel: 'class' },
    ],
  },
})

export const operatorScrapeConfigText = (port: number): string =>
  stringify(operatorScrapeConfig(port), { lineWidth: 0 })
