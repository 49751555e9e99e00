// Twenty hosts of all sorts become nodes over SSH in one run: machines of Debian with systemd and a real sshd each, as root or with sudo, with old and with new
// algorithms; one is full, one has another key, one may not use sudo, one dies half-way. None of them delays or spoils another.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Machine, type SshJoin, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { startEmbedded } from '#test/support/servers/api-servers.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { withInotifyFor } from '../agent-host/inotify.ts'
import { noMachines } from '../agent-host/machine.ts'
import { JoinWorld } from './join-world.ts'
import { ADMIN, type SshHost, startSshHost } from './ssh-host.ts'

/** Two cores unpack Node.js twenty times. */
const PATIENCE_MS = 1_200_000
const NEW = ['KexAlgorithms sntrup761x25519-sha512@openssh.com', 'Ciphers chacha20-poly1305@openssh.com']
const OLD = ['KexAlgorithms diffie-hellman-group14-sha256', 'Ciphers aes128-ctr', 'MACs hmac-sha2-256']

type Sort = 'root' | 'sudo' | 'old' | 'full' | 'wrong-key' | 'no-sudo' | 'dies'
const SORTS: readonly Sort[] = [
  ...Array.from({ length: 6 }, (): Sort => 'root'),
  ...Array.from({ length: 6 }, (): Sort => 'sudo'),
  ...Array.from({ length: 4 }, (): Sort => 'old'),
  'full',
  'wrong-key',
  'no-sudo',
  'dies',
]
const NAMES = SORTS.map((sort, n) => `${sort}-${n}`)

let why = noMachines()
let lowerInotify = (): void => undefined
let world: JoinWorld
const hosts = new Map<string, SshHost>()
const folder = mkdtempSync('/var/tmp/kn-join-twenty-')
const keyFile = join(folder, 'key')

beforeAll(async () => {
  if (why !== undefined) return
  lowerInotify = withInotifyFor(SORTS.length)
  // Before twenty machines boot, which leave a server too little time to answer.
  world = new JoinWorld(await startEmbedded())
  await world.start()
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', keyFile])
  const client = readFileSync(`${keyFile}.pub`, 'utf8').trim()
  for (const [n, sort] of SORTS.entries()) {
    const isOld = sort === 'old'
    const name = NAMES[n] ?? ''
    const host = await startSshHost({
      name,
      port: await freePort(),
      client,
      isRootOff: sort === 'sudo' || sort === 'no-sudo',
      maySudo: sort !== 'no-sudo',
      keyType: isOld ? 'rsa' : 'ed25519',
      settings: isOld ? OLD : NEW,
    })
    if (host === undefined) {
      why = 'Debian’s packages cannot be fetched'
      return
    }
    hosts.set(name, host)
  }
  await world.admin.create(coreKind('Secret'), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM_NAMESPACE, name: 'hosts', labels: { 'kubenode.io/for-ssh': 'true' } },
    data: { 'ssh-privatekey': readFileSync(keyFile).toString('base64') },
  })
}, PATIENCE_MS)

afterAll(async () => {
  for (const { machine } of hosts.values()) await machine.remove()
  await (world as JoinWorld | undefined)?.stop()
  lowerInotify()
  rmSync(folder, { recursive: true, force: true })
}, PATIENCE_MS)

beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})

const named = (sort: Sort): string => NAMES.find((name) => name.startsWith(sort)) ?? ''
const hostOf = (name: string): SshHost => {
  const host = hosts.get(name)
  if (host === undefined) throw new Error(`there is no host ${name}`)
  return host
}

async function declareAll(): Promise<void> {
  for (const [n, name] of NAMES.entries()) {
    const { port, hostKey } = hostOf(name)
    const sort = SORTS[n]
    const user = sort === 'sudo' || sort === 'no-sudo' ? ADMIN : 'root'
    const key = sort === 'wrong-key' ? hostOf(named('root')).hostKey : hostKey
    const ssh = { host: '127.0.0.1', port, user, hostKey: key, secretRef: { name: 'hosts' } }
    const spec = { channel: 'Agent', provider: { name: 'static' }, ssh } as unknown as Machine['spec']
    const metadata = { name }
    await world.admin.create(machineType, { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata, spec })
  }
}

const joins = async (): Promise<ReadonlyMap<string, SshJoin>> => {
  const { items } = await world.admin.list(machineType)
  return new Map(items.flatMap((m) => (m.status?.join === undefined ? [] : [[m.metadata.name ?? '', m.status.join]])))
}

async function joined(names: readonly string[]): Promise<void> {
  let last: ReadonlyMap<string, SshJoin> = new Map()
  const open = () => names.filter((name) => last.get(name)?.finished === undefined)
  await world.until(
    () => `all have joined: ${JSON.stringify(open().map((name) => [name, last.get(name)]))}`,
    async () => {
      last = await joins()
      return open().length === 0
    },
    PATIENCE_MS,
  )
}

test(
  'those that can join do so in one run, the others say why, and nobody waits for them',
  async () => {
    const full = hostOf(named('full')).machine
    expect(full.run('mount', '-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', '/opt').code).toBe(0)
    // Its download waits, so that it can die in it.
    const dying = hostOf(named('dies')).machine
    const [curl, hold] = [join(dying.root, 'usr/bin/curl'), join(dying.root, 'hold')]
    renameSync(curl, `${curl}.real`)
    writeFileSync(curl, '#!/bin/sh\nwhile [ -e /hold ]; do sleep 0.1; done\nexec /usr/bin/curl.real "$@"\n')
    chmodSync(curl, 0o755)
    writeFileSync(hold, '')
    await declareAll()
    await world.until('it downloads', async () => dying.run('pgrep', '-f', '/usr/bin/curl').code === 0, PATIENCE_MS)
    await dying.cutPower()
    await joined(NAMES.filter((name) => /^(?:root|sudo|old)-/.test(name)))
    const now = await joins()
    expect(now.get(named('full'))).toMatchObject({ step: 'Preflight', reason: 'Full' })
    expect(now.get(named('wrong-key'))).toMatchObject({ step: 'Reach', reason: 'HostKeyChanged' })
    expect(now.get(named('wrong-key'))?.retryAt).toBeUndefined()
    expect(now.get(named('no-sudo'))).toMatchObject({
      reason: 'PreflightFailed',
      message: expect.stringContaining('sudo'),
    })
    expect(now.get(named('dies'))?.finished).toBeUndefined()
    expect(hostOf(named('wrong-key')).machine.run('ls', '-d', '/opt/kubenode').code).not.toBe(0)
    rmSync(hold)
  },
  PATIENCE_MS,
)

test(
  'the host that died and the one that was full join once they can, and all of them are nodes with an agent',
  async () => {
    const dying = hostOf(named('dies')).machine
    await dying.boot()
    hostOf(named('full')).machine.run('umount', '/opt')
    const value = { metadata: { annotations: { [ANNOTATIONS.joinAgain]: '1' } } }
    await world.admin.patch(machineType, { name: named('full') }, { type: 'merge', value })
    const able = NAMES.filter((name) => !/^(?:wrong-key|no-sudo)-/.test(name))
    await joined(able)
    await world.until(
      'all have an agent',
      async () => {
        const { items } = await world.admin.list(machineType)
        return items.filter((m) => m.status?.agent !== undefined).length === able.length
      },
      PATIENCE_MS,
    )
    for (const name of able)
      expect(hostOf(name).machine.run('systemctl', 'is-active', 'kubenode-agent').out, name).toBe('active\n')
  },
  PATIENCE_MS,
)
