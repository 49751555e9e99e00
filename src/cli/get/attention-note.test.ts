import { expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { kindCalled } from '../fleet/target.ts'
import { attentionNote, isNoted } from './attention-note.ts'

const wanted = (noun: string, name?: string) => ({ type: kindCalled(noun), noun, name })
const lost = {
  metadata: { name: 'm-1' },
  spec: {},
  status: { phase: 'Lost', conditions: [{ type: 'Ready', status: 'False', reason: 'LeaseExpired', message: '' }] },
}

const clientOf = (machines: readonly object[] | 'Forbidden'): Pick<KubeClient, 'list'> => ({
  list: (async ({ kind }: ResourceType) => {
    if (kind === 'Machine' && machines === 'Forbidden') throw new Error('no answer')
    return { items: (kind === 'Machine' ? machines : []) as readonly KubeObject[], resourceVersion: '1' }
  }) as unknown as KubeClient['list'],
})

test('names the first of what needs attention, and where all of it is listed', async () =>
  expect(await attentionNote([wanted('machines')], clientOf([lost]))).toBe(
    '1 thing needs attention: machine/m-1 is Lost; to list all: kubenode why',
  ))

test('is about the kinds that are shown', async () =>
  expect(await attentionNote([wanted('sets')], clientOf([lost]))).toBeUndefined())

test('names machines whose state may be out of date, where nothing needs attention', async () => {
  const conditions = [{ type: 'AgentReachable', status: 'True', reason: 'LeaseRenewed', message: '' }]
  const ready = { metadata: { name: 'm-1' }, spec: {}, status: { phase: 'Ready', conditions } }
  const lease = { metadata: { name: 'agent-m-1' }, spec: { renewTime: '2026-01-05T00:00:00Z' } }
  const client = {
    list: (async ({ kind }: ResourceType) => ({
      items: kind === 'Machine' ? [ready] : kind === 'Lease' ? [lease] : [],
      resourceVersion: '1',
    })) as unknown as KubeClient['list'],
  }
  expect(await attentionNote([wanted('machines')], client)).toBe(
    'no heartbeat from machine/m-1: this state may be out of date',
  )
})

test('is silent where nothing is known to need attention', async () => {
  expect(await attentionNote([wanted('machines')], clientOf([]))).toBeUndefined()
  expect(await attentionNote([wanted('machines')], clientOf('Forbidden'))).toBeUndefined()
})

test('is for lists of kinds that findings are about', () =>
  expect(
    [
      [wanted('machines')],
      [wanted('nodes'), wanted('sets')],
      [wanted('machines', 'm-1')],
      [wanted('policies')],
      [],
    ].map(isNoted),
  ).toEqual([true, true, false, false, false]))
