import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { isAnotherConfig, watchConfig } from './config-watch.ts'
import { configFile, hostConfigFile, nodeDir } from './node-dir.ts'

test.each([
  ['the same text', '{"a":1}', '{"a":1}', false],
  ['other white space and order', '{"a":1,"b":2}', '{ "b": 2, "a": 1 }', false],
  ['another value', '{"a":1}', '{"a":2}', true],
  ['a file half written', '{"a":1}', '{"a":', false],
  ['something that is no object', '{"a":1}', '[]', false],
  ['a first file', undefined, '{"a":1}', true],
  ['a file that was removed', '{"a":1}', undefined, true],
  ['a broken file that was mended', '{', '{"a":1}', true],
] as const)('%s: from %s to %s starts again: %s', (_what, before, after, expected) => {
  expect(isAnotherConfig(before, after)).toBe(expected)
})

test('a running agent keeps its configuration when agent.json is refused, says so once, and takes the next good one', async () => {
  const dir = nodeDir(mkdtempSync(join(tmpdir(), 'kubenode-watch-')))
  const clock = new VirtualClock()
  const texts = new Map([[configFile(dir), '{"lease":"5s"}']])
  const warnings: string[] = []
  let restarts = 0
  const watch = watchConfig(
    {
      files: { read: async (path) => (texts.has(path) ? Buffer.from(texts.get(path) ?? '') : undefined) },
      dir,
      clock,
      log: {
        info: () => undefined,
        warn: (_, fields) => void warnings.push(String((fields as { error?: Error }).error?.message)),
      },
      inForce: { declared: '{"lease":"5s"}', fromHost: undefined },
    },
    () => void restarts++,
  )
  try {
    texts.set(configFile(dir), '{"lease":"9s","allowedOrigins":["https://evil.example"]}')
    for (let i = 0; i < 3; i++) await clock.advance(30_000)
    expect([restarts, warnings]).toEqual([0, [expect.stringMatching(/^KN3074: .*allowedOrigins/)]])
    texts.set(configFile(dir), '{"lease":"6s"}')
    await clock.advance(30_000)
    expect(restarts).toBe(1)
    texts.set(configFile(dir), '{"lease":"5s"}')
    texts.set(hostConfigFile(dir), '{"metrics":{"port":1234}}')
    await clock.advance(30_000)
    expect(restarts).toBe(2)
  } finally {
    watch.close()
    rmSync(dir.path, { recursive: true })
  }
})
