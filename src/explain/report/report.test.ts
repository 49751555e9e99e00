import { expect, test } from 'vitest'
import { atOnce } from '#lib/steps.ts'
import type { Transition } from '#history/ask/reader.ts'
import type { Node } from '#nodes/objects.ts'
import { aRelease, facts, FROM } from '#test/support/fleets/report-facts.ts'
import { countedFaults, presentFaults, recordedFaults } from './faults.ts'
import { htmlText } from './form-html.ts'
import { csvText, jsonText, markdownText, tableText } from './form-text.ts'
import type { Report } from './report.ts'
import { REPORTS, reportOf } from './reports.ts'

/** Rows of a section as people read them. */
const rowsOf = (report: Report, title: string): readonly string[] =>
  (report.sections.find((s) => s.title === title)?.rows ?? []).map((row) => row.map((c) => c.text).join(' | '))

test('components: who lacks one, who is in no set, and which versions there are', () => {
  const report = reportOf('component', facts)
  expect(report.headline).toEqual({ text: '50.0 % of 2 declared components are on their machines', value: 0.5 })
  expect(rowsOf(report, 'Coverage')).toEqual(['beacon | 2 | 66.7 % | 1 | b'])
  expect(rowsOf(report, 'Outside of every set')).toEqual([
    'machines that no set selects | 1 | c',
    'nodes without a Machine | 1 | foreign',
  ])
  expect(rowsOf(report, 'Consistency')).toEqual([
    'beacon | 1.0.0 | 1 | 1 | 0 | not reported',
    'beacon | 1.1.0 | 1 | 1 | 0 | not reported',
  ])
  expect(rowsOf(reportOf('component', facts, 'scribe'), 'Coverage')).toEqual(['scribe | 0 | 0.0 % | 0 | a, b, c'])
})

test('repairs: success without the needless ones, and the parts of their time', () => {
  const report = reportOf('repairs', facts)
  expect(report.headline.text).toBe('1 of 2 repairs succeeded (50.0 %); 1 more was needless')
  expect(rowsOf(report, 'Repairs by rule')).toEqual(['hung | 3 | 3 | 1 | 50.0 % | 1 | 0 | reboot'])
  expect(rowsOf(report, 'Mean time of a repair').map((r) => r.split(' | ').slice(0, 3).join(' '))).toEqual([
    'detect 15s 1',
    'wait 30s 1',
    'decide 30s 1',
    'do 3m 1',
    'verify 5m 1',
  ])
  expect(rowsOf(report, 'Faults by kernel')).toEqual([
    '6.1 | 1 | 3 | 0.33',
    'node was deleted | 1 | unknown | unknown',
    '6.12 | 0 | 1 | 0.00',
  ])
  expect(rowsOf(report, 'Faults by age')).toEqual([
    'node was deleted | 1 | unknown | unknown',
    'older | 1 | 3 | 0.33',
    'under a week | 0 | 1 | 0.00',
  ])
  expect(rowsOf(report, 'Faults by kind')).toEqual(['TasksHung | 2 | 1 | 2'])
})

test('detection is that of the fault that the rule reads, and of the first rung of an incident', () => {
  const detect = (more: Partial<typeof facts>) =>
    rowsOf(reportOf('repairs', { ...facts, ...more }), 'Mean time of a repair')[0]
  const fault = (kind: string, at: string, ended?: string) => ({
    kind,
    node: 'a',
    at: Date.parse(at),
    ended: ended === undefined ? undefined : Date.parse(ended),
  })
  const others = [
    fault('DiskPressure', '2026-11-25T09:59:55Z'),
    fault('TasksHung', '2026-11-25T09:59:50Z', '2026-11-25T09:59:52Z'),
  ]
  expect(detect({ faults: [...facts.faults, ...others] })).toMatch(/^detect \| 15s \| 1 /)
  expect(detect({ faults: others })).toMatch(/^detect \| unknown \| 0 /)
  expect(detect({ rules: [] })).toMatch(/^detect \| unknown \| 0 /)
  const [first, ...rest] = facts.jobs
  const failed = { metadata: { name: 'x-0', creationTimestamp: '2026-11-25T09:59:47Z' }, spec: first?.spec, status: {} }
  expect(detect({ jobs: [failed, first, ...rest] as unknown as typeof facts.jobs })).toMatch(/^detect \| 2s \| 1 /)
})

test('pools: the level of these days, the budget of the month, and what is not known is not 0', () => {
  const report = reportOf('pool', facts)
  expect(report.headline).toEqual({ text: '99.900 % good node time', value: 0.999 })
  expect(rowsOf(report, 'Service level by pool')).toEqual([
    'db | 1 | unknown | unknown | unknown | unknown | unknown',
    'web | 2 | 99.900 % | 1s | 0s | 1m | 4 %',
  ])
  expect(rowsOf(report, 'Utilization by pool and class')).toContain(
    'web | none | cpu | 20 | 5 | 25.0 % | unknown | unknown',
  )
  // Of a pool without a pod nothing is requested, which is known.
  expect(rowsOf(report, 'Utilization by pool and class')).toContain(
    'db | none | cpu | 10 | 0 | 0.0 % | unknown | unknown',
  )
})

