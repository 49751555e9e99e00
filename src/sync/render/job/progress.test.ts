import { expect, test } from 'vitest'
import { numbered } from '#lib/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { progressOf, tooLate, type SeenJob } from './progress.ts'

const job = (status: object = {}): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'render-x', namespace: 'kubenode-render' },
  status,
})
const pod = (status: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'render-x-abcde', ...metadata },
  status,
})
const event = (message: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: {},
  reason: 'FailedCreate',
  message,
})
const container = (state: object) => ({ containerStatuses: [{ name: 'render', state }] })
const waiting = (reason: string, message = '') => ({ phase: 'Pending', ...container({ waiting: { reason, message } }) })

const seen = (more: Partial<SeenJob>): SeenJob => ({ name: 'render-x', job: job(), pods: [], events: [], ...more })

/** The kind of result, and the error number. */
function messages(more: Partial<SeenJob>): string {
  const p = progressOf(seen(more))
  if (p.kind === 'Failed') return numbered(p.error)
  return p.kind === 'Waiting' ? `waits for ${p.for}: ${p.why}` : p.kind === 'Ended' ? `ended: ${p.pod}` : p.kind
}

test.each<readonly [string, Partial<SeenJob>, string]>([
  ['a new Job', {}, 'waits for Pod'],
  ['a Job that is gone', { job: undefined }, 'KN7126'],
  [
    'a pod that the quota has no room for',
    { events: [event('Error creating: pods "x" is forbidden: exceeded quota: render, requested: pods=1')] },
    'waits for Quota: Error creating',
  ],
  [
    'a pod that Pod Security refuses',
    { events: [event('Error creating: pods "x" is forbidden: violates PodSecurity "restricted:latest"')] },
    'KN1413',
  ],
  [
    'a pod that a webhook refuses',
    { events: [event('Error creating: admission webhook "w" denied the request: no')] },
    'KN1413',
  ],
  [
    'a pod that could not be made for a moment',
    { events: [event('Error creating: Internal error occurred: failed calling webhook: timeout')] },
    'waits for Pod: Error creating',
  ],
  ['a pod that is new', { pods: [pod({ phase: 'Pending' })] }, 'waits for Start'],
  [
    'a pod without a node',
    {
      pods: [
        pod({
          phase: 'Pending',
          conditions: [
            { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes are available' },
          ],
        }),
      ],
    },
    'waits for Node: 0/3 nodes',
  ],
  ['a first pull that failed', { pods: [pod(waiting('ErrImagePull', 'timeout'))] }, 'waits for Image: ErrImagePull'],
  ['an image that is not there', { pods: [pod(waiting('ImagePullBackOff', 'not found'))] }, 'KN1414'],
  ['an image that is no name', { pods: [pod(waiting('InvalidImageName'))] }, 'KN1414'],
  ['a user that is root', { pods: [pod(waiting('CreateContainerConfigError', 'will run as root'))] }, 'KN7126'],
  ['a pod that is being made', { pods: [pod(waiting('ContainerCreating'))] }, 'waits for Start: ContainerCreating'],
  ['a pod that runs', { pods: [pod({ phase: 'Running', ...container({ running: {} }) })] }, 'Running'],
  ['a pod that ended well', { pods: [pod({ phase: 'Succeeded' })] }, 'ended: render-x-abcde'],
  [
    'a program that failed',
    { pods: [pod({ phase: 'Failed', ...container({ terminated: { exitCode: 1, reason: 'Error' } }) })] },
    'ended: render-x-abcde',
  ],
  [
    'too little memory',
    { pods: [pod({ phase: 'Failed', ...container({ terminated: { exitCode: 137, reason: 'OOMKilled' } }) })] },
    'OutOfMemory',
  ],
  [
    'an eviction',
    { pods: [pod({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory' })] },
    'KN7126: cannot render in Job render-x: its pod was ended from outside (Evicted): The node was low',
  ],
  [
    'a pod that is preempted',
    {
      pods: [
        pod(
          {
            phase: 'Running',
            ...container({ running: {} }),
            conditions: [{ type: 'DisruptionTarget', status: 'True', message: 'preempted by a pod' }],
          },
          { deletionTimestamp: '2026-01-01T00:00:00Z' },
        ),
      ],
    },
    'KN7126: cannot render in Job render-x: its pod was ended from outside (Deleted): preempted by a pod',
  ],
  ['the deadline of the Job', { pods: [pod({ phase: 'Failed', reason: 'DeadlineExceeded' })] }, 'KN7126'],
  [
    'a Job that failed and has no pod',
    { job: job({ conditions: [{ type: 'Failed', status: 'True', reason: 'DeadlineExceeded', message: 'late' }] }) },
    'KN7126: cannot render in Job render-x: DeadlineExceeded: late',
  ],
])('%s', (_, more, wanted) => {
  expect(messages(more)).toContain(wanted)
})

test('what a render waited for too long decides its error', () => {
  const code = (awaited: Parameters<typeof tooLate>[1]) => tooLate('render-x', awaited, 'why').code
  expect(['Quota', 'Node', 'Image', 'Start', 'Pod'].map((a) => code(a as 'Quota'))).toEqual([
    'KN7122',
    'KN7122',
    'KN1414',
    'KN7126',
    'KN7126',
  ])
})

test('texts of a node are made safe to show', () => {
  const text = messages({ pods: [pod({ phase: 'Failed', reason: 'Evicted', message: 'a\u001b[31mb\nc' })] })
  expect([text.includes('\u001b'), text.includes('\n')]).toEqual([false, false])
})
