// A message that leaves out a faulty accelerator must never pass for a whole one.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { judgeGpus } from './hardware/gpu.ts'
import { judgeLine } from './npd/judge.ts'
import { type Problems, withFinding, withLine } from './problems.ts'
import { combine } from './sources.ts'
import type { LogRule } from '#api/agent-config/log-rules.ts'
import { MAX_CONDITION_MESSAGE } from '#api/node-conditions.ts'
import { compileRegex } from '#lib/regex.ts'
import { faultyBuses, withUnnamed } from '#nodes/named-devices.ts'

const NOW = { wall: 1, mono: 1 }
const finding = (message: string) => ({ status: 'True', reason: 'R', message, isKept: true }) as const
const xid = (bus: string) => `NVRM: Xid (PCI:0000:${bus}:00): 95, pid=1, name=x, Uncontained`

test.each([
  ['a detector: one card', '00000000:3B:00.0: uncorrectable memory errors', ['0000:3b']],
  ['two cards', '00000000:3B:00.0: waits; 0000:5e:00.0: waits', ['0000:3b', '0000:5e']],
  ['an Xid', 'NVRM: Xid (PCI:0000:3b:00): 48, pid=7, name=python3; PCI:0000:99:00', ['0000:3b']],
  ['AMD', 'amdgpu 0000:c3:00.0: amdgpu: uncorrectable hardware errors detected', ['0000:c3']],
  ['fallen off the bus', 'NVRM: GPU at PCI:0000:3b:00: GPU has fallen off the bus.', ['0000:3b']],
  ['a card that is gone', '1 of 8 GPUs are gone', undefined],
  ['more than the message names', '0000:3b:00.0: a; 0000:5e:00.0: b; 0000:60:00.0: c and 2 more', undefined],
  ['a number in a serial number of DCGM', '3: uncorrectable memory errors', undefined],
  ['an address that was cut', '0000:3b', undefined],
  ['no message', '', undefined],
])('the devices that a condition names: %s', (_, message, buses) => {
  expect(faultyBuses(message)).toEqual(buses)
})

test.each([1, 2, 3, 4, 5, 8])(
  '%i faulty GPUs of a real detector: all are named, or the message counts as incomplete',
  (count) => {
    const gpus = Array.from({ length: count }, (_, i) => ({
      address: `00000000:${(0x3b + i).toString(16).toUpperCase()}:00.0`,
      uncorrected: 0,
      isResetPending: true,
      isWornOut: false,
    }))
    const reading = judgeGpus(gpus, count).find((r) => r.type === 'GPUNeedsReset')
    if (reading === undefined) throw new Error('a reading')
    const problems = withFinding(new Map(), reading.type, { ...finding(reading.message), status: reading.status }, NOW)
    const named = faultyBuses(problems.get(reading.type)?.message ?? '')
    expect(named?.length).toBe(count <= 3 ? count : undefined)
  },
)

test('a second accelerator in the log of the kernel is marked once', () => {
  const hit = (message: string, condition = 'GPUNeedsReset') => ({ condition, reason: 'Xid', message })
  const now = { status: 'True', reason: 'Xid', message: xid('3b') } as const
  expect(judgeLine(hit(xid('3b')), now, true)).toEqual({})
  const { condition, event } = judgeLine(hit(xid('5e')), now, true)
  expect(condition?.message).toBe(`${xid('3b')} and 1 more`)
  expect(event?.message).toBe(xid('5e'))
  expect(judgeLine(hit(xid('60')), condition, true)).toEqual({})
  expect(judgeLine(hit(xid('5e'), 'KernelDeadlock'), now, true)).toEqual({})
})

test('so is one in a file that is followed', () => {
  const rule: LogRule = {
    pattern: compileRegex('Xid'),
    clearPattern: undefined,
    clearAfterMs: undefined,
    condition: 'GPUNeedsReset',
    reason: 'Xid',
  }
  const read = (...lines: readonly string[]) =>
    lines.reduce<Problems>((found, line) => withLine(found, [rule], line, NOW), new Map()).get(rule.condition)?.message
  expect(read(xid('3b'), xid('3b'))).toBe(xid('3b'))
  expect(faultyBuses(read(xid('3b'), xid('5e'), xid('5e')) ?? '')).toBeUndefined()
})

test('so is one that only another source names', () => {
  const shown = (message: string) => {
    const of = (text: string, wall: number) =>
      withFinding(new Map(), 'GPUNeedsReset', finding(text), { wall, mono: wall })
    const findings = new Map([
      ['log', of(xid('3b'), 1)],
      ['gpu', of(message, 2)],
    ])
    return combine(new Map(), findings, NOW).get('GPUNeedsReset')?.message
  }
  expect(shown('00000000:3B:00.0: uncorrectable memory errors')).toBe(xid('3b'))
  expect(shown('00000000:5E:00.0: uncorrectable memory errors')).toBe(`${xid('3b')} and 1 more`)
})

test.each([xid('3b'), '00000000:3B:00.0: uncorrectable memory errors', xid('3b') + 'x'.repeat(400)])(
  'a source that cannot tell may know of more: %s',
  (found) => {
    const unknown = { status: 'Unknown', reason: 'R', message: 'no answer', isKept: true } as const
    const findings = new Map([
      ['log', withFinding(new Map(), 'GPUNeedsReset', finding(found), NOW)],
      ['check', withFinding(new Map(), 'GPUNeedsReset', unknown, NOW)],
    ])
    const message = combine(new Map(), findings, NOW).get('GPUNeedsReset')?.message ?? ''
    expect(message).toMatch(/^.*3B?.* \(unknown to check\)$/i)
    expect(message.length).toBeLessThanOrEqual(MAX_CONDITION_MESSAGE)
    expect(faultyBuses(message)).toBeUndefined()
  },
)

test('a text that stays whole names the accelerators of all others', () => {
  const bus = fc.constantFrom('01', '02', '03')
  const text = fc.oneof(
    bus.map(xid),
    fc
      .array(bus, { minLength: 1, maxLength: 5 })
      .map((all) => all.map((b) => `0000:${b}:00.0: uncorrectable memory errors`).join('; ')),
    fc.constant('1 of 8 GPUs are gone'),
  )
  fc.assert(
    fc.property(text, fc.array(text, { maxLength: 3 }), (shown, others) => {
      const named = faultyBuses(withUnnamed('GPUFaulty', shown, others))
      if (named === undefined) return
      for (const other of others) expect(named).toEqual(expect.arrayContaining([...(faultyBuses(other) ?? ['none'])]))
    }),
    { seed: 69 },
  )
})
