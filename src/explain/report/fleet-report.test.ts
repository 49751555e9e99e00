import { expect, test } from 'vitest'
import { facts } from '#test/support/fleets/report-facts.ts'
import { fleetReport } from './fleet-report.ts'
import { htmlText } from './form-html.ts'
import { markdownText, tableText } from './form-text.ts'

const RANGE = { from: facts.from, to: facts.to }
const TWO = { ...facts, cluster: 'two', unknown: [...facts.unknown, 'requests: forbidden'] }
const report = fleetReport([facts, TWO, { cluster: 'gone', problem: 'no answer' }], RANGE)
const rowsOf = (title: string, of = report): readonly string[] =>
  (of.sections.find((s) => s.title === title)?.rows ?? []).map((row) => row.map((c) => c.text).join(' | '))

test('clusters whose objects have equal names are counted apart, and their common releases once', () => {
  expect(rowsOf('Clusters')).toEqual([
    'prod | 3 | 99.900 % | 1s | 0s | 2 | 3 | 50.0 % | 1',
    'two | 3 | 99.900 % | 1s | 0s | 2 | 3 | 50.0 % | 1',
    'gone | unknown | unknown | unknown | unknown | unknown | unknown | unknown | unknown',
    'all | 6 | 99.900 % | 2s | 0s | 4 | 6 | 50.0 % | 2',
  ])
  expect(rowsOf('Faults by kind')).toEqual(['TasksHung | 4 | 2 | 4'])
  expect(rowsOf('Mean time of a repair').map((r) => r.split(' | ').slice(0, 3).join(' '))).toEqual([
    'detect 15s 2',
    'wait 30s 2',
    'decide 30s 2',
    'do 3m 2',
    'verify 5m 2',
  ])
  expect(rowsOf('Delivery')[0]).toContain('| 2 |')
  expect(rowsOf('Utilization')[0]).toMatch(/^cpu \| 80 \| 10 \|/)
})

test('sets select machines of their own cluster only', () => {
  const setless = { ...facts, cluster: 'setless', sets: [] }
  const outside = (title: string) =>
    rowsOf(title, fleetReport([facts, setless], RANGE)).find((r) => r.startsWith('machines that no set selects'))
  expect(['Is the fleet good?', 'Cluster prod', 'Cluster setless'].map((t) => outside(t)?.split(' | ')[1])).toEqual([
    '4',
    '1',
    '3',
  ])
})

test('what one cluster does not know is not known of the sum, and says of which', () => {
  const less = fleetReport([facts, { ...TWO, requested: undefined }], RANGE)
  expect(rowsOf('Utilization', less)[0]).toMatch(/^cpu \| 80 \| unknown \|/)
  expect(report.unknown).toEqual([
    'everything of cluster gone, which is in no sum: no answer',
    'use of nodes: the cluster does not serve metrics.k8s.io',
    'two: requests: forbidden',
  ])
})

test('every form names the clusters', () => {
  expect(tableText(report, undefined)).toMatch(/^Fleet report of 2 of 3 clusters, 2026-11-21 to 2026-11-28\n/)
  expect(markdownText(report)).toContain('\nClusters prod, two, gone, 2026-11-21')
  expect(htmlText(report)).toContain('Clusters prod, two, gone, 2026-11-21')
})
