import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { StatusHttp } from '#runtime/http.ts'
import { announcedPart } from '../../run/announced-metrics.ts'
import { prometheusConfig } from './config.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubenode-prometheus-'))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('Prometheus can load the configuration', (context) => {
  const rules = join(import.meta.dirname, '../../../../deploy/alerts/kubenode.rules.yaml')
  const text = prometheusConfig({
    programs: folder,
    agents: [{ targets: join(folder, 'a.json'), token: join(folder, 'a.token') }],
    rules,
  })
  expect(text).toContain('honor_labels: true')
  if (spawnSync('promtool', ['--version']).status !== 0) context.skip('promtool is not installed (Debian: prometheus)')
  for (const [name, content] of [
    ['a.json', '[]'],
    ['a.token', 'x'],
    ['prometheus.yml', text],
  ] as const)
    writeFileSync(join(folder, name), content)
  const { stdout, stderr, status } = spawnSync('promtool', ['check', 'config', join(folder, 'prometheus.yml')], {
    encoding: 'utf8',
  })
  expect([status, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining('SUCCESS')])
})

test('a role that serves metrics on loopback writes where, and takes it back when it stops', async () => {
  const place = join(folder, 'metrics')
  const http = new StatusHttp({ log: silentLogger, port: 0 })
  const part = announcedPart(http, { folder: place, cluster: 'test', role: 'sync' })
  await part.start(new AbortController().signal)
  expect(JSON.parse(readFileSync(join(place, 'test.sync.json'), 'utf8'))).toEqual([
    { targets: [`127.0.0.1:${http.port}`], labels: { job: 'kubenode-sync', cluster: 'test' } },
  ])
  await part.stop(0)
  expect(readdirSync(place)).toEqual([])
})
