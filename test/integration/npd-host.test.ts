// A service of a real systemd that freezes, fails or is stopped by a user, as the health checks of the agent find it and what they do about it.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isObject } from '#lib/json.ts'
import { HostMachine, noMachines } from '#test/e2e/agent-host/machine.ts'
import { eventually } from './agent-bench.ts'

const ROOT = join(import.meta.dirname, '../..')
const NODE = join('/mnt/node', 'node')
/** Where a kubelet answers; the network is shared with this machine. */
const KUBELET = `require('node:http').createServer((_, r) => r.end('ok')).listen(10248, '127.0.0.1')\n`

/** Libraries of Node that a small Debian has not. */
const LIBRARIES = '/opt/lib'

const UNIT = `[Service]
Environment=LD_LIBRARY_PATH=${LIBRARIES}
ExecStart=${NODE} /opt/kubelet.cjs
Restart=always
RestartSec=100ms
`

const CHECK = `
import { systemClock } from '/mnt/repo/src/lib/system-clock.ts'
import { HealthCheck, realHealthPorts } from '/mnt/repo/src/agent/detect/npd/health-check.ts'
import { healthOptions } from '/mnt/repo/src/agent/detect/npd/health-options.ts'
const options = healthOptions(['--component=kubelet', '--cooldown-time=1ms', '--health-check-timeout=1s'])
console.log(JSON.stringify(await new HealthCheck(options, realHealthPorts(systemClock)).run()))
`

const why = noMachines()
let host: HostMachine | undefined

const run = (...command: readonly string[]): string => host?.run(...command).out.trim() ?? ''
const mainPid = (): number => Number(run('systemctl', 'show', '-p', 'MainPID', '--value', 'kubelet'))

function check(): string {
  const said: unknown = JSON.parse(
    run('env', `LD_LIBRARY_PATH=${LIBRARIES}`, NODE, '--input-type=module', '-e', CHECK).split('\n').at(-1) ?? '',
  )
  return isObject(said) ? `${String(said['status'])} ${String(said['message'])}`.trim() : ''
}

beforeAll(async () => {
  if (why !== undefined) return
  host = new HostMachine([`${ROOT}:/mnt/repo`, `${dirname(realpathSync(execPath))}:/mnt/node`])
  writeFileSync(join(host.root, 'etc/systemd/system/kubelet.service'), UNIT)
  mkdirSync(join(host.root, LIBRARIES), { recursive: true })
  const needed = execFileSync('ldd', [realpathSync(execPath)], { encoding: 'utf8' })
  for (const [, name = '', path = ''] of needed.matchAll(/(lib(?:atomic|stdc\+\+|gcc_s)\S*) => (\S+)/g))
    copyFileSync(path, join(host.root, LIBRARIES, name))
  writeFileSync(join(host.root, 'opt/kubelet.cjs'), KUBELET)
  await host.boot()
  run('systemctl', 'start', 'kubelet')
})

afterAll(async () => {
  await host?.remove()
})

test('a frozen service is found by its process and runs again', async (context) => {
  if (why !== undefined) return context.skip(why)
  await eventually('an answer', check, (s) => s === 'Ok')
  const before = mainPid()
  run('systemctl', 'kill', '--signal=STOP', 'kubelet')
  expect(check()).toBe('NonOk kubelet:kubelet was found unhealthy: the process is stopped')
  await eventually('an answer', check, (s) => s === 'Ok')
  expect(mainPid()).not.toBe(before)
  return undefined
})

test('a service that a user stopped is reported and left alone', async (context) => {
  if (why !== undefined) return context.skip(why)
  run('systemctl', 'stop', 'kubelet')
  expect(check()).toBe('NonOk kubelet:kubelet was found unhealthy: inactive (dead)')
  expect(run('systemctl', 'is-active', 'kubelet')).toBe('inactive')
  return undefined
})
