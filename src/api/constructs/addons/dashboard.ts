// A dashboard inside a cluster (Headlamp) without rights of its own: users see what their own token may read.
import type { KubeObject } from '../../schema/object.ts'
import { type AddonChart, commonProblems, imageOf, replicasOf, RESTRICTED } from './addon.ts'

const NAME = 'dashboard'
const NAMESPACE = 'kubenode-dashboard'
const LABELS = { 'app.kubernetes.io/name': NAME }
const PORT = 4466

export const dashboard: AddonChart = {
  versions: { '0.30': [32, 35], '0.35': [33, 37], '0.40': [34, 38] },
  problems: (values) => commonProblems(values, ['image', 'replicas']),
  render: (version, values): readonly KubeObject[] => {
    const metadata = { name: NAME, namespace: NAMESPACE, labels: { ...LABELS, 'app.kubernetes.io/version': version } }
    return [
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
      },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: true },
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata,
        spec: {
          replicas: replicasOf(values, 1),
          selector: { matchLabels: LABELS },
          template: {
            metadata: { labels: LABELS },
            spec: {
              serviceAccountName: NAME,
              securityContext: { runAsNonRoot: true, runAsUser: 100, seccompProfile: { type: 'RuntimeDefault' } },
              containers: [
                {
                  name: NAME,
                  image: imageOf(values),
                  args: ['-in-cluster', '-plugins-dir=/tmp/plugins'],
                  ports: [{ name: 'http', containerPort: PORT }],
                  resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '256Mi' } },
                  readinessProbe: { httpGet: { path: '/', port: PORT } },
                  securityContext: RESTRICTED,
                  volumeMounts: [{ name: 'temporary', mountPath: '/tmp' }],
                },
              ],
              volumes: [{ name: 'temporary', emptyDir: { sizeLimit: '64Mi' } }],
            },
          },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata,
        spec: { selector: LABELS, ports: [{ name: 'http', port: 80, targetPort: PORT }] },
      },
    ]
  },
}
