// The age of a system: a host by /proc/uptime, a container by its first process.
import { expect, test } from 'vitest'
import { systemUpMs } from './up-time.ts'

const stat = (name: string, ticks: string) =>
  `1 (${name}) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 ${ticks} 171155456 2953`
const files = (given: Readonly<Record<string, string>>) => (path: string) => given[path]

test.each([
  ['a host, whose first process is as old as it', '100.50 200.00\n', stat('systemd', '12'), 100_380],
  ['a container that started 10 s ago on an old machine', '5000.00 1.00\n', stat('systemd', '499000'), 10_000],
  ['a first process with an odd name', '60.00 1.00\n', stat('a) b (c', '1000'), 50_000],
  ['no first process to read', '60.00 1.00\n', '', 60_000],
  ['a first process younger than the clock', '1.00 1.00\n', stat('systemd', '400'), 0],
])('%s', (_, uptime, first, ms) => {
  expect(systemUpMs(files({ '/proc/uptime': uptime, '/proc/1/stat': first }))).toBeCloseTo(ms, 3)
})

test('without /proc/uptime it is unknown', () => {
  expect(systemUpMs(files({ '/proc/1/stat': stat('systemd', '4') }))).toBeUndefined()
})

test('this system has run for some time', () => {
  expect(systemUpMs()).toBeGreaterThan(0)
})
