import { expect, test } from 'vitest'
import { controllerTime, eventsIn, judgeEventLog } from './event-log.ts'

const HOUR_MS = 3_600_000
const NOW = Date.UTC(2026, 2, 14, 12)
const found = (log: string, times: { readonly upMs?: number; readonly nowMs?: number } = {}) =>
  judgeEventLog(eventsIn(log), { nowMs: NOW, upMs: HOUR_MS, windowMs: 24 * HOUR_MS, ...times }).flatMap(
    ({ type, status, message }) => (status === 'True' ? [`${type}: ${message}`] : []),
  )

test('the clock of the controller, as older and newer programs print it', () => {
  expect(controllerTime('03/14/2026 12:00:00\n')).toBe(NOW)
  expect(controllerTime('03/14/26 12:00:00 UTC\n')).toBe(NOW)
  for (const text of ['', 'Unspecified', '14.03.2026 12:00:00', 'Get SEL Time command failed'])
    expect(controllerTime(text)).toBeUndefined()
})

/** Lines of two controllers: one program with the year in two digits and a zone, one with four. */
const LOG = `   1 | 03/14/2026 | 11:12:44 | Temperature CPU1 Temp | Upper Critical going high | Asserted | Reading 95 > Threshold 90 degrees C
   2 | Pre-Init  |0000005616| Memory DIMM_A1 | Uncorrectable ECC | Asserted
   3 | 03/14/2026 | 11:13:02 | Temperature CPU1 Temp | Upper Critical going high | Deasserted | Reading 80
   9 | 03/14/2026 | 11:20:00 | Memory ECC | Correctable ECC | Asserted
   a | 03/14/26 | 11:30:19 UTC | Power Supply PS2 | Failure detected | Asserted
   b | 03/14/26 | 11:31:00 UTC | Critical Interrupt PCIe Fatal | Bus Fatal Error | Asserted
   c | 03/14/2026 | 11:32:00 | Memory #0x53 | Uncorrectable ECC (UnCorrectable ECC |  DIMMA1) | Asserted
   d | 03/14/2026 | 11:33:00 | Processor CPU1 | IERR | Asserted
   e | 03/14/2026 | 11:34:00 | Drive Slot Bay 3 | Drive Fault | Asserted
   f | 03/14/2026 | 11:35:00 | Fan FAN3 | Lower Non-critical going low  | Asserted
  10 | 03/14/2026 | 11:36:00 | Button Power | Power Button pressed | Asserted
SEL has no more entries`

test('what ends work is a fault of its part; what was taken back, corrected or pressed is none', () => {
  expect(found(LOG)).toEqual([
    'MemoryFaulty: Memory #0x53: Uncorrectable ECC (UnCorrectable ECC DIMMA1)',
    'CPUFaulty: Processor CPU1: IERR',
    'PCIeFaulty: Critical Interrupt PCIe Fatal: Bus Fatal Error',
    'StorageDegraded: Drive Slot Bay 3: Drive Fault',
    'HardwareAlarm: Power Supply PS2: Failure detected',
  ])
})

const entry = (time: string, event: string) => `1 | 03/14/2026 | ${time} | ${event}`

test('an error that ended the boot before counts for a day; one of a device until the next boot', () => {
  const lost = entry('10:00:00', 'Memory DIMM_A1 | Uncorrectable ECC | Asserted')
  expect(found(lost)).toEqual(['MemoryFaulty: Memory DIMM_A1: Uncorrectable ECC'])
  expect(found(lost, { nowMs: NOW + 23 * HOUR_MS })).toEqual([])
  // A controller takes it back with the reset that it caused.
  expect(found(`${lost}\n${entry('10:01:00', 'Memory DIMM_A1 | Uncorrectable ECC | Deasserted')}`)).toHaveLength(1)
  const bus = entry('10:00:00', 'Critical Interrupt #0x90 | Bus Fatal Error | Asserted')
  expect(found(bus)).toEqual([])
  expect(found(bus, { upMs: 3 * HOUR_MS })).toHaveLength(1)
})

test('only ages count: a controller that is years behind is understood, and an entry of its future is not', () => {
  const old = '1 | 01/01/2000 | 00:10:00 | Processor #0x0f | IERR | Asserted'
  expect(found(old, { nowMs: Date.UTC(2000, 0, 1, 1) })).toHaveLength(1)
  expect(found(entry('12:00:01', 'Processor #0x0f | IERR | Asserted'))).toEqual([])
})

test('S12 a log of firmware that lies is bounded, and does not control a terminal', () => {
  const tail = `\u001b[31m${'x'.repeat(10_000)}`
  const flood = Array.from({ length: 20_000 }, (_, n) =>
    entry('11:00:00', `Memory ${n}${tail} | Uncorrectable ECC | Asserted`),
  )
  const [said = ''] = found(flood.join('\n'))
  expect(said.length).toBeLessThan(400)
  expect(said).toMatch(/^[ -~\ufffd]+ and \d+ more$/)
  expect(eventsIn(flood.join('\n')).length).toBeLessThanOrEqual(513)
  for (const evil of ['|||||||', 'Asserted', '1 | 99/99/9999 | 99:99:99 | Memory | Uncorrectable ECC | Asserted'])
    expect(found(evil)).toEqual([])
})
