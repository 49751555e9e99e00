import { expect, test } from 'vitest'
import { layeredConfig } from './layered-config.ts'

const kernel = { config: { source: 'kernel-monitor', plugin: 'kmsg' } }
const rule = (condition: string) => ({ condition, reason: 'R', pattern: condition })

test('monitors of both are used, and of two with one name the later one', () => {
  const own = { config: { source: 'kernel-monitor', plugin: 'journald' } }
  const file = '/etc/npd/docker.json'
  expect(layeredConfig([{ monitors: [kernel] }, { monitors: [file] }])).toEqual({ monitors: [kernel, file] })
  expect(layeredConfig([{ monitors: [kernel, file] }, { monitors: [own, { file, clearAfter: {} }] }])).toEqual({
    monitors: [own, { file, clearAfter: {} }],
  })
})

test('rules of one log are joined, those of another stand beside them, and nothing is said twice', () => {
  const logs = (...rules: readonly object[]) => ({ logs: [{ path: '/var/log/messages', rules }] })
  expect(layeredConfig([logs(rule('A')), logs(rule('A'), rule('B'))])).toEqual(logs(rule('A'), rule('B')))
  const other = { path: '/var/log/other', rules: [rule('C')] }
  expect(layeredConfig([logs(rule('A')), { logs: [other] }])).toEqual({ logs: [...logs(rule('A')).logs, other] })
})

test('single thresholds are replaced, and what only one layer says stays', () => {
  const below = { detectors: { disk: { minFreePercent: 5, everyMs: '10s' }, hungTasks: false }, metrics: false }
  const above = { detectors: { disk: { minFreePercent: 9 } }, clearAfter: '3s' }
  expect(layeredConfig([below, above])).toEqual({
    detectors: { disk: { minFreePercent: 9, everyMs: '10s' }, hungTasks: false },
    metrics: false,
    clearAfter: '3s',
  })
  expect(layeredConfig([{ detectors: { disk: false } }, { detectors: { disk: {} } }])).toEqual({
    detectors: { disk: {} },
  })
})

test('what is no list or object is left for the check of the commit to name', () => {
  expect(layeredConfig([{ monitors: [kernel] }, { monitors: 'x' }])).toEqual({ monitors: 'x' })
  expect(layeredConfig([{ logs: 1 }, { logs: [{ path: '/x' }] }])).toEqual({ logs: [{ path: '/x' }] })
})
