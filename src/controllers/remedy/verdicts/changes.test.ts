import { expect, test } from 'vitest'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Node } from '#nodes/objects.ts'
import { newsOf, newsOfJob } from './changes.ts'

const at = '2026-05-01T12:00:00Z'
interface Wished {
  readonly status?: 'True' | 'False'
  readonly beat?: string
  readonly spec?: object
  readonly annotations?: Readonly<Record<string, string>>
}
const node = ({ status = 'False', beat = at, spec = {}, annotations = {} }: Wished = {}) =>
  ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', uid: 'u', annotations },
    spec,
    status: { conditions: [{ type: 'A', status, lastHeartbeatTime: beat, lastTransitionTime: at }] },
  }) as unknown as Node
const cordoned = node({
  spec: { taints: [{ key: 'kubenode.io/cordon' }] },
  annotations: { 'kubenode.io/cordon': '{}' },
})

test.each([
  ['a node that comes', undefined, node(), 'Now'],
  ['one that goes', node(), undefined, 'Now'],
  ['a condition', node(), node({ status: 'True' }), 'Now'],
  ['a person who cordons', node(), node({ spec: { unschedulable: true } }), 'Now'],
  ['a heartbeat', node(), node({ beat: '2026-05-01T12:00:10Z' }), undefined],
  ['a cordon of ours', node(), cordoned, 'Later'],
  ['the jobs that a Machine lists', node(), node({ spec: { jobs: ['j'] } }), undefined],
] as const)('%s is news: %#', (_, before, now, news) => {
  expect(newsOf(before, now, false)).toBe(news)
})

test('a taint is looked at now where a rule asks about taints', () => {
  expect(newsOf(node(), cordoned, true)).toBe('Now')
})

const job = (status?: object, annotations: Record<string, string> = {}) =>
  ({ metadata: { name: 'j', uid: 'j', annotations }, spec: { rung: 0 }, status }) as unknown as RemedyOperationJob
const running = job({ phase: 'Running', startedAt: at })
const ended = job({ phase: 'Done', outcome: 'Succeeded', startedAt: at, finishedAt: at })

test.each([
  ['one that was made', undefined, job(), 'Later'],
  ['one that asks', job(), job({ phase: 'AwaitingPermit' }), undefined],
  ['one that begins', job({ phase: 'AwaitingPermit' }), running, 'Later'],
  ['one that is verified', running, job({ phase: 'Verifying', startedAt: at }), undefined],
  ['one that ends', running, ended, 'Now'],
  ['one that is asked to give way', job(), job(undefined, { by: 'x' }), 'Now'],
  ['one that ended before we looked', undefined, ended, 'Now'],
  ['one that is gone', ended, undefined, 'Now'],
] as const)('of repairs, %s is news: %#', (_, before, now, news) => {
  expect(newsOfJob(before, now)).toBe(news)
})
