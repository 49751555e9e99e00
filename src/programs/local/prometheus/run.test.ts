import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePort } from '#lib/free-port.ts'
import type { Io } from '#lib/terminal/io.ts'
import { layoutOf } from '../layout.ts'
import { takeLock } from '../lock.ts'
import { runPrometheus } from './run.ts'

let cwd: string
let release: () => void
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'kubenode-prometheus-run-'))
  mkdirSync(join(cwd, 'data/logs'), { recursive: true })
  release = takeLock(layoutOf(join(cwd, 'data')))
})
afterEach(() => {
  release()
  rmSync(cwd, { recursive: true, force: true })
})

const io = (): Io => ({ cwd, env: {}, err: () => undefined }) as unknown as Io
/** The program does not exist; the configuration is written before it is started. */
const asked = { data: 'data', program: '/nowhere/prometheus' }
const somePort = async (): Promise<number> => (await freePort()) ?? 0

test('a file with rules is one of the folder of the user, not of that of the configuration', async () => {
  writeFileSync(join(cwd, 'short.yaml'), 'groups: []\n')
  await expect(runPrometheus({ ...asked, rules: 'short.yaml', port: await somePort() }, io())).rejects.toThrow('KN1233')
  const config = readFileSync(join(cwd, 'data/prometheus/prometheus.yml'), 'utf8')
  expect(config).toContain(`- ${join(cwd, 'short.yaml')}\n`)
  expect(config).toContain(`- ${join(cwd, 'data/.metrics')}/*.json\n`)
})

test('a file with rules that does not exist is refused, without which no alert would fire', async () => {
  await expect(runPrometheus({ ...asked, rules: 'shrot.yaml', port: await somePort() }, io())).rejects.toThrow(
    `KN1233: cannot run Prometheus: there is no file ${join(cwd, 'shrot.yaml')} with rules`,
  )
})

test('another Prometheus at the port is not taken for this one', async () => {
  const other = createServer((_, response) => response.end('Prometheus Server is Ready.\n')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  try {
    await expect(runPrometheus({ ...asked, port }, io())).rejects.toThrow(
      `KN1233: cannot run Prometheus: another program uses port ${port} of 127.0.0.1`,
    )
  } finally {
    other.close()
  }
})
