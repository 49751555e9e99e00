// What an agent accepts from agent.json, which may come from a compromised cluster, and from the host's file.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '#lib/log.ts'
import { configInForce, joinedConfig } from './config-source.ts'
import { realFiles } from './files/real.ts'
import { configFile, hostConfigFile, nodeDir, onNode, type NodeDir } from './node-dir.ts'

let dir: NodeDir
let warnings: string[]
beforeEach(() => {
  dir = nodeDir(mkdtempSync(join(tmpdir(), 'kubenode-config-')))
  mkdirSync(dir.state, { recursive: true })
  warnings = []
})
afterEach(() => rmSync(dir.path, { recursive: true, force: true }))

const write = (path: string, value: unknown) => writeFileSync(path, JSON.stringify(value))
async function inForce() {
  const warn = (_: string, fields?: object) => void warnings.push(String((fields as { error?: Error }).error?.message))
  const texts = await configInForce({ files: realFiles, dir, log: { ...silentLogger, warn } })
  return joinedConfig(texts).config
}

const shell = {
  plugin: 'custom',
  source: 'evil',
  conditions: [],
  rules: [{ type: 'temporary', reason: 'Evil', path: '/../../bin/sh', args: ['-c', 'id'] }],
}

test('an agent.json that runs a program is refused as a whole; the last good one stays, also after a restart', async () => {
  write(configFile(dir), { lease: '5s' })
  expect((await inForce()).leaseMs).toBe(5_000)
  write(configFile(dir), { lease: '9s', monitors: [{ config: shell }] })
  for (let start = 0; start < 2; start++) {
    const { leaseMs, detect } = await inForce()
    expect([leaseMs, detect.monitors]).toEqual([5_000, []])
  }
  expect(warnings[0]).toMatch(/^KN3074: .*monitors\[0\]\.config\.plugin.*agent-from-host\.json/)
  write(configFile(dir), { lease: '6s' })
  expect((await inForce()).leaseMs).toBe(6_000)
})

test('a host that never had a good one starts with the defaults', async () => {
  write(configFile(dir), {
    lease: '9s',
    trustUrl: 'https://evil.example/trust.json',
    allowedOrigins: ['https://e.example'],
  })
  expect(await inForce()).toMatchObject({ leaseMs: 10_000, trustUrl: 'trust.json', allowedOrigins: [] })
})

test('the file of the host keeps everything, and replaces keys of agent.json', async () => {
  write(configFile(dir), { lease: '5s', clearAfter: '7s' })
  write(hostConfigFile(dir), {
    lease: '6s',
    metrics: { port: 1_234 },
    trustUrl: 'own.json',
    monitors: [{ config: shell }],
  })
  const config = await inForce()
  expect(config).toMatchObject({ leaseMs: 6_000, clearAfterMs: 7_000, trustUrl: 'own.json' })
  expect([config.detect.metrics.port, config.detect.monitors.length]).toEqual([1_234, 1])
  expect(warnings).toEqual([])
})

test('no path of a node leads out of its folder', () => {
  expect(onNode(dir, '/etc/..a/b..')).toBe(join(dir.root, '/etc/..a/b..'))
  for (const path of ['/../bin/sh', '/etc/../../x', '..', 'a/..']) expect(() => onNode(dir, path)).toThrow(/KN8021/)
})
