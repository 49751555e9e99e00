import { expect, test } from 'vitest'
import { gitLimitProblems } from './git-limits.ts'

const shell = {
  plugin: 'custom',
  source: 'evil',
  pluginConfig: { invoke_interval: '1s', timeout: '3s' },
  conditions: [],
  rules: [{ type: 'temporary', reason: 'Evil', path: '/../../../../bin/sh', args: ['-c', 'id >> /tmp/PWNED'] }],
}
const inline = (config: object) => ({ monitors: [{ config: { source: 's', conditions: [], rules: [], ...config } }] })
const log = (path: unknown) => ({ logs: [{ path, rules: [] }] })

test.each<[string, unknown, RegExp]>([
  [
    'a monitor in place that runs a shell',
    { monitors: [{ config: shell }] },
    /^monitors\[0\]\.config\.plugin .*programs/,
  ],
  ['one of a plugin that a later release may know', inline({ plugin: 'exec' }), /^monitors\[0\]\.config\.plugin/],
  ['one hidden behind a harmless file', { monitors: [{ file: '/etc/a.json', config: shell }] }, /config\.plugin/],
  ['a monitor file that a pod wrote', { monitors: ['/var/lib/kubelet/pods/1/volumes/e/m.json'] }, /^monitors\[0\]/],
  ['a monitor file in a folder of everyone', { monitors: [{ file: '/tmp/m.json' }] }, /^monitors\[0\]\.file/],
  ['a monitor file behind dots', { monitors: ['/etc/../tmp/m.json'] }, /^monitors\[0\]/],
  ['a private key as a log', log('/var/lib/kubenode/state/identity/agent.pem'), /^logs\[0\]\.path/],
  ['a private key behind dots', log('/var/log/../lib/kubenode/state/identity/agent.pem'), /^logs\[0\]\.path/],
  ['a log that is no text', log(['/var/log/a']), /^logs\[0\]\.path/],
  [
    'a key as a log of a monitor',
    inline({ plugin: 'filelog', logPath: '/etc/shadow' }),
    /^monitors\[0\]\.config\.logPath/,
  ],
  ['a key as the log of the kernel', inline({ plugin: 'kmsg', logPath: '/etc/shadow' }), /logPath/],
  ['a journal in a folder of a user', inline({ plugin: 'journald', logPath: '/tmp/journal' }), /logPath/],
  [
    'a list of modules anywhere',
    { monitors: [{ config: { osFeature: { KnownModulesConfigPath: '/x' } } }] },
    /KnownModules/,
  ],
  [
    'a certificate that never ends',
    { detectors: { certificates: { paths: ['/dev/zero'] } } },
    /certificates\.paths\[0\]/,
  ],
  ['a disk behind dots', { detectors: { disk: { paths: ['/a/../b'] } } }, /disk\.paths\[0\]/],
  ['another service to restart', { detectors: { runtime: { services: ['sshd'] } } }, /runtime\.services\[0\]/],
  ['a port that asks nobody', { metrics: { port: 10_250 } }, /^metrics\.port opens a port without/],
  ['a port of another service', { metrics: { scrape: { port: 22 } } }, /^metrics\.scrape\.port is below/],
  ['any file as who may read metrics', { metrics: { scrape: { clientCa: '/tmp/ca' } } }, /^metrics\.scrape\.clientCa/],
  ['an address', { address: '127.0.0.1' }, /^address/],
  ['an origin of artifacts', { allowedOrigins: ['https://evil.example'] }, /^allowedOrigins/],
  ['a trust document', { trustUrl: 'https://evil.example/trust.json' }, /^trustUrl/],
  ['a Node that is not kept', { registerNode: false }, /^registerNode/],
])('git may not declare %s', (_, config, problem) => {
  expect(gitLimitProblems(JSON.stringify(config))).toEqual([expect.stringMatching(problem)])
})

test.each<[string, unknown]>([
  ['nothing', {}],
  ['times', { lease: '5s', frozenAfter: '2s', frozenGrace: '1m', clearAfter: '3s' }],
  ['a log', log('/var/log/messages')],
  ['monitors that read logs', inline({ plugin: 'filelog', logPath: '/var/log/kern.log' })],
  ['the log of the kernel', inline({ plugin: 'kmsg', logPath: '/dev/kmsg' })],
  ['the journal', inline({ plugin: 'journald', logPath: '/run/log/journal' })],
  [
    'monitor files of the image',
    { monitors: ['/etc/npd/a.json', { file: '/usr/lib/npd/b.json', clearAfter: { A: '1h' } }] },
  ],
  ['thresholds', { detectors: { disk: { paths: ['/', '/data'] }, runtime: { services: ['crio'] }, clock: false } }],
  ['no metrics', { metrics: false }],
  ['metrics for Prometheus', { metrics: { scrape: true, names: 'node-exporter', security: true } }],
  [
    'a certificate that the cluster signed',
    { metrics: { scrape: { cert: '/var/lib/kubelet/pki/a.pem', key: '/var/lib/kubelet/pki/a.pem' } } },
  ],
  ['a typo, which is refused as one', { leese: '5s' }],
])('git may declare %s', (_, config) => {
  expect(gitLimitProblems(JSON.stringify(config))).toEqual([])
})

test.each(['', '{', '[]', 'null', '{"logs":1,"monitors":{"a":1},"detectors":[]}', '{"__proto__":1,"constructor":2}'])(
  'what is no configuration is for others to refuse: %s',
  (text) => {
    expect(gitLimitProblems(text)).toEqual([])
  },
)
