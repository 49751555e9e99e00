// Keeps the files in which Prometheus finds the agents of a cluster of the local fleet: their addresses, and a token of an account that may read metrics only.
import { AGENT_ACCOUNTS_GROUP, AGENTS_GROUP, METRICS_ACCESS, METRICS_READER, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { isObject } from '#lib/json.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { readScrapeConfig } from '#measure/read-scrape-config.ts'
import { localErrors } from '../local-errors.ts'

/** As deploy/monitoring/monitoring.yaml calls it. */
const ACCOUNT = 'kubenode-scraper'
const FIELD_MANAGER = 'kubenode-local'
/** Renewed long before. */
const TOKEN_S = 3_600

const bindingType: ResourceType = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  namespaced: false,
}

export interface AgentFiles {
  readonly cluster: string
  readonly targets: string
  readonly token: string
}

/** What keeps agents of this cluster from being scraped, if anything does. */
export async function writeTargets(client: KubeClient, { cluster, targets }: AgentFiles): Promise<readonly string[]> {
  const { isOpen, text, notes } = await readScrapeConfig(client, {
    cluster,
    form: 'targets',
    port: undefined,
    nodeExporterPort: undefined,
    tokenFile: '',
  })
  writeWholeFile(targets, isOpen ? text : '[]\n')
  return notes
}

export async function writeToken(client: KubeClient, { cluster, token: file }: AgentFiles): Promise<void> {
  const options = { fieldManager: FIELD_MANAGER, force: true }
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: ACCOUNT, namespace: SYSTEM_NAMESPACE } }
  await client.apply(coreKind('ServiceAccount'), account, options)
  const group = 'rbac.authorization.k8s.io'
  const bind = (name: string, role: string, subjects: readonly object[]) =>
    client.apply(
      bindingType,
      {
        apiVersion: `${group}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name },
        roleRef: { apiGroup: group, kind: 'ClusterRole', name: role },
        subjects,
      },
      options,
    )
  await bind(ACCOUNT, METRICS_READER, [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: SYSTEM_NAMESPACE }])
  await bind(
    'kubenode:agent-metrics-access',
    METRICS_ACCESS,
    [AGENTS_GROUP, AGENT_ACCOUNTS_GROUP].map((name) => ({ kind: 'Group', apiGroup: group, name })),
  )
  const { status, text } = await client.raw({
    method: 'POST',
    path: `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/${ACCOUNT}/token`,
    headers: { 'content-type': 'application/json' },
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: TOKEN_S },
    },
  })
  const answer: unknown = status === 201 ? JSON.parse(text) : undefined
  const given = isObject(answer) && isObject(answer['status']) ? answer['status']['token'] : undefined
  if (typeof given !== 'string') throw new KubeNodeError(localErrors.KN1233_token({ cluster, status }))
  writeWholeFile(file, given)
}
