// S24: an agent's report about its Machine fits within what API servers accept from an agent.
import { expect, test } from 'vitest'
import { type ComponentStatus, MAX_COMPONENTS } from '#api/kinds/machine.ts'
import { START_UNREPORTED_MS } from '#api/protocol/switch.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { PASSING_MS, hasReport, lacksReport, machineStatus, passingMs } from './machine-status.ts'

const LIMIT = 64 * 1024
const look = {
  name: 'm-1',
  version: '1.0.0',
  facts: { bootId: 'b', os: 'linux', arch: 'x64', kernel: '6.1' } as Parameters<typeof machineStatus>[0]['facts'],
}

const failed = (i: number, output: string): ComponentStatus => ({
  name: `component-${i}`,
  version: '1.0.0',
  desired: '1.0.1',
  state: 'Failed',
  since: '2026-01-01T00:00:00Z',
  message: 'm'.repeat(200),
  drifted: 'd'.repeat(200),
  digest: 'a'.repeat(64),
  output,
})
const outputsOf = (components: readonly ComponentStatus[]): readonly string[] => {
  const { status } = machineStatus({ ...look, components }) as unknown as {
    status: { components: readonly ComponentStatus[] }
  }
  return status.components.map((c) => c.output ?? '')
}

test.each([
  ['plain text', 'x'.repeat(1_023)],
  ['text that JSON escapes', '\u0001'.repeat(1_023)],
  ['text of many bytes', '\u4e16'.repeat(1_023)],
])('S24 all components that fail at once with %s fit, each with the end of its output', (_, text) => {
  const components = Array.from({ length: MAX_COMPONENTS }, (__, i) => failed(i, `${text}!`))
  expect(Buffer.byteLength(JSON.stringify(machineStatus({ ...look, components })))).toBeLessThan(LIMIT)
  for (const output of outputsOf(components)) expect(output).toMatch(/.!$/s)
})

test('the outputs of a few are as they are', () => {
  const text = 'x'.repeat(1_024)
  expect(outputsOf([failed(1, text), failed(2, text)])).toEqual([text, text])
})

test('the Machine has the report while nothing of the agent differs, whatever others have written', () => {
  const component = { ...failed(1, ''), message: 'm' }
  const frozen = { type: 'Frozen', status: 'True', reason: 'FrozenLocally', message: 'f', lastTransitionTime: 't' }
  const ready = { ...frozen, type: 'Ready' }
  const written = machineStatus({ ...look, components: [component] })
  const has = (status: object) => hasReport({ status: { ...(written['status'] as object), ...status } }, written)
  expect(has({ phase: 'Ready', conditions: [ready] })).toBe(true)
  expect(has({ components: [{ ...component, desired: '1.0.0' }] })).toBe(false)
  expect(has({ components: [] })).toBe(false)
  expect(has({ notices: {} })).toBe(false)
  expect(has({ conditions: [ready, frozen] })).toBe(false)
  expect(hasReport({}, written)).toBe(false)
})

test('a part of the report is missing only where the Machine has nothing of it', () => {
  const component = failed(0, '')
  const written = machineStatus({ ...look, components: [component] })
  const status = written['status'] as object
  const lacks = (more: object) => lacksReport({ status: { ...status, ...more } }, written)
  expect(lacks({})).toBe(false)
  // As in the previous write.
  expect(lacks({ components: [], notices: undefined })).toBe(false)
  expect(lacks({ components: undefined })).toBe(true)
  expect(lacksReport({ status: { phase: 'Ready' } }, written)).toBe(true)
  expect(lacksReport({}, written)).toBe(true)
})

test('only components that are being switched are progress', () => {
  const at = (state: ComponentStatus['state'], more: Partial<ComponentStatus> = {}): ComponentStatus => ({
    name: 'beacon',
    state,
    since: '2026-01-01T00:00:00Z',
    attempt: 2,
    desired: '1.1.0',
    version: '1.0.0',
    ...more,
  })
  const of = (components: readonly ComponentStatus[], more: object = {}) =>
    machineStatus({ ...look, ...more, components })
  const mayWait = (before: KubeObject, now: KubeObject) => passingMs(before, now, () => true) > 0
  const staged = of([at('Staged')])
  const other = at('Healthy', { name: 'scribe' })
  expect(mayWait(staged, of([at('Switching')]))).toBe(true)
  expect(mayWait(staged, of([at('Probing')]))).toBe(true)
  expect(mayWait(of([at('Healthy', { attempt: 1 })]), of([at('Fetching')]))).toBe(false)
  for (const end of ['Staged', 'Healthy', 'Degraded', 'RolledBack', 'Failed'] as const)
    expect(mayWait(of([at('Probing')]), of([at(end)]))).toBe(false)
  expect(mayWait(of([at('Staged'), other]), of([at('Switching'), { ...other, state: 'Degraded' }]))).toBe(false)
  expect(mayWait(staged, of([at('Switching'), other]))).toBe(false)
  expect(mayWait(of([]), of([at('Switching')]))).toBe(false)
  expect(mayWait(staged, of([at('Switching')], { version: '1.0.1' }))).toBe(false)
  const ms = (now: KubeObject, isOrdered: boolean) => passingMs(staged, now, () => isOrdered)
  expect(ms(of([at('Probing')]), true)).toBe(START_UNREPORTED_MS)
  // After the order was withdrawn, only the report shows the switch.
  expect(ms(of([at('Probing')]), false)).toBe(PASSING_MS)
  expect(ms(of([at('Switching', { rebootingSince: '2026-01-01T00:00:00Z' })]), true)).toBe(PASSING_MS)
})
