import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ConfigFiles } from './config-file.ts'

let dir = ''
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'kubenode-config-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('a changed configuration reaches every host; while none is known, hosts keep what they have', async () => {
  const hosts = ['a.json', 'b.json'].map((name) => join(dir, name))
  let wanted: string | undefined = '{"lease":"5s"}'
  const configs = new ConfigFiles(async () => wanted)
  const kept = async () => {
    for (const host of hosts) await configs.keep(host)
    return hosts.map((host) => readFileSync(host, 'utf8'))
  }
  expect(await kept()).toEqual(['{"lease":"5s"}', '{"lease":"5s"}'])
  wanted = '{"lease":"20s"}'
  expect(await kept()).toEqual(['{"lease":"20s"}', '{"lease":"20s"}'])
  wanted = undefined
  expect(await kept()).toEqual(['{"lease":"20s"}', '{"lease":"20s"}'])
})

test('a provider without a configuration leaves the file of a host alone', async () => {
  writeFileSync(join(dir, 'own.json'), 'mine')
  await new ConfigFiles(undefined).keep(join(dir, 'own.json'))
  expect(readFileSync(join(dir, 'own.json'), 'utf8')).toBe('mine')
})
