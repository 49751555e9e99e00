import { describe, expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { healthOf } from './health.ts'
import { defined } from '#lib/defined.ts'

const ours = (kind: string, status?: object, generation = 2): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind,
  metadata: { name: 'x', generation },
  spec: {},
  ...defined({ status }),
})
const API_SERVICES = 'apiregistration.k8s.io/v1'
const of = (apiVersion: string, kind: string, spec: object, status: object, metadata: object = {}): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'x', generation: 1, ...metadata },
  spec,
  status,
})
const condition = (type: string, status: string, message = 'm') => ({
  type,
  status,
  reason: 'R',
  message,
  lastTransitionTime: '',
})

describe('health', () => {
  test.each<[string, KubeObject, string]>([
    ['a policy without a status', ours('DefenderPolicy'), 'Current'],
    ['a set without a status yet', ours('MachineSet'), 'InProgress'],
    [
      'a set whose newest spec was not looked at',
      ours('MachineComponentSet', { observedGeneration: 1, phase: 'Complete' }),
      'InProgress',
    ],
    ['a set that is complete', ours('MachineComponentSet', { observedGeneration: 2, phase: 'Complete' }), 'Current'],
    [
      'a set that is Ready',
      ours('MachineSet', { observedGeneration: 2, conditions: [condition('Ready', 'True')] }),
      'Current',
    ],
    ['a set that rolls', ours('MachineComponentSet', { observedGeneration: 2, phase: 'Progressing' }), 'InProgress'],
    [
      'a set that a person holds',
      ours('MachineComponentSet', {
        observedGeneration: 2,
        phase: 'Paused',
        conditions: [condition('Ready', 'False'), condition('Paused', 'True')],
      }),
      'InProgress',
    ],
    [
      'a set that a person holds after a failure',
      ours('MachineComponentSet', {
        observedGeneration: 2,
        phase: 'Paused',
        conditions: [condition('Stalled', 'True')],
      }),
      'Failed',
    ],
    [
      'a set whose revision is blocked',
      ours('MachineComponentSet', { observedGeneration: 2, phase: 'Blocked' }),
      'Failed',
    ],
    [
      'a rule that is stalled',
      ours('NodeRemedier', { observedGeneration: 2, conditions: [condition('Stalled', 'True')] }),
      'Failed',
    ],
    [
      'a rule that is not Ready',
      ours('NodeRemedier', { observedGeneration: 2, conditions: [condition('Ready', 'False')] }),
      'InProgress',
    ],
    [
      'anything that is being deleted',
      of('v1', 'ConfigMap', {}, {}, { deletionTimestamp: '2026-01-31T12:00:00Z' }),
      'Terminating',
    ],
    ['a ConfigMap', of('v1', 'ConfigMap', {}, {}), 'Current'],
    [
      'a Deployment that rolls',
      of('apps/v1', 'Deployment', { replicas: 3 }, { observedGeneration: 1, replicas: 3, updatedReplicas: 2 }),
      'InProgress',
    ],
    [
      'a Deployment with no pod of its new template yet, of which a server leaves out the count',
      of(
        'apps/v1',
        'Deployment',
        { replicas: 2 },
        { observedGeneration: 1, replicas: 2, readyReplicas: 2, availableReplicas: 2 },
      ),
      'InProgress',
    ],
    [
      'a Deployment whose ready pods are not available for long enough',
      of(
        'apps/v1',
        'Deployment',
        { replicas: 2, minReadySeconds: 60 },
        { observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 2 },
      ),
      'InProgress',
    ],
    [
      'a ReplicaSet, which updates nothing',
      of('apps/v1', 'ReplicaSet', { replicas: 2 }, { observedGeneration: 1, replicas: 2, availableReplicas: 2 }),
      'Current',
    ],
    [
      'a StatefulSet whose pods follow when people delete them',
      of(
        'apps/v1',
        'StatefulSet',
        { replicas: 2, updateStrategy: { type: 'OnDelete' } },
        { observedGeneration: 1, replicas: 2, availableReplicas: 2 },
      ),
      'Current',
    ],
    [
      'a Deployment with old replicas',
      of(
        'apps/v1',
        'Deployment',
        { replicas: 2 },
        { observedGeneration: 1, replicas: 3, updatedReplicas: 2, availableReplicas: 2 },
      ),
      'InProgress',
    ],
    [
      'a Deployment that is there',
      of(
        'apps/v1',
        'Deployment',
        { replicas: 2 },
        { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
      ),
      'Current',
    ],
    [
      'a Deployment past its deadline',
      of(
        'apps/v1',
        'Deployment',
        {},
        {
          observedGeneration: 1,
          conditions: [{ ...condition('Progressing', 'False'), reason: 'ProgressDeadlineExceeded' }],
        },
      ),
      'Failed',
    ],
    [
      'a DaemonSet that is updated by slices',
      of(
        'apps/v1',
        'DaemonSet',
        { updateStrategy: { type: 'OnDelete' } },
        { observedGeneration: 1, desiredNumberScheduled: 3, updatedNumberScheduled: 0, numberAvailable: 3 },
      ),
      'Current',
    ],
    [
      'a DaemonSet that rolls',
      of(
        'apps/v1',
        'DaemonSet',
        {},
        { observedGeneration: 1, desiredNumberScheduled: 3, updatedNumberScheduled: 1, numberAvailable: 3 },
      ),
      'InProgress',
    ],
    ['a Job that failed', of('batch/v1', 'Job', {}, { conditions: [condition('Failed', 'True')] }), 'Failed'],
    ['a Job that is done', of('batch/v1', 'Job', {}, { conditions: [condition('Complete', 'True')] }), 'Current'],
    [
      'a definition that is not served yet',
      of('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {}, {}),
      'InProgress',
    ],
    ['an API that no controller looked at yet', of(API_SERVICES, 'APIService', {}, {}), 'InProgress'],
    [
      'an API whose server does not answer',
      of(API_SERVICES, 'APIService', {}, { conditions: [condition('Available', 'False')] }),
      'InProgress',
    ],
    [
      'an API that is served',
      of(API_SERVICES, 'APIService', {}, { conditions: [condition('Available', 'True')] }),
      'Current',
    ],
    [
      'an unknown kind, with conditions',
      of('x.io/v1', 'Widget', {}, { conditions: [condition('Ready', 'False')] }),
      'InProgress',
    ],
    ['an unknown kind, without', of('x.io/v1', 'Widget', {}, {}), 'Current'],
  ])('%s', (_, object, state) => {
    expect(healthOf(object).state).toBe(state)
  })
})

describe('conditions of other forms', () => {
  test.each<[string, object, string]>([
    ['without a message', { type: 'Ready', status: 'False', reason: 'NoQuota' }, 'NoQuota'],
    ['without reason and message', { type: 'Stalled', status: 'True' }, 'Stalled'],
    ['with a message that is no text', { type: 'Reconciling', status: 'True', message: { a: 1 } }, 'Reconciling'],
  ])('%s', (_, condition, message) => {
    const object = of('example.org/v1', 'Widget', {}, { conditions: [condition, 5, null] })
    expect(healthOf(object).message).toBe(message)
  })
})

test('an old status whose controller may not write names the refusal', () => {
  const refused = { ...condition('Reconciling', 'True', 'cannot request a permit: no'), reason: 'ActionRefused' }
  const set = ours('MachineComponentSet', { observedGeneration: 1, phase: 'Progressing', conditions: [refused] })
  expect(healthOf(set)).toEqual({ state: 'InProgress', message: 'cannot request a permit: no' })
})
