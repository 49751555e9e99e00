import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ConfigFiles, configTextOf } from './config-file.ts'

let dir = ''
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'kubenode-config-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('a changed file reaches every host, an unreadable one none', async () => {
  const [source, host] = [join(dir, 'agent.json'), join(dir, 'host.json')]
  writeFileSync(source, '{"lease":"5s"}')
  const warnings: string[] = []
  const wanted = await configTextOf(source, { warn: (message) => void warnings.push(message) })
  const configs = new ConfigFiles(wanted)
  const kept = async () => {
    await configs.keep(host)
    return readFileSync(host, 'utf8')
  }
  expect(await kept()).toBe('{"lease":"5s"}')
  writeFileSync(source, '{"lease":"20s"}')
  expect(await kept()).toBe('{"lease":"20s"}')
  rmSync(source)
  expect(await kept()).toBe('{"lease":"20s"}')
  await kept()
  expect(warnings).toHaveLength(1)
})

test('a file that is missing at the start is an error, and no configuration leaves hosts alone', async () => {
  await expect(configTextOf(join(dir, 'nope.json'), { warn: () => undefined })).rejects.toThrow(/ENOENT/)
  writeFileSync(join(dir, 'own.json'), 'mine')
  await new ConfigFiles(undefined).keep(join(dir, 'own.json'))
  expect(readFileSync(join(dir, 'own.json'), 'utf8')).toBe('mine')
})
