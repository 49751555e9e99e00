import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { podTrouble, waitingPods } from './pod-trouble.ts'

const IMAGE = 'registry.example.org/kubenode@sha256:1'
const pod = (status: object, image = IMAGE, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'kubenode-system', ...metadata },
  spec: { containers: [{ name: 'c', image }] },
  status,
})
const waiting = (reason: string, restartCount = 0, message = '', more: object = {}) => ({
  containerStatuses: [{ name: 'c', restartCount, state: { waiting: { reason, message } }, ...more }],
})
const codeOf = (p: KubeObject) => podTrouble([p], new Set([IMAGE]))?.code

test.each<[string, KubeObject, string | undefined]>([
  ['a first failed pull', pod(waiting('ErrImagePull')), undefined],
  ['a pull that was tried again', pod(waiting('ImagePullBackOff', 0, 'not found')), 'KN1414'],
  ['a name that is none', pod(waiting('InvalidImageName')), 'KN1414'],
  ['the image of the version before', pod(waiting('ImagePullBackOff'), 'other@sha256:2'), undefined],
  ['a pod that is being deleted', pod(waiting('ImagePullBackOff'), IMAGE, { deletionTimestamp: 'now' }), undefined],
  ['a program that ended twice', pod(waiting('CrashLoopBackOff', 2)), undefined],
  ['a program that keeps ending', pod(waiting('CrashLoopBackOff', 4)), 'KN1432'],
  ['a running pod', pod({ containerStatuses: [{ name: 'c', restartCount: 0, state: { running: {} } }] }), undefined],
])('%s', (_, seen, code) => expect(codeOf(seen)).toBe(code))

test('the message says which image, why, and how the program ended', () => {
  const images = new Set([IMAGE])
  expect(podTrouble([pod(waiting('ImagePullBackOff', 0, 'manifest unknown'))], images)?.text).toMatch(
    /pod p cannot be pulled: registry\.example\.org\/kubenode@sha256:1: manifest unknown; check --image/,
  )
  const ended = { lastState: { terminated: { exitCode: 2, message: 'KN1301: cannot read' } } }
  expect(podTrouble([pod(waiting('CrashLoopBackOff', 9, '', ended))], images)?.text).toMatch(
    /exit code 2: KN1301: cannot read; read its log/,
  )
})

test('what pods wait for is said once', () => {
  const unscheduled = { conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }] }
  expect(waitingPods([pod(unscheduled), pod(unscheduled), pod({ phase: 'Pending' })])).toBe(
    '0/3 nodes are available; Pending',
  )
})