test('releases: the four figures', () => {
  expect(rowsOf(reportOf('release', facts), 'Delivery').map((r) => r.split(' | ').slice(0, 2).join(' '))).toEqual([
    'releases that succeeded 2',
    'succeeded a day 0.29',
    'lead time 1h30m',
    'failed 33.3 %',
    'time to restore 2h',
  ])
})

test('without releases, levels and history each figure is unknown, and says why', () => {
  const less = {
    ...facts,
    releases: undefined,
    levels: undefined,
    jobs: [],
    faults: [],
    hasHistory: false,
    requested: undefined,
  }
  for (const kind of REPORTS) expect(htmlText(reportOf(kind, less))).toContain('does not serve metrics.k8s.io')
  expect(reportOf('fleet', less).headline).toEqual({ text: 'good node time is unknown', value: null })
  expect(rowsOf(reportOf('release', less), 'Delivery')[0]).toContain('unknown')
  expect(tableText(reportOf('fleet', less), undefined)).toContain('Not known\n  use of nodes: the cluster')
})

const row = (topic: string, status: string | undefined, at: string): Transition => ({
  observed: Date.parse(at),
  reported: undefined,
  subject: { id: 1, kind: 'Node', namespace: '', name: 'a', uid: 'a' },
  topic,
  value: status === undefined ? undefined : JSON.stringify({ status }),
})

test('faults of a history are conditions that turn bad; another text of the same trouble is no second one', () => {
  const rows = [
    row('status/conditions/Ready', 'True', '2026-11-22T00:00:00Z'),
    row('status/conditions/TasksHung', 'True', '2026-11-22T01:00:00Z'),
    row('status/conditions/TasksHung', 'True', '2026-11-22T01:05:00Z'),
    row('status/conditions/TasksHung', 'False', '2026-11-22T02:00:00Z'),
    row('status/conditions/Ready', 'Unknown', '2026-11-22T03:00:00Z'),
    row('status/conditions/Drained', 'True', '2026-11-22T03:00:00Z'),
    // Began before.
    { ...row('status/conditions/DiskPressure', 'True', '2026-11-22T03:00:00Z'), reported: FROM - 1_000 },
  ]
  expect(atOnce(recordedFaults([rows], FROM)).map((f) => [f.kind, f.ended === undefined])).toEqual([
    ['TasksHung', false],
    ['NotReady', true],
  ])
})

test('faults without a history are those that last', () => {
  const node = {
    metadata: { name: 'a' },
    status: {
      conditions: [
        { type: 'TasksHung', status: 'True', lastTransitionTime: '2026-11-22T00:00:00Z' },
        { type: 'DiskPressure', status: 'True', lastTransitionTime: '2026-11-01T00:00:00Z' },
        { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-22T00:00:00Z' },
      ],
    },
  } as unknown as Node
  expect(presentFaults([node], FROM).map((f) => f.kind)).toEqual(['TasksHung'])
})

test('every form has every table, and text of a commit is no formula, markup or column', () => {
  const hostile = {
    ...facts,
    cluster: '<script>',
    releases: [aRelease('r|1', '2026-11-24T00:00:00Z', { phase: 'Failed' })],
  }
  const report = reportOf('release', hostile)
  expect(csvText(report)).toContain("Releases,1,subject,'=SUM(A1)\n")
  expect(markdownText(report)).toContain('| r\\|1 | web |')
  const html = htmlText(report)
  expect(html).not.toContain('<script>')
  expect(html).toContain('prefers-color-scheme: dark')
  expect(html).not.toMatch(/https?:\/\//)
  expect(JSON.parse(jsonText(report))).toMatchObject({
    from: '2026-11-21T00:00:00Z',
    sections: [{ title: 'Delivery' }, { title: 'Releases' }],
  })
  for (const text of [html, markdownText(report), tableText(report, 80)])
    for (const { title } of report.sections) expect(text).toContain(title)
})

test('a chart shows a value that is not known as a gap', () => {
  const html = htmlText(reportOf('pool', facts))
  expect(html).toContain('<rect class="bar"')
  expect(htmlText(reportOf('pool', { ...facts, requested: undefined }))).toContain('<rect class="gap"')
})

test('a component at fault is counted once, not also as the sum over all components of its node', () => {
  const fault = (kind: string, node: string, at: number, ended?: number) => ({ kind, node, at, ended })
  const part = fault('ComponentUnhealthy-scribe', 'a', 10, 20)
  const alone = fault('ComponentUnhealthy', 'a', 30)
  const elsewhere = fault('ComponentUnhealthy', 'b', 10, 20)
  expect(countedFaults([fault('ComponentUnhealthy', 'a', 10, 20), part, alone, elsewhere])).toEqual([
    part,
    alone,
    elsewhere,
  ])
})
