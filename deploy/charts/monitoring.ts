// How the Prometheus operator reads our metrics, and the shipped alerts. A file of its own: its kinds may be missing in a cluster.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify, parse } from 'yaml'
import { SCRAPE_PORT } from '#api/agent-config/metrics-config.ts'
import { METRICS_ACCESS, METRICS_READER, METRICS_SERVER_NAME, metricsSecretName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { operatorScrapeConfig, SCRAPER_TOKEN } from '#measure/operator-scrape-config.ts'
import { BOARDS } from '../dashboards/boards.ts'
import { type Board, dashboardJson } from '../dashboards/dashboard.ts'
import { PART_OF, selectorOf } from './labels.ts'
import { AGENTS } from './roles.ts'
import { METERED } from './system.ts'

export const MONITORING_FILE = 'deploy/monitoring/monitoring.yaml'
export const DASHBOARDS_FILE = 'deploy/monitoring/dashboards.yaml'
const DASHBOARDS_FOLDER = 'deploy/monitoring/dashboards'
export const ALERTS_FILE = 'deploy/alerts/kubenode.rules.yaml'

const SCRAPER = 'kubenode-scraper'
const OPERATOR = 'monitoring.coreos.com/v1'
const RBAC = 'rbac.authorization.k8s.io'

const named = (name: string) => ({ name, namespace: SYSTEM_NAMESPACE, labels: PART_OF })

/** It may get /metrics and nothing else. The operator reads tokens from Secrets alone. */
const scraper: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: named(SCRAPER), automountServiceAccountToken: false },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...named(SCRAPER_TOKEN), annotations: { 'kubernetes.io/service-account.name': SCRAPER } },
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

/** Agents ask the API server who scrapes them. Without this they answer no scraper. */
const agentAccess: KubeObject = {
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: 'kubenode:agent-metrics-access', labels: PART_OF },
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: METRICS_ACCESS },
  subjects: AGENTS.map((s) => ({ ...s, apiGroup: RBAC })),
}

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
        authorization: { type: 'Bearer', credentials: { name: SCRAPER_TOKEN, key: 'token' } },
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
  agentAccess,
  ...METERED.map(podMonitor),
  // Of a cluster that declares another port: kubenode monitoring scrape-config -o operator.
  operatorScrapeConfig(SCRAPE_PORT),
  { apiVersion: OPERATOR, kind: 'PrometheusRule', metadata: named('kubenode'), spec: parse(alerts) as object },
]

export function monitoringFiles(root: string): ReadonlyMap<string, string> {
  const objects = monitoringObjects(readFileSync(join(root, ALERTS_FILE), 'utf8'))
  const head =
    '# Generated from deploy/charts and deploy/alerts by npm run gen. Needs the Prometheus operator, and the label kubenode.io/scrape: "true" on the namespace of Prometheus.\n'
  return new Map([
    [MONITORING_FILE, `${head}${documents(objects)}`],
    [DASHBOARDS_FILE, `${DASHBOARDS_HEAD}${documents(dashboardMaps)}`],
    ...BOARDS.map((board) => [`${DASHBOARDS_FOLDER}/${board.uid}.json`, boardText(board)] as const),
  ])
}

const documents = (objects: readonly KubeObject[]): string =>
  objects.map((o) => stringify(o, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n')

const DASHBOARDS_HEAD =
  '# Generated from deploy/dashboards by npm run gen. For the sidecar of Grafana, which reads ConfigMaps with the label grafana_dashboard.\n'
const boardText = (board: Board): string => `${JSON.stringify(dashboardJson(board), null, 2)}\n`

/** The label is the default of the sidecar in Grafana's chart. */
const dashboardMaps: readonly KubeObject[] = BOARDS.map((board) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: `${board.uid}-dashboard`,
    namespace: SYSTEM_NAMESPACE,
    labels: { ...PART_OF, grafana_dashboard: '1' },
  },
  data: { [`${board.uid}.json`]: boardText(board) },
}))
