// How the Prometheus operator reads our metrics, and the shipped alerts. A file of its own: its kinds may be missing in a cluster.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify, parse } from 'yaml'
import { METRICS_READER, METRICS_SERVER_NAME, metricsSecretName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { PART_OF, selectorOf } from './labels.ts'
import { METERED } from './system.ts'

export const MONITORING_FILE = 'deploy/monitoring/monitoring.yaml'
export const ALERTS_FILE = 'deploy/alerts/kubenode.rules.yaml'

const SCRAPER = 'kubenode-scraper'
const TOKEN = 'kubenode-scraper-token'
const OPERATOR = 'monitoring.coreos.com/v1'
const RBAC = 'rbac.authorization.k8s.io'

const named = (name: string) => ({ name, namespace: SYSTEM_NAMESPACE, labels: PART_OF })

/** It may get /metrics and nothing else. The operator reads tokens from Secrets alone. */
const scraper: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: named(SCRAPER), automountServiceAccountToken: false },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...named(TOKEN), annotations: { 'kubernetes.io/service-account.name': SCRAPER } },
    type: 'kubernetes.io/service-account-token',
  },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: SCRAPER, labels: PART_OF },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: METRICS_READER },
    subjects: [{ kind: 'ServiceAccount', name: SCRAPER, namespace: SYSTEM_NAMESPACE }],
  },
]

type Metered = (typeof METERED)[number]

/** One a program: its name is the label `job`, by which the alerts tell programs apart. */
const podMonitor = (program: Metered): KubeObject => ({
  apiVersion: OPERATOR,
  kind: 'PodMonitor',
  metadata: named(`kubenode-${program}`),
  spec: {
    selector: { matchLabels: selectorOf(program) },
    podMetricsEndpoints: [
      {
        port: 'metrics',
        path: '/metrics',
        scheme: 'https',
        interval: '30s',
        // Our label `cluster` is the one that the alerts sum by.
        honorLabels: true,
        authorization: { type: 'Bearer', credentials: { name: TOKEN, key: 'token' } },
        tlsConfig: {
          ca: { secret: { name: metricsSecretName(program), key: 'ca.crt' } },
          serverName: METRICS_SERVER_NAME,
        },
        // It serves files and elects no leader, which is no reason for an alert.
        ...(program === 'artifacts' && {
          metricRelabelings: [{ action: 'drop', sourceLabels: ['__name__'], regex: 'kubenode_leader' }],
        }),
      },
    ],
  },
})

/** `alerts` is the text of ALERTS_FILE. */
export const monitoringObjects = (alerts: string): readonly KubeObject[] => [
  ...scraper,
  ...METERED.map(podMonitor),
  { apiVersion: OPERATOR, kind: 'PrometheusRule', metadata: named('kubenode'), spec: parse(alerts) as object },
]

export function monitoringFiles(root: string): ReadonlyMap<string, string> {
  const objects = monitoringObjects(readFileSync(join(root, ALERTS_FILE), 'utf8'))
  const head =
    '# Generated from deploy/charts and deploy/alerts by npm run gen. Needs the Prometheus operator, and the label kubenode.io/scrape: "true" on the namespace of Prometheus.\n'
  const text = objects.map((o) => stringify(o, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n')
  return new Map([[MONITORING_FILE, `${head}${text}`]])
}
