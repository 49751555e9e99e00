import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { METRICS_READER, METRICS_SERVER_NAME, SYSTEM_NAMESPACE } from '#api/names.ts'
import { ALERTS_FILE, MONITORING_FILE, monitoringFiles, monitoringObjects } from './monitoring.ts'
import { PORTS } from './programs.ts'
import { ROLES } from './roles.ts'
import { METERED, SystemChart } from './system.ts'
import { App } from 'cdk8s'

const root = join(import.meta.dirname, '../..')
const alerts = readFileSync(join(root, ALERTS_FILE), 'utf8')
const objects = monitoringObjects(alerts)

interface Monitor {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly podMetricsEndpoints: readonly {
      readonly port: string
      readonly scheme: string
      readonly tlsConfig: Readonly<Record<string, unknown>> & {
        readonly ca: { readonly secret: { readonly name: string } }
      }
      readonly authorization: { readonly credentials: { readonly name: string } }
    }[]
  }
}
const monitors = objects.filter((o) => o.kind === 'PodMonitor') as unknown as readonly Monitor[]

test(`${MONITORING_FILE} is up to date; run npm run gen when it is not`, () => {
  expect(readFileSync(join(root, MONITORING_FILE), 'utf8')).toBe(monitoringFiles(root).get(MONITORING_FILE))
  expect(parseAllDocuments(readFileSync(join(root, MONITORING_FILE), 'utf8')).map((d) => d.toJS() as unknown)).toEqual(
    JSON.parse(JSON.stringify(objects)),
  )
})

test('every program that serves metrics is read by itself, verified, and with a token that may read metrics alone', () => {
  const secrets = (
    new SystemChart(new App()).toJson() as readonly {
      readonly kind: string
      readonly metadata: { readonly name: string }
    }[]
  )
    .filter((o) => o.kind === 'Secret')
    .map((o) => o.metadata.name)
  const ofMonitoring = objects.filter((o) => o.kind === 'Secret').map((o) => o.metadata.name)
  expect(monitors.map((m) => m.spec.selector.matchLabels['app.kubernetes.io/component'])).toEqual([...METERED])
  for (const { spec } of monitors) {
    const [endpoint] = spec.podMetricsEndpoints
    expect(Object.keys(PORTS)).toContain(endpoint?.port)
    expect(endpoint).toMatchObject({ scheme: 'https', tlsConfig: { serverName: METRICS_SERVER_NAME } })
    expect(endpoint?.tlsConfig).not.toHaveProperty('insecureSkipVerify')
    expect(secrets).toContain(endpoint?.tlsConfig.ca.secret.name)
    expect(ofMonitoring).toContain(endpoint?.authorization.credentials.name)
  }
  const binding = objects.find((o) => o.kind === 'ClusterRoleBinding')
  expect(binding).toMatchObject({ roleRef: { name: METRICS_READER } })
  expect(ROLES.find((r) => r.name === METRICS_READER)).toMatchObject({
    rules: [{ apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] }],
    paths: ['/metrics'],
  })
})

test('the rules are those of the alerts, and all that has a namespace is in ours', () => {
  const rule = objects.find((o) => o.kind === 'PrometheusRule')
  expect(rule?.['spec']).toEqual(parse(alerts))
  for (const { kind, metadata } of objects)
    expect(metadata.namespace).toBe(kind === 'ClusterRoleBinding' ? undefined : SYSTEM_NAMESPACE)
})
