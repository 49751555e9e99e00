import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { afterEach, beforeEach, describe, expect, test, type TestContext } from 'vitest'
import { type ConformanceTools, conformanceFor } from '../conformance.ts'
import { machineLayout } from './layout.ts'
import { unmountRoot } from './machine.ts'
import { type NspawnProvider, type NspawnProviderOptions, createNspawnProvider } from './provider.ts'
import { run } from './run.ts'
import { ensureTree, hasTree, treePath } from './tree.ts'
import { isFull } from '#test/support/tools/full.ts'

/** Trees are expensive to build and outlive test runs. */
const CACHE = process.env['KUBENODE_TREES'] ?? '/var/lib/kubenode/trees'
const tree = { cache: CACHE, log: silentLogger }

async function needsRootAndTree(context: TestContext): Promise<void> {
  if (process.getuid?.() !== 0) context.skip('systemd machines need root')
  if (isFull) await ensureTree(tree)
  else if (!(await hasTree(tree))) context.skip(`there is no tree in ${CACHE}; a full run builds one`)
}

const until: ConformanceTools['until'] = async (holds) => {
  for (let i = 0; i < 1_000; i++) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('it never happened')
}

let base: string
let started: NspawnProvider[]
let poweredOff: string[]
// An overlay cannot be on another one, and /tmp may be in memory.
beforeEach(async () => {
  base = await mkdtemp('/var/tmp/nspawn-test-')
  started = []
  poweredOff = []
})
afterEach(async () => {
  const provider = started[0]
  for (const host of (await provider?.list())?.hosts ?? []) await provider?.delete(host.providerID)
  await rm(base, { recursive: true, force: true, maxRetries: 5 })
})

async function start(more: Partial<NspawnProviderOptions> = {}): Promise<NspawnProvider> {
  const onPowerOff = async (machine: string) => void poweredOff.push(machine)
  const options = {
    dir: join(base, 'machines'),
    tree: treePath(tree),
    clock: systemClock,
    log: silentLogger,
    onPowerOff,
    ...more,
  }
  const provider = await createNspawnProvider(options)
  started.push(provider)
  return provider
}

const request = (machine: string) => ({
  clientToken: `uid-${machine}`,
  machineUid: `uid-${machine}`,
  machine,
  params: {},
  join: {
    server: 'https://127.0.0.1:6443',
    caData: 'Q0E=',
    token: 'abcdef.0123456789abcdef',
    machine,
    node: machine,
    cluster: 'test',
    artifactBase: 'file:///a/',
    trust: { sequence: 1, threshold: 1, keys: [] },
  },
})
const isUp = async (p: NspawnProvider, id: string) => {
  const state = await p.exec(id, ['systemctl', 'is-system-running', '--wait']).catch(() => '')
  return /running|degraded/.test(state)
}

/** Boots take seconds if many share a host. */
const SLOW_MS = 120_000

