import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { programOutput } from './program-output.ts'

const call = (script: string, more: { readonly timeoutMs?: number; readonly maxBytes?: number } = {}) =>
  programOutput({
    program: '/bin/sh',
    args: ['-c', script],
    timeoutMs: 10_000,
    maxBytes: 100,
    environment: { PATH: '/usr/bin:/bin' },
    ...more,
  })

/** A process that ended and was not waited for yet does not run. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

test('of more output than the bound the end is kept, and the program still counts as one that ended well', async () => {
  const { problem, stdout } = await call('i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done')
  expect(problem).toBeUndefined()
  expect(stdout.text).toHaveLength(100)
  expect(stdout.text.endsWith('line 998\nline 999\n')).toBe(true)
  expect(stdout.cutBytes).toBe(8_890 - 100)
})

test('how it failed is reported with the last lines of its errors', async () => {
  const { problem, stderr } = await call('echo first >&2; echo no such unit >&2; exit 3')
  expect([problem, stderr.text]).toEqual(['exited with code 3', 'first\nno such unit\n'])
})

test('one that does not end is killed', async () => {
  expect((await call('sleep 60', { timeoutMs: 50 })).problem).toBe('timed out after 50 ms')
})

test('F33 with one that is killed ends what it started', async () => {
  const { stdout } = await call('sleep 61 & echo $!; wait', { timeoutMs: 200 })
  const child = Number(stdout.text)
  expect(child).toBeGreaterThan(1)
  await vi.waitFor(() => expect(isRunning(child)).toBe(false))
})

test('one that is not there says so', async () => {
  const { problem } = await programOutput({
    program: '/no/such/program',
    args: [],
    timeoutMs: 1_000,
    maxBytes: 10,
    environment: {},
  })
  expect(problem).toContain('ENOENT')
})
