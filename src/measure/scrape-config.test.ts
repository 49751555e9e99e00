import { parse } from 'yaml'
import { expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { scrapeConfigText, targetsText } from './scrape-config.ts'
import { operatorScrapeConfig } from './operator-scrape-config.ts'
import { scrapeTargets } from './scrape-targets.ts'

const machine = (name: string, spec: object, node?: string): Machine =>
  ({
    metadata: { name },
    spec: { channel: 'Agent', ...spec },
    status: node === undefined ? {} : { nodeRef: { name: node, uid: 'u' } },
  }) as unknown as Machine
const node = (name: string, ...addresses: readonly (readonly [type: string, address: string])[]) => ({
  metadata: { name },
  status: { addresses: addresses.map(([type, address]) => ({ type, address })) },
})

const found = scrapeTargets(
  'prod',
  [
    machine('b', { pool: 'web', zone: 'z1' }, 'node-b'),
    machine('a', {}, 'node-a'),
    machine('joining', {}),
    machine('seen', { channel: 'Observe' }, 'node-seen'),
    machine('bare', {}, 'node-bare'),
    machine('by-spec', { address: 'host.example.org' }, 'node-by-spec'),
  ],
  [
    node('node-a', ['Hostname', 'node-a'], ['InternalIP', 'fd00::1']),
    node('node-b', ['InternalIP', '10.0.0.2'], ['ExternalIP', '203.0.113.1']),
    node('node-seen', ['InternalIP', '10.0.0.3']),
    node('node-bare'),
  ],
)

test('each machine with a Node and an address is a target, and the others are named with the reason', () => {
  expect(found.targets).toEqual([
    { host: 'fd00::1', labels: { cluster: 'prod', node: 'node-a', machine: 'a' } },
    { host: '10.0.0.2', labels: { cluster: 'prod', node: 'node-b', machine: 'b', pool: 'web', zone: 'z1' } },
    { host: 'host.example.org', labels: { cluster: 'prod', node: 'node-by-spec', machine: 'by-spec' } },
  ])
  expect(found.left).toEqual([
    { machine: 'bare', why: 'Node node-bare has no address' },
    { machine: 'joining', why: 'it has no Node yet' },
    { machine: 'seen', why: 'it is observed only and has no agent' },
  ])
})

const asked = { cluster: 'prod', targets: found.targets, agentPort: 20_260, tokenFile: '/t' }

test('the configuration names one target a machine, over HTTPS and with a token', () => {
  const config = parse(scrapeConfigText(asked)) as { scrape_configs: readonly Record<string, unknown>[] }
  expect(config.scrape_configs).toHaveLength(1)
  expect(config.scrape_configs[0]).toMatchObject({
    job_name: 'kubenode-agent',
    scheme: 'https',
    authorization: { type: 'Bearer', credentials_file: '/t' },
    static_configs: [
      { targets: ['[fd00::1]:20260'] },
      { targets: ['10.0.0.2:20260'] },
      { targets: ['host.example.org:20260'] },
    ],
  })
})

test('node_exporter is a job of its own, with the same labels', () => {
  const text = scrapeConfigText({ ...asked, nodeExporterPort: 9_100 })
  const config = parse(text) as { scrape_configs: readonly { static_configs: readonly unknown[] }[] }
  expect(config.scrape_configs[1]?.static_configs[1]).toEqual({
    targets: ['10.0.0.2:9100'],
    labels: { cluster: 'prod', node: 'node-b', machine: 'b', pool: 'web', zone: 'z1' },
  })
})

test('the file of targets is what file_sd_configs reads', () => {
  expect(JSON.parse(targetsText(asked))).toEqual(
    found.targets.map(({ labels }, i) => ({
      targets: [['[fd00::1]:20260', '10.0.0.2:20260', 'host.example.org:20260'][i]],
      labels,
    })),
  )
})

test('the operator scrapes the port that the cluster declares', () => {
  expect(JSON.stringify(operatorScrapeConfig(31_000))).toContain('"replacement":"$1:31000"')
})
