import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { alterations, type RunningObjects } from './altered.ts'

const OURS = { 'app.kubernetes.io/part-of': 'kubenode', 'app.kubernetes.io/component': 'sync' }
const namespace = 'kubenode-system'

const deployment = (spec: object = {}, labels: Readonly<Record<string, string>> = OURS): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'kubenode-sync', namespace, labels },
  spec: { replicas: 2, template: { metadata: { labels: OURS } }, ...spec },
})
const service = (selector?: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kubenode-sync', namespace, labels: OURS },
  spec: { selector },
})
const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'u', controller: true }
const pod = (metadata: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace, labels: OURS, ...metadata },
})

const COMPONENT = { 'app.kubernetes.io/component': 'sync' }
const whole: RunningObjects = {
  deployments: [deployment()],
  services: [service(COMPONENT)],
  pods: [pod({ ownerReferences: [owner] })],
}
const INSTALLED = new Set(['Deployment/kubenode-sync', 'Service/kubenode-sync'])
const AGAIN = /^run kubenode install with its settings again/

test('an installation that runs as it was made has none', () => {
  expect(alterations(whole, INSTALLED)).toEqual([])
  expect(alterations(whole, new Set())).toEqual([])
})

test.each<[string, Partial<RunningObjects>, string, RegExp, RegExp]>([
  ['scaled to zero', { deployments: [deployment({ replicas: 0 })] }, 'deployment kubenode-sync', /scaled to 0/, AGAIN],
  [
    'paused',
    { deployments: [deployment({ paused: true })] },
    'deployment kubenode-sync',
    /is paused/,
    /rollout resume/,
  ],
  ['without our label', { deployments: [deployment({}, {})] }, 'deployment kubenode-sync', /part-of=kubenode/, AGAIN],
  ['a Service that selects other pods', { services: [service({ app: 'x' })] }, 'service kubenode-sync', /app=x/, AGAIN],
  ['a Service that selects no pods', { services: [service()] }, 'service kubenode-sync', /\(none\)/, AGAIN],
  [
    'a pod that its ReplicaSet gave up',
    { pods: [pod({ labels: { 'app.kubernetes.io/component': 'other' } })] },
    'pod p',
    /its labels were changed/,
    /^run kubectl delete pod -n kubenode-system p$/,
  ],
])('%s is named with what sets it back', (_, changed, object, how, remedy) => {
  expect(alterations({ ...whole, ...changed }, INSTALLED)).toEqual([
    { object, how: expect.stringMatching(how) as unknown, remedy: expect.stringMatching(remedy) as unknown },
  ])
})

test('objects of others, and pods on their way out, are none', () => {
  const others = {
    deployments: [...whole.deployments, { ...deployment({ replicas: 0 }, {}), metadata: { name: 'shop', namespace } }],
    services: [...whole.services, { ...service({ app: 'x' }), metadata: { name: 'shop', namespace } }],
    pods: [pod({ deletionTimestamp: '2026-01-01T00:00:00Z' }), pod({ labels: {} })],
  }
  expect(alterations(others, INSTALLED)).toEqual([])
})
