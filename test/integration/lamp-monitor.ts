// A monitor and its check as a signed component brings them, for agents on nodes of every kind.
import { type Publisher, release, type Release } from '#test/doubles/node/release.ts'

/** Named by agent.json before it exists. */
export const LAMP_MONITOR = '/etc/lamp-monitor/monitor.json'
const CHECK = '/opt/lamp-monitor/bin/check'

const monitor = {
  plugin: 'custom',
  pluginConfig: { invoke_interval: '1s', timeout: '30s' },
  source: 'lamp-monitor',
  conditions: [{ type: 'LampBroken', reason: 'LampIsLit', message: 'the lamp is lit' }],
  rules: [{ type: 'permanent', condition: 'LampBroken', reason: 'LampIsDark', path: CHECK, timeout: '30s' }],
}
/** It finds what the contract promises, and reports it as the problem. */
const check = '#!/bin/sh\necho "on $KUBENODE_MACHINE in $(pwd)"\nexit 1\n'

export const lampMonitor = (publisher: Publisher): Release =>
  release(publisher, {
    component: 'lamp-monitor',
    version: '1.0.0',
    entries: [{ name: 'bin/check', content: check, mode: 0o755 }],
    spec: { files: [{ path: LAMP_MONITOR, format: 'json', template: JSON.stringify(monitor), onChange: 'None' }] },
  })