describe('the nspawn provider', () => {
  test.each(conformanceFor({ isHostKept: false }))(
    '$name',
    async (c) => {
      const provider = await start()
      await c.run({ provider, until, restarted: start })
    },
    SLOW_MS,
  )

  test(
    'makes a machine that is really its own: init, journal, host name, machine id, and the join bundle for root alone',
    async () => {
      const provider = await start()
      await provider.create(request('m-1'))
      await provider.create(request('m-2'))
      await until(() => isUp(provider, 'nspawn://m-1'))
      await until(() => isUp(provider, 'nspawn://m-2'))
      const inside = (machine: string, ...argv: string[]) => provider.exec(`nspawn://${machine}`, argv)
      expect((await inside('m-1', 'cat', '/proc/1/comm')).trim()).toBe('systemd')
      expect((await inside('m-1', 'hostname')).trim()).toBe('m-1')
      expect(await inside('m-1', 'cat', '/etc/machine-id')).not.toBe(await inside('m-2', 'cat', '/etc/machine-id'))
      expect(await inside('m-1', 'journalctl', '--no-pager', '-n', '1')).not.toBe('')
      expect((await inside('m-1', 'stat', '-c', '%a', '/var/lib/kubenode/join.json')).trim()).toBe('600')
    },
    SLOW_MS,
  )

  test(
    'with a network of its own a machine reaches the API server of its join bundle, also after a reboot, and nothing else of this host',
    async () => {
      const server = createServer((socket) => socket.end('hello from the host\n'))
      const other = createServer((socket) => socket.end('other\n'))
      const portOf = async (s: typeof server): Promise<number> => {
        await new Promise<void>((resolve) => s.listen(0, '127.0.0.1', resolve))
        return (s.address() as AddressInfo).port
      }
      try {
        const port = await portOf(server)
        const away = await portOf(other)
        const provider = await start({ network: 'Own' })
        const { join: bundle, ...rest } = request('m-1')
        await provider.create({ ...rest, join: { ...bundle, server: `https://127.0.0.1:${port}` } })
        const says = (p: number) =>
          provider.exec('nspawn://m-1', ['bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${p} && cat <&3`]).catch(() => '')
        await until(async () => (await says(port)) === 'hello from the host\n')
        expect(await says(away)).toBe('')
        const before = (await provider.get('nspawn://m-1'))?.bootID
        await provider.reboot('nspawn://m-1')
        await until(async () => (await provider.get('nspawn://m-1'))?.bootID !== before)
        await until(async () => (await says(port)) === 'hello from the host\n')
      } finally {
        server.close()
        other.close()
      }
    },
    SLOW_MS,
  )

  test('a machine with a network of its own is refused where its API server is elsewhere', async () => {
    const provider = await start({ network: 'Own' })
    const { join: bundle, ...rest } = request('m-1')
    const made = await provider.create({ ...rest, join: { ...bundle, server: 'https://10.0.0.1:6443' } })
    expect(made).toMatchObject({ kind: 'Refused', reason: expect.stringContaining('10.0.0.1') as string })
    expect((await provider.list()).hosts).toEqual([])
  })

  test(
    'sees a reboot from inside as another boot of the same disk, and a power-off as a host that is switched off',
    async () => {
      const provider = await start()
      const made = await provider.create(request('m-1'))
      const first = made.kind === 'Host' ? made.host.bootID : undefined
      await until(() => isUp(provider, 'nspawn://m-1'))
      await provider.exec('nspawn://m-1', ['touch', '/root/kept'])
      await provider.exec('nspawn://m-1', ['systemctl', 'reboot']).catch(() => '')
      await until(async () => {
        const host = await provider.get('nspawn://m-1')
        return host?.bootID !== first && host?.state === 'Running'
      })
      await until(() => isUp(provider, 'nspawn://m-1'))
      await provider.exec('nspawn://m-1', ['stat', '/root/kept'])
      await provider.exec('nspawn://m-1', ['systemctl', 'poweroff']).catch(() => '')
      await until(async () => (await provider.get('nspawn://m-1'))?.state === 'Stopped')
    },
    SLOW_MS,
  )

  test(
    'runs its hook with each power-off, and leaves no process, mount, control group or folder behind',
    async () => {
      const provider = await start()
      const first = await provider.create(request('m-1'))
      await provider.reboot('nspawn://m-1')
      const before = first.kind === 'Host' ? first.host.bootID : undefined
      await until(async () => (await provider.get('nspawn://m-1'))?.bootID !== before)
      expect(poweredOff).toEqual(['m-1'])
      const { group, root } = machineLayout(join(base, 'machines'), 'm-1')
      await until(async () => (await provider.delete('nspawn://m-1')) === 'Gone')
      expect(poweredOff.slice(0, 2)).toEqual(['m-1', 'm-1'])
      expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(root)
      expect(await readdir(join(base, 'machines'))).toEqual([])
      const groups = await readdir('/sys/fs/cgroup', { recursive: false })
      const inner = await Promise.all(groups.map((g) => readdir(join('/sys/fs/cgroup', g)).catch(() => [])))
      expect([...groups, ...inner.flat()]).not.toContain(group)
    },
    SLOW_MS,
  )

  beforeEach(needsRootAndTree)
})

test('a root that several programs unmount at the same time is an error for none of them', async (context) => {
  if (process.getuid?.() !== 0) context.skip('mounting needs root')
  for (let i = 0; i < 10; i++) {
    await run('mount', ['-t', 'tmpfs', 'tmpfs', base])
    await Promise.all([1, 2, 3, 4].map(() => unmountRoot({ root: base })))
  }
  expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(base)
})

test('a user who is not root learns what it needs', async (context) => {
  if (process.getuid?.() === 0) context.skip('we are root')
  await expect(start()).rejects.toThrow('KN11020')
})
